"""The check of the rows of `reach`: wrong ones are counted, and written again on request."""

from sqlalchemy import delete, insert, update
from tests.support import listing, reaching, stores

from tripline.services import doctor
from tripline.store.tables import reach


def spoil(tx):
    """A row with another reason, one too many, one of no vehicle, and two that are missing."""
    listing.fill(tx)
    too_many = {"thing_id": "v2", "principal": "other", "kind": 1, "sort_key": "x", "created_ms": 1, "why": 4}
    tx.run(update(reach).where(reach.c.thing_id == "v1", reach.c.principal == "p").values(why=4))
    tx.run(insert(reach), [too_many, {**too_many, "thing_id": "gone"}])
    tx.run(delete(reach).where(reach.c.thing_id.in_(["v5", "s6"]), reach.c.principal.in_(["p", "q"])))


async def test_wrong_rows_are_counted_and_written_again_on_request(tmp_path):
    store = stores.fresh(tmp_path).open()
    try:
        await store.write(spoil)
        seen = await doctor.checked(store, repair=False)
        mended = await doctor.checked(store, repair=True)
        after = await doctor.checked(store, repair=False)
        left = await store.write(reaching.recount)
    finally:
        await store.close()

    assert not seen.well
    assert seen.text.startswith("6 rows ")
    assert mended.well and mended.noted
    assert (after.well, after.noted, left) == (True, False, 0)
