"""The list of a company's messages: waiting, dead-lettered, or delivered without confirmation."""

from collections.abc import Sequence
from typing import Any, Final

from tripline.domain import access
from tripline.domain.access import Action
from tripline.domain.ids import RowNo
from tripline.domain.pushes import Channel, Message, Name, State
from tripline.http.context import Call, context_of
from tripline.language import kept
from tripline.portal.frame import views
from tripline.portal.frame.visitors import Visitor
from tripline.portal.lists.columns import Column, Filter, Kind, Words, each_of
from tripline.portal.lists.tables import Bulk, ListRequest, Table
from tripline.services.push import service
from tripline.store.listing.messages import Filters
from tripline.store.listing.pages import Page
from tripline.store.transactions import ReadTx

COUNTED: Final = 1_000
"""Maximum count shown per state: counting 1,000 takes 0.1 ms, counting 100,000 takes 20 ms."""
_SOON_MS: Final = 60_000
"""Messages due within this span show no time."""


def _more(request: Call, tx: ReadTx, visitor: Visitor, wanted: ListRequest, found: Page[Any]) -> dict[str, Any]:
    state = State(wanted.chosen["state"])
    own = access.company_of(visitor.actor)
    # One more than the maximum shows that there are more.
    counts = service.counts_up_to(tx, actor=visitor.actor, company_id=own, most=COUNTED + 1)
    turns = _turns(found.rows, now_ms=context_of(request).clock())
    rows = [(each.no, each.attempts, each.due_ms, turns.get(each.no)) for each in found.rows]
    return {
        "seen": views.state_of(state, counts, rows),
        "renews": state is State.WAITING and counts[State.WAITING] > 0,
        "counts": counts,
        "most": COUNTED,
        "turns": turns,
        "nothing": f"portal.lists.messages.none.{state}",
    }


def _turns(found: Sequence[Message], *, now_ms: int) -> dict[RowNo, str]:
    """Text about the next attempt of each due message: after another message of the sensor, or soon."""
    before, told = set(), {}
    for each in found:
        lane = (each.channel, each.sensor_id)
        if each.due_ms < now_ms + _SOON_MS:
            told[each.no] = "portal.pushes.next.behind" if lane in before else "portal.pushes.next.turn"
        before.add(lane)
    return told


def _kind(row: Message, words: Words) -> str:
    name = "result" if row.channel is Channel.RPC_NOTIFY else f"type.{row.selector}"
    return words.say(f"portal.pushes.{name}")


def _trouble(row: Message, words: Words) -> str | None:
    return None if row.last_error is None else kept.said(row.last_error, words.language) or None


_TO: Final = Filter(key="to", field="channel", values=each_of(Channel))
MESSAGES: Final = Table(
    noun="messages",
    path="/pushes/messages",
    access=Action.PUSH_MANAGE,
    listing=service.MESSAGES,
    which=Filters,
    columns=(
        Column("message", Kind.TEXT, _kind),
        Column(
            "sensor",
            Kind.TEXT,
            "serial_no",
            dash=True,
            to=lambda row, around: (
                f"/fleet/sensors/{row.sensor_id}" if around.is_open("/fleet/sensors/{sensorId}") else None
            ),
        ),
        Column("to", Kind.CHOICE, "channel", choice=_TO, look="wide"),
        Column("made", Kind.AGO, "created_ms", order="made", look="middle"),
        Column("attempts", Kind.NUMBER, look="middle"),
        Column("when", Kind.OWN, lambda row, words: words.time(row.parked_ms or row.due_ms), macro="attempt"),
        Column("error", Kind.TEXT, _trouble, look="middle", dash=True),
    ),
    filters=(
        Filter(key="state", values=each_of(State), usual=State.WAITING.value),
        _TO,
        Filter(key="kind", field="name", values=each_of(Name)),
    ),
    # Waiting messages are sorted by age, the others newest first.
    usual_sort=lambda chosen: "made" if chosen["state"] == State.WAITING else "-made",
    bulk=(
        Bulk(
            text="portal.pushes.send_chosen",
            address="/pushes/send",
            icon="send",
            action=Action.PUSH_MANAGE,
            tabs=(State.UNCONFIRMED.value, State.PARKED.value),
        ),
    ),
    select="messageId",
    icon="send",
    template="lists/messages.html",
    more=_more,
    parts=("kept-messages",),
)
