"""The list of a company's messages: waiting, dead-lettered, or delivered without confirmation.

Not here: sending them again (`pushes/pushes.py`).
"""

from collections.abc import Sequence
from typing import Any, Final

from litestar.response import Response

from tripline.domain import access
from tripline.domain.access import Action, Actor
from tripline.domain.ids import RowNo
from tripline.domain.pushes import Channel, Message, Name, State
from tripline.http.context.base import Call, context_of
from tripline.language import kept, phrases
from tripline.portal.frame import views
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import Visitor
from tripline.portal.lists import table_pages
from tripline.portal.lists.tables import Bulk, Column, Filter, ListRequest, Table, Words
from tripline.services.push import service
from tripline.store.browsing.pages import Page
from tripline.store.browsing.pushes import Filters
from tripline.store.transactions import ReadTx

LIST: Final = "/pushes/messages"
COUNTED: Final = 1_000
"""Maximum count shown per state: counting 1,000 takes 0.1 ms, counting 100,000 takes 20 ms."""
_SOON_MS: Final = 60_000
"""Messages due within this span show no time."""


@page("GET", LIST, access=Action.PUSH_MANAGE)
async def messages(request: Call) -> Response[bytes]:
    """Messages of a state, waiting ones first."""
    now_ms = context_of(request).clock()

    def more(tx: ReadTx, visitor: Visitor, wanted: ListRequest, found: Page[Any]) -> dict[str, Any]:
        state = State(wanted.chosen["state"])
        own = access.company_of(visitor.actor)
        # One more than the maximum shows that there are more.
        counts = service.counts_up_to(tx, actor=visitor.actor, company_id=own, most=COUNTED + 1)
        turns = _turns(found.rows, now_ms=now_ms)
        rows = [(each.no, each.attempts, each.due_ms, turns.get(each.no)) for each in found.rows]
        return {
            "seen": views.state_of(state, counts, rows),
            "renews": state is State.WAITING and counts[State.WAITING] > 0,
            "counts": counts,
            "most": COUNTED,
            "turns": turns,
            "trouble": lambda text: _trouble(text, visitor.language),
            "nothing": f"portal.lists.messages.none.{state}",
        }

    return await table_pages.listed(request, MESSAGES, more=more, parts=("kept-messages",))


@page("GET", f"{LIST}/count", access=Action.PUSH_MANAGE)
async def count(request: Call) -> Response[bytes]:
    """Number of messages."""
    return await table_pages.counted(request, MESSAGES)


def _turns(found: Sequence[Message], *, now_ms: int) -> dict[RowNo, str]:
    """Text about the next attempt of each due message: after another message of the sensor, or soon."""
    before, told = set(), {}
    for each in found:
        lane = (each.channel, each.sensor_id)
        if each.due_ms < now_ms + _SOON_MS:
            told[each.no] = "portal.pushes.next.behind" if lane in before else "portal.pushes.next.turn"
        before.add(lane)
    return told


def _trouble(text: str | None, language: Any) -> str:
    """The delivery error in words."""
    return "" if text is None else phrases.said((kept.phrase_of(text),), language)


def _kind(row: Message, words: Words) -> str:
    name = "result" if row.channel is Channel.RPC_NOTIFY else f"type.{row.selector}"
    return words.say(f"portal.pushes.{name}")


def _of(actor: Actor, wanted: ListRequest) -> dict[str, Any]:
    chosen = wanted.chosen
    filters = Filters(
        state=State(chosen["state"]),
        search=wanted.search,
        channel=Channel(chosen["to"]) if "to" in chosen else None,
        name=Name(chosen["kind"]) if "kind" in chosen else None,
    )
    return {"actor": actor, "company_id": access.company_of(actor), "filters": filters}


_ENDED: Final = (State.UNCONFIRMED.value, State.PARKED.value)
MESSAGES: Final = Table(
    noun="messages",
    path=LIST,
    page=lambda tx, actor, wanted, page_request: service.listed(tx, **_of(actor, wanted), page_request=page_request),
    count=lambda tx, actor, wanted: service.count(tx, **_of(actor, wanted)),
    columns=(
        Column(key="message", value=_kind),
        Column(key="sensor", value=lambda row, _: row.serial_no),
        Column(key="to", value=lambda row, words: words.option("to", row.channel.value), look="wide"),
        Column(key="made", value=lambda row, words: words.time(row.created_ms), order="made", look="middle"),
        Column(key="attempts", value=lambda row, _: row.attempts, look="number middle"),
        Column(key="when", value=lambda row, words: words.time(row.parked_ms or row.due_ms)),
        Column(key="error", value=lambda row, words: _trouble(row.last_error, words.language) or None, look="middle"),
    ),
    filters=(
        Filter(key="state", values=tuple(State), usual=State.WAITING.value),
        Filter(key="to", values=tuple(Channel)),
        Filter(key="kind", values=tuple(Name)),
    ),
    # Waiting messages are sorted by age, the others newest first.
    usual_sort=lambda chosen: "made" if chosen["state"] == State.WAITING else "-made",
    bulk=(
        Bulk(
            text="portal.pushes.send_chosen",
            address="/pushes/send",
            icon="send",
            action=Action.PUSH_MANAGE,
            tabs=_ENDED,
        ),
    ),
    icon="send",
)
handlers: Final[list[Any]] = [messages, count]
