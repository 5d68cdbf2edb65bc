"""Share links: rows by company, and by themselves for the page behind them.

The secret of a link grants what its page shows, so the read for a page takes no scope; the caller checks the access of
the link's maker.
"""

from functools import cache
from typing import Any, Final, NamedTuple

import msgspec
from sqlalchemy import Select, and_, bindparam, delete, func, insert, or_, select, update

from tripline.domain.access import Scope
from tripline.domain.ids import CompanyId, RecordId, UserId, VehicleId
from tripline.domain.share_links import ShareLink, Shows
from tripline.store import records, scopes
from tripline.store.tables import account, share_link, trip, vehicle
from tripline.store.transactions import Hot, ReadTx, WriteTx

_LINK: Final = share_link.c


class Opened(NamedTuple):
    """A link that works, as the page behind it needs it."""

    maker_id: UserId
    vehicle_id: VehicleId
    vehicle_no: str
    trip_no: int | None
    """None: it shows the vehicle."""
    created_ms: int
    shows: Shows


def _linked(*columns: Any) -> Select[Any]:
    """Links with their vehicle and trip; without those whose trip was erased."""
    return (
        select(*columns)
        .select_from(share_link)
        .join(vehicle, vehicle.c.id == _LINK.vehicle_id)
        .outerjoin(trip, and_(trip.c.id == _LINK.trip_id, trip.c.vehicle_id == _LINK.vehicle_id))
        .where(or_(_LINK.trip_id.is_(None), trip.c.no.is_not(None)))
    )


def _links() -> Select[Any]:
    named = (account.c.name.label("maker_name"), vehicle.c.vehicle_no, trip.c.start_ms.label("trip_start_ms"))
    return _linked(share_link, *named).join(account, account.c.id == _LINK.maker_id)


def insert_new(tx: WriteTx, link: ShareLink, *, secret_hash: str) -> None:
    """Store a new link."""
    row = {name: getattr(link, name) for name in ShareLink.__struct_fields__ if name in _LINK}
    tx.run(insert(share_link), {**row, **msgspec.structs.asdict(link.shows), "secret_hash": secret_hash})


def opened(tx: ReadTx, link_id: RecordId, secret_hash: str, *, now_ms: int) -> Opened | None:
    """Return the link with this secret; None: no such link works."""
    rows = tx.hot(_OPENED, link_id, secret_hash, now_ms)
    return Opened._make((*rows[0][: len(_COLUMNS)], _shows(rows[0][len(_COLUMNS) :]))) if rows else None


def count_opening(tx: WriteTx, link_id: RecordId, *, now_ms: int) -> None:
    """Count an opening of the link."""
    tx.run(update(share_link).where(_LINK.id == link_id).values(openings=_LINK.openings + 1, opened_ms=now_ms))


def of_company(tx: ReadTx, scope: Scope, company_id: CompanyId, *, now_ms: int) -> list[ShareLink]:
    """The company's links on vehicles inside the scope, the newest first."""
    inside = scopes.vehicles(scope.reaches)
    found = _links().where(_LINK.company_id == company_id, _LINK.expires_ms > now_ms, inside)
    return [_link(row) for row in tx.all(found.order_by(_LINK.created_ms.desc(), _LINK.id), scopes.values(scope))]


def find(tx: ReadTx, scope: Scope, company_id: CompanyId, link_id: RecordId) -> tuple[ShareLink, bool] | None:
    """The link, and whether it is the company's, on a vehicle inside the scope; None: it does not exist."""
    values = {"of_id": link_id, "of_company": company_id, **scopes.values(scope)}
    return scopes.found(tx.all(_find(scope.reaches), values), _link)


def count(tx: ReadTx, company_id: CompanyId, *, now_ms: int, maker_id: UserId | None = None) -> int:
    """How many links of the company, or of one maker, work."""
    if maker_id is None:
        return tx.number(_COUNT, company_id, now_ms)
    return tx.number(_COUNT_OF_MAKER, company_id, now_ms, maker_id)


def end(tx: WriteTx, link_id: RecordId) -> None:
    """Delete the link."""
    tx.run(delete(share_link).where(_LINK.id == link_id))


def forget_vehicle(tx: WriteTx, vehicle_id: VehicleId, *, company_id: CompanyId | None = None) -> int:
    """Delete the links to the vehicle, or those that a company made; how many."""
    rows = delete(share_link).where(_LINK.vehicle_id == vehicle_id)
    return tx.run(rows if company_id is None else rows.where(_LINK.company_id == company_id))


def forget_user(tx: WriteTx, user_id: UserId) -> int:
    """Delete the links that an account made; how many."""
    return tx.run(delete(share_link).where(_LINK.maker_id == user_id))


def purge(tx: WriteTx, *, now_ms: int, limit: int) -> int:
    """Delete expired links, the oldest first; how many."""
    expired = select(_LINK.id).where(_LINK.expires_ms <= now_ms).order_by(_LINK.expires_ms).limit(limit)
    return tx.run(delete(share_link).where(_LINK.id.in_(expired.with_for_update(skip_locked=True))))


def _link(row: Any) -> ShareLink:
    return ShareLink(**records.given(ShareLink, row), shows=Shows(**records.given(Shows, row)))


@cache
def _find(reaches: scopes.Reaches) -> Select[Any]:
    inside = scopes.vehicles(reaches) & (_LINK.company_id == bindparam("of_company"))
    return _links().add_columns(inside.label("inside")).where(_LINK.id == bindparam("of_id"))


_shows: Final = records.maker(Shows)
_COLUMNS: Final = (_LINK.maker_id, _LINK.vehicle_id, vehicle.c.vehicle_no, trip.c.no, _LINK.created_ms)
_OPENED: Final = Hot(
    _linked(*_COLUMNS, *(_LINK[name] for name in Shows.__struct_fields__)).where(
        _LINK.id == bindparam("link"), _LINK.secret_hash == bindparam("secret"), _LINK.expires_ms > bindparam("now")
    ),
    "link",
    "secret",
    "now",
)
_WORKING: Final = select(func.count()).where(_LINK.company_id == bindparam("of"), _LINK.expires_ms > bindparam("now"))
_COUNT: Final = Hot(_WORKING, "of", "now")
_COUNT_OF_MAKER: Final = Hot(_WORKING.where(_LINK.maker_id == bindparam("maker")), "of", "now", "maker")
