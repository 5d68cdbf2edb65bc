"""Make every process forget deleted vehicles, sensors and drivers, if several ingest data.

The caller has committed the deletion. Earlier batches may still write rows that refer to the deleted rows, so we wait
for them; then releasing the sensors' claims (`store/ingest/claims.py`) makes every process reload the sensors whose
trips may refer to the vehicle or driver.

Not here: erasing the rows (`services/eraser.py`), this process's own pipeline (`intake.py`).
"""

import asyncio
from collections.abc import Collection
from typing import Final

from tripline.ports.outages import Outage
from tripline.services.ingest.tracks import SCOPE
from tripline.store.ingest import claims
from tripline.store.transactions import ReadTx, Store

LOOK_S: Final = 0.02
LONGEST_S: Final = 40.0
"""By then the server has given up a process that fell silent during a batch."""


async def everywhere(store: Store, deleted: Collection[str]) -> None:
    """Wait until no process has a batch that refers to these deleted vehicles, sensors or drivers, so that all their
    rows are written. For a shared store. Raises `Outage`."""
    before = await store.read_short(_under_way)
    for _ in range(int(LONGEST_S / LOOK_S)):
        if not before:
            break
        await asyncio.sleep(LOOK_S)
        before &= await store.read_short(_under_way)
    else:
        raise Outage("A batch of another process does not end.")
    await store.write(lambda tx: claims.release_naming(tx, SCOPE, deleted), locked=True)


def _under_way(tx: ReadTx) -> set[str]:
    return claims.under_way(tx, SCOPE)
