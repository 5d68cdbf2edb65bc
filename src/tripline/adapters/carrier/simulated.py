"""A simulated carrier: lifts every pause on record, and stores the request that lifted it."""

from tripline.ports.carriers import CarrierRefusedError
from tripline.ports.clocks import Clock
from tripline.store.lines import simulated as simulated_lines
from tripline.store.transactions import Store, WriteTx


class SimulatedCarrier:
    """Implements `ports.carriers.CarrierLines` on the store."""

    def __init__(self, *, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    async def unpause(self, mdn: str, *, request_id: str) -> None:
        """Lift the pause, unless this request did already. Raises `CarrierRefusedError` for a line not paused."""

        def lift(tx: WriteTx) -> None:
            if simulated_lines.was_lifted_by(tx, mdn, request_id):
                return
            if not simulated_lines.is_paused(tx, mdn):
                raise CarrierRefusedError("This line is not paused.")
            simulated_lines.lift(tx, mdn, request_id=request_id, now_ms=self._clock())

        await self._store.write(lift)
