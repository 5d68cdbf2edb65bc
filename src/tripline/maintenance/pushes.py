"""Dead-lettered messages to customers' servers, for the operator of the machine: listing and resending them.

Both work with or without a running server; a running one polls every few seconds.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from tripline import clock
from tripline.config import Config
from tripline.domain.ids import RowNo
from tripline.domain.pushes import Parked
from tripline.maintenance import stores
from tripline.services.push import resender
from tripline.services.push.resender import Resent
from tripline.store.push import parked as push_parked
from tripline.store.push.parked import Which

PAGE: Final = 500


async def listed(config: Config, which: Which, *, limit: int, bodies: bool, show: Callable[[Parked], None]) -> int:
    """Show up to `limit` dead-lettered messages in the order of the outbox; return their number."""
    async with stores.store_of(config) as store:
        after: RowNo | None = None
        shown = 0
        while shown < limit:
            size = min(limit - shown, PAGE)
            found = await store.read(partial(push_parked.listed, which=which, limit=size, after=after, bodies=bodies))
            for each in found:
                show(each)
            shown += len(found)
            if len(found) < size:
                break
            after = found[-1].no
        return shown


async def resent(config: Config, which: Which, *, progress: Callable[[int], None]) -> Resent:
    """Queue dead-lettered messages again, and release waiting ones. `progress` gets the number after each step."""
    async with stores.store_of(config) as store, stores.numbering(store) as ids:
        sent = Resent(0, 0)
        async for sent in resender.resend_all(store, which=which, ids=ids, now_ms=clock.now_ms()):
            progress(sent.count)
        return sent
