"""Rows of parked messages, and the sizes of the backlogs: people inspect and resend them; unfinished resend
requests.

Works beside a running server and without one.
"""

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from sqlalchemy import ColumnElement, Select, bindparam, delete, func, insert, null, select, true, update

from tripline.domain import ids
from tripline.domain.ids import CompanyId, RowNo, SensorId, TimeIds
from tripline.domain.pushes import Channel, Parked
from tripline.store import lists, records
from tripline.store.lists import Span, UnknownOffset
from tripline.store.push import outbox
from tripline.store.tables import company, push_outbox, push_resend
from tripline.store.transactions import ReadTx, WriteTx

_ROW: Final = push_outbox.c
_PARKED: Final = _ROW.parked_ms.is_not(None) & _ROW.unconfirmed_ms.is_(None)
_UNCONFIRMED: Final = _ROW.unconfirmed_ms.is_not(None)
_WAITING: Final = _ROW.parked_ms.is_(None)
_AGAIN: Final = (
    update(push_outbox)
    .where(_ROW.no == bindparam("place"))
    .values(
        no=bindparam("behind"),
        due_ms=bindparam("now"),
        attempts=0,
        last_error=None,
        parked_ms=None,
        unconfirmed_ms=None,
        since_ms=None,
    )
)
_parked: Final = records.maker(Parked)
_TRIED_AMONG: Final = 100
"""Number of oldest messages searched for an error, since errors are not in the index."""


class Which(msgspec.Struct, frozen=True, kw_only=True):
    """Which of the parked messages; None: any."""

    company_id: CompanyId | None = None
    channel: Channel | None = None
    sensor_id: SensorId | None = None
    message_ids: Sequence[str] | None = None
    since_ms: int | None = None
    """Given up at this instant or later."""
    until_ms: int | None = None
    """Given up at this instant or earlier."""
    unconfirmed: bool = False
    """Select unconfirmed messages, which counted as delivered without an answer, instead of parked ones."""


class Counts(msgspec.Struct, frozen=True):
    """How many messages wait, were given up, or count as delivered unconfirmed; since when the longest one waits."""

    waiting: int
    parked: int
    unconfirmed: int
    oldest_no: RowNo | None
    last_error: str | None

    @property
    def oldest_ms(self) -> int | None:
        """When the longest waiting message began to wait."""
        return None if self.oldest_no is None else ids.ms_of_no(self.oldest_no)


class Backlog(msgspec.Struct, frozen=True):
    """The backlog of one receiver."""

    company_id: CompanyId
    company_name: str | None
    """None: the company is gone."""
    channel: Channel
    waiting: int
    oldest_no: RowNo
    last_error: str | None
    """Error of the oldest attempted message; None if no attempt failed, or it is far behind."""

    @property
    def oldest_ms(self) -> int:
        """When the longest waiting message began to wait."""
        return ids.ms_of_no(self.oldest_no)


def listed(tx: ReadTx, which: Which, *, limit: int, after: RowNo | None = None, bodies: bool = False) -> list[Parked]:
    """Parked messages in the order in which they were put into the outbox, behind this number."""
    behind = true() if after is None else _ROW.no > after
    return [_parked(row) for row in tx.all(_select(which, bodies).where(behind).order_by(_ROW.no).limit(limit))]


def page(tx: ReadTx, company_id: CompanyId, span: Span) -> list[Parked]:
    """A page of a company's parked messages by the time they were put into the outbox. Raises `UnknownOffset`."""
    place = None if span.after is None else _number_of(tx, company_id, span.after)
    return [_parked(row) for row in _OF_COMPANY.page(tx, span, place, company_id)]


def _number_of(tx: ReadTx, company_id: CompanyId, message_id: str) -> RowNo:
    """The number of a company's parked message. Raises `UnknownOffset` when it has none with this id.

    Numbers are never below the one within the id, and equal to it for messages that were not sent again.
    """
    statement = select(_ROW.no).where(
        _PARKED, _ROW.company_id == company_id, _ROW.no >= ids.no_of(message_id), _ROW.id == message_id
    )
    found = tx.all(statement.order_by(_ROW.no).limit(1))
    if not found:
        raise UnknownOffset.of_list()
    return RowNo(found[0].no)


def chosen(tx: ReadTx, which: Which, *, limit: int) -> list[RowNo]:
    """Numbers of parked messages in the order in which they were put into the outbox, the first `limit` of them."""
    return [RowNo(row.no) for row in tx.all(select(_ROW.no).where(*_chosen(which)).order_by(_ROW.no).limit(limit))]


def count(tx: ReadTx, which: Which) -> int:
    """How many parked messages these are."""
    return tx.count(*_chosen(which))


def waiting(tx: ReadTx, company_id: CompanyId | None, channel: Channel | None) -> int:
    """Number of messages that wait for the receivers of a company, or of all; for one channel, or both."""
    of_company = true() if company_id is None else _ROW.company_id == company_id
    return tx.count(_WAITING, of_company, true() if channel is None else _ROW.channel == channel.value)


def resend(tx: WriteTx, numbers: Sequence[RowNo], *, ids: TimeIds, now_ms: int) -> int:
    """Put the still parked ones of these messages at the end of the queue, as if never tried; return how many.

    They keep their ids, so a receiver that already has one drops it.
    """
    # Another request may have sent some of them again meanwhile.
    still = select(_ROW.no).where(_ROW.no.in_(numbers), _ROW.parked_ms.is_not(None)).order_by(_ROW.no)
    parked = [row.no for row in tx.all(still)]
    if parked:
        behind = outbox.behind_all(tx, ids, ids.numbers(len(parked), now_ms=now_ms))
        places = [{"place": no, "behind": new_no} for no, new_no in zip(parked, behind, strict=True)]
        tx.run(_AGAIN, [{**each, "now": now_ms} for each in places])
    return len(parked)


def old(tx: ReadTx, *, before_ms: int, limit: int) -> list[RowNo]:
    """Numbers of messages that were given up, or counted as delivered, before this instant: some of them."""
    return [
        row.no
        for state in (_PARKED, _UNCONFIRMED)
        for row in tx.all(select(_ROW.no).where(state, _ROW.parked_ms < before_ms).limit(limit))
    ]


def surplus(tx: ReadTx, *, kept: int, limit: int) -> list[RowNo]:
    """Numbers of unconfirmed messages beyond the newest `kept` of their receiver, some of them."""
    found = tx.all(
        select(_ROW.company_id, _ROW.channel, func.count().label("all"))
        .where(_UNCONFIRMED)
        .group_by(_ROW.company_id, _ROW.channel)
        .having(func.count() > kept)
    )
    return [
        row.no
        for each in found
        for row in tx.all(
            select(_ROW.no)
            .where(_UNCONFIRMED, _ROW.company_id == each.company_id, _ROW.channel == each.channel)
            .order_by(_ROW.no)
            .limit(min(each.all - kept, limit))
        )
    ]


def forget(tx: WriteTx, numbers: Sequence[RowNo]) -> None:
    """Forget messages that were given up, or counted as delivered."""
    tx.run(delete(push_outbox).where(_ROW.parked_ms.is_not(None), _ROW.no.in_(numbers)))


def counts(tx: ReadTx, company_id: CompanyId | None = None) -> Counts:
    """How the sending keeps up, for one company or for all."""
    of_company = true() if company_id is None else _ROW.company_id == company_id
    oldest = func.min(_ROW.no).label("oldest")
    waiting = tx.all(select(func.count().label("all"), oldest).where(_WAITING, of_company))[0]
    # Counted together with the greatest, so that SQLite looks at parked rows alone and not back from the newest one.
    newest = func.max(_ROW.no).label("newest")
    parked = tx.all(select(func.count().label("all"), newest).where(_PARKED, of_company))[0]
    errors = tx.all(select(_ROW.last_error).where(_ROW.no == parked.newest)) if parked.all else []
    last_error = errors[0].last_error if errors else None
    return Counts(waiting.all, parked.all, tx.count(_UNCONFIRMED, of_company), waiting.oldest, last_error)


def waiting_error(tx: ReadTx, company_id: CompanyId, channels: Sequence[Channel] = tuple(Channel)) -> str | None:
    """The last error among the longest waiting messages; None if none failed."""
    for channel in channels:
        longest = (
            select(_ROW.no, _ROW.last_error)
            .where(_WAITING, _ROW.company_id == company_id, _ROW.channel == channel.value)
            .order_by(_ROW.no)
            .limit(_TRIED_AMONG)
            .subquery()
        )
        failed = select(longest.c.last_error).where(longest.c.last_error.is_not(None))
        found = tx.all(failed.order_by(longest.c.no).limit(1))
        if found:
            return str(found[0].last_error)
    return None


def backlogs(tx: ReadTx) -> list[Backlog]:
    """Backlogs by receiver, the longest waiting first."""
    oldest = func.min(_ROW.no).label("oldest")
    waits = (
        select(_ROW.company_id, _ROW.channel, func.count().label("waiting"), oldest)
        .where(_WAITING)
        .group_by(_ROW.company_id, _ROW.channel)
        .subquery()
    )
    named = select(waits, company.c.name).select_from(waits.outerjoin(company, company.c.id == waits.c.company_id))
    return [
        Backlog(
            row.company_id,
            row.name,
            Channel(row.channel),
            row.waiting,
            RowNo(row.oldest),
            waiting_error(tx, row.company_id, [Channel(row.channel)]),
        )
        for row in tx.all(named.order_by(waits.c.oldest))
    ]


def _select(which: Which, bodies: bool) -> Select[Any]:
    return _columns(bodies).where(*_chosen(which))


def _columns(bodies: bool) -> Select[Any]:
    return select(*(_ROW[name] if bodies or name != "body" else null() for name in Parked.__struct_fields__))


_OF_COMPANY: Final = lists.ByNumber(
    _columns(bodies=False).where(_PARKED, _ROW.company_id == bindparam("company_id")), _ROW.no, "company_id"
)


def _chosen(which: Which) -> list[ColumnElement[bool]]:
    found: list[ColumnElement[bool]] = [_UNCONFIRMED if which.unconfirmed else _PARKED]
    for column, value in (
        (_ROW.company_id, which.company_id),
        (_ROW.channel, which.channel),
        (_ROW.sensor_id, which.sensor_id),
    ):
        if value is not None:
            found.append(column == str(value))
    if which.message_ids is not None:
        found.append(_ROW.id.in_(list(which.message_ids)))
    if which.since_ms is not None:
        found.append(_ROW.parked_ms >= which.since_ms)
    if which.until_ms is not None:
        found.append(_ROW.parked_ms <= which.until_ms)
    return found


_RESEND = push_resend.c


class Left(msgspec.Struct, frozen=True):
    """Messages of one company that are still to be sent again."""

    no: RowNo
    which: Which
    """A company's, perhaps about one sensor, up to an instant; neither named one by one nor of one channel."""


def add_rest(tx: WriteTx, left: Left) -> None:
    """Store the rest of a request, replacing the rest of an earlier one for the same messages."""
    which = left.which
    assert which.company_id is not None
    assert which.until_ms is not None
    assert (which.message_ids, which.channel, which.since_ms) == (None, None, None)
    same = (
        _RESEND.company_id == which.company_id,
        _RESEND.sensor_id.is_not_distinct_from(which.sensor_id),
        _RESEND.unconfirmed == which.unconfirmed,
    )
    tx.run(delete(push_resend).where(*same))
    tx.run(
        insert(push_resend).values(
            no=left.no,
            company_id=which.company_id,
            sensor_id=which.sensor_id,
            unconfirmed=which.unconfirmed,
            until_ms=which.until_ms,
        )
    )


def oldest_rest(tx: ReadTx) -> Left | None:
    """The earliest unfinished request."""
    row = tx.one(select(push_resend).order_by(_RESEND.no).limit(1))
    if row is None:
        return None
    which = Which(
        company_id=CompanyId(row.company_id),
        sensor_id=None if row.sensor_id is None else SensorId(row.sensor_id),
        until_ms=row.until_ms,
        unconfirmed=row.unconfirmed,
    )
    return Left(RowNo(row.no), which)


def end_rest(tx: WriteTx, no: RowNo) -> None:
    """Nothing of it is left."""
    tx.run(delete(push_resend).where(_RESEND.no == no))
