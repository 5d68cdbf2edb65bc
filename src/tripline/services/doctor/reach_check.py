"""The check of `reach` by `tripline doctor`: a row too many gives access unseen, a missing row hides a vehicle."""

from functools import partial

from tripline.language.phrases import phrase
from tripline.services.doctor.doctor import Finding
from tripline.store import reach
from tripline.store.reach import Kind
from tripline.store.transactions import ReadTx, Store, WriteTx


async def checked(store: Store, *, repair: bool) -> Finding:
    """Compare every row with the fleet, some vehicles and sensors a transaction; `repair` writes rows that differ.

    Raises `Outage`.
    """
    found = 0
    for kind in Kind:
        after: str | None = ""
        while after is not None:
            ids, wrong = await store.read(partial(_behind, kind=kind, after=after))
            found += wrong
            if wrong and repair:
                await store.write(partial(_refresh, kind=kind, ids=ids))
            after = ids[-1] if ids else None
    while ids := await store.read(reach.orphans):
        found += len(ids)
        if not repair:
            break
        await store.write(partial(_refresh, kind=Kind.VEHICLE, ids=ids))
    return _finding(found, repaired=repair)


def _behind(tx: ReadTx, kind: Kind, after: str) -> tuple[list[str], int]:
    ids = reach.behind(tx, kind, after)
    return ids, reach.wrong(tx, kind, ids) if ids else 0


def _refresh(tx: WriteTx, kind: Kind, ids: list[str]) -> int:
    return reach.refresh(tx, ids) if kind is Kind.VEHICLE else reach.refresh(tx, sensor_ids=ids)


def _finding(found: int, *, repaired: bool) -> Finding:
    if not found:
        return Finding("reach", True, (phrase("doctor.reach.well"),))
    if repaired:
        return Finding("reach", True, (phrase("doctor.reach.repaired", n=found),), noted=True)
    return Finding("reach", False, (phrase("doctor.reach.wrong", n=found),), phrase("doctor.reach.mend"))
