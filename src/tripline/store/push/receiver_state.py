"""The state of customers' servers: unresponsive receivers, and the ends of pauses (spec/push 3).

Callers check the scope.
"""

from collections.abc import Iterable
from typing import Any, Final

import msgspec
from sqlalchemy import ColumnElement, func, select, text, true, update

from tripline.domain.ids import CompanyId
from tripline.domain.pushes import Channel, Mute
from tripline.store.push.queue import Content, Key, Row
from tripline.store.tables import company, push_outbox, push_receiver
from tripline.store.transactions import ReadTx, WriteTx

_ROW: Final = push_receiver.c
_MESSAGE: Final = push_outbox.c
_UNCONFIRMED: Final = _MESSAGE.unconfirmed_ms.is_not(None)


class Facts(msgspec.Struct, frozen=True):
    """Facts about a receiver; 0: it never happened."""

    mute_ms: int = 0
    """Since when it takes messages and never answers."""
    readdressed_ms: int = 0
    asked_ms: int = 0
    """When sending to it at once was requested."""
    owed: bool = False
    """The receiver has unconfirmed messages."""
    held_ms: int = 0
    """Until when it asked for no request (`Retry-After`)."""


def facts(tx: ReadTx, key: Key) -> Facts:
    """Facts about a receiver."""
    owed = bool(tx.all(select(_MESSAGE.no).where(*_of(key), _UNCONFIRMED).limit(1)))
    row = _receiver(tx, key)
    if row is None:
        return Facts(owed=owed)
    return Facts(row.mute_ms or 0, row.readdressed_ms or 0, row.asked_ms or 0, owed, row.held_ms or 0)


def mute(tx: ReadTx, company_id: CompanyId | None = None) -> list[Mute]:
    """Receivers that take messages and never answer, of one company or of all, the longest mute ones first."""
    of_company = true() if company_id is None else _ROW.company_id == company_id
    kept = (
        select(func.count())
        .where(_UNCONFIRMED, _MESSAGE.company_id == _ROW.company_id, _MESSAGE.channel == _ROW.channel)
        .scalar_subquery()
    )
    found = tx.all(
        select(_ROW.company_id, company.c.name, _ROW.channel, _ROW.mute_ms, kept.label("kept"))
        .select_from(push_receiver.outerjoin(company, company.c.id == _ROW.company_id))
        .where(_ROW.mute_ms.is_not(None), of_company)
    )
    receivers = [Mute(row.company_id, row.name, Channel(row.channel), row.mute_ms, row.kept) for row in found]
    return sorted(receivers, key=lambda each: (each.since_ms, each.company_id, each.channel))


def mute_count(tx: ReadTx) -> int:
    """How many receivers take messages and never answer."""
    return tx.count(_ROW.mute_ms.is_not(None))


def silent(tx: WriteTx, key: Key, *, since_ms: int, readdressed_ms: int) -> None:
    """Write down that a receiver never answers, unless its address changed after this instant."""
    known = facts(tx, key)
    if known.readdressed_ms <= readdressed_ms:
        _set(tx, key, mute_ms=since_ms)


def hold(tx: WriteTx, key: Key, *, held_ms: int, seen: Facts) -> None:
    """Write down that a receiver asked for a pause, unless its pauses were ended since its facts were read."""
    known = facts(tx, key)
    if known.readdressed_ms <= seen.readdressed_ms and known.asked_ms <= seen.asked_ms:
        _set(tx, key, held_ms=held_ms)


def readdressed(tx: WriteTx, company_id: CompanyId, channels: Iterable[Channel], *, now_ms: int) -> None:
    """Record that addresses of a company changed, so that a new server does not count as mute."""
    for channel in channels:
        key = (company_id, channel)
        _set(tx, key, mute_ms=None, held_ms=None, readdressed_ms=max(now_ms, facts(tx, key).readdressed_ms + 1))


def asked(tx: WriteTx, keys: Iterable[Key], *, now_ms: int) -> None:
    """Store a request to send to these receivers at once."""
    for key in keys:
        _set(tx, key, held_ms=None, asked_ms=max(now_ms, facts(tx, key).asked_ms + 1))


def release(tx: WriteTx, key: Key, *, now_ms: int, limit: int) -> int:
    """Mark the receiver responsive and requeue some unconfirmed messages at their former places; return how many."""
    if _receiver(tx, key) is not None:
        _set(tx, key, mute_ms=None)
    first = select(_MESSAGE.no).where(*_of(key), _UNCONFIRMED).order_by(_MESSAGE.no).limit(limit)
    return tx.run(
        update(push_outbox)
        .where(_MESSAGE.no.in_(first))
        .values(parked_ms=None, unconfirmed_ms=None, due_ms=now_ms, since_ms=func.coalesce(_MESSAGE.since_ms, now_ms))
    )


def oldest_unconfirmed(tx: ReadTx, key: Key) -> tuple[Row, Content] | None:
    """The oldest message that the receiver did not confirm."""
    row = tx.one(select(push_outbox).where(*_of(key), _UNCONFIRMED).order_by(_MESSAGE.no).limit(1))
    if row is None:
        return None
    waiting, content = ([getattr(row, name) for name in kind.__struct_fields__] for kind in (Row, Content))
    return Row(*waiting), Content(*content)


def _receiver(tx: ReadTx, key: Key) -> Any:
    return tx.one(select(push_receiver).where(_ROW.company_id == key[0], _ROW.channel == key[1].value))


def _of(key: Key) -> tuple[ColumnElement[bool], ...]:
    return _MESSAGE.company_id == key[0], _MESSAGE.channel == key[1].value


def _set(tx: WriteTx, key: Key, **values: int | None) -> None:
    """Change a receiver's row, made when there is none."""
    names = ", ".join(values)
    marks = ", ".join(f":{name}" for name in values)
    changes = ", ".join(f"{name} = excluded.{name}" for name in values)
    statement = text(
        f"INSERT INTO push_receiver (company_id, channel, {names}) VALUES (:company_id, :channel, {marks})"
        f" ON CONFLICT (company_id, channel) DO UPDATE SET {changes}"
    )
    tx.run(statement, {"company_id": key[0], "channel": key[1].value, **values})
