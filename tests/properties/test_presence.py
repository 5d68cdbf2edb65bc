"""Whatever devices, servers and time do: customers are told of coming and going in turns, and in the end the truth."""

import itertools
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support import stores
from tests.support.ingest_rig import NOW, SENSOR, Rig

from tripline.services.presence import PresenceKeeper
from tripline.store import tables

ABSENT_S = 30
bounded = settings(max_examples=stores.examples(25))
seconds = st.sampled_from([0, 1, 10, 29, 30, 31, 100])
steps = st.lists(
    st.tuples(st.sampled_from(["comes", "is taken over", "is lost", "killed", "outage", "nothing"]), seconds),
    max_size=25,
)


class _Story:
    """One device, its sessions, and a keeper."""

    def __init__(self, rig: Rig) -> None:
        self._rig = rig
        self._numbers = itertools.count(1)
        self._session = 0
        self._keeper = self._made()

    @property
    def connected(self) -> bool:
        return self._session > 0

    def step(self, what: str, wait_s: int) -> None:
        """Something happens, and then some time passes."""
        rig = self._rig
        rig.store.away = what == "outage"
        if what == "comes" and not self.connected:
            self._begin()
        elif what == "is taken over" and self.connected:
            older = self._session
            self._begin()
            self._keeper.lost(SENSOR, older, rig.now_ms, seen_ms=rig.now_ms, reason="taken_over")
        elif what in ("is lost", "outage") and self.connected:
            self._keeper.lost(SENSOR, self._session, rig.now_ms, seen_ms=rig.now_ms, reason="lost")
            self._session = 0
        elif what == "killed":
            rig.restart()
            self._session = 0
            self._keeper = self._made()
            rig.run(self._keeper.begin())
        rig.run(self._keeper._tried())
        rig.now_ms += wait_s * 1000
        rig.store.away = False
        rig.run(self._keeper._tried())

    def _begin(self) -> None:
        self._session = next(self._numbers)
        self._keeper.connected(SENSOR, self._session, self._rig.now_ms, lambda: None)

    def _made(self) -> PresenceKeeper:
        rig = self._rig
        return PresenceKeeper(
            store=rig.store, ids=rig.ids, signals=rig.signals, clock=lambda: rig.now_ms, absent_s=ABSENT_S
        )


@bounded
@given(story=steps)
def test_what_is_told_alternates_and_ends_with_the_truth(story: list[tuple[str, int]]) -> None:
    with tempfile.TemporaryDirectory() as folder, Rig.fresh(Path(folder)) as rig:
        rig.want("500")
        told = _Story(rig)

        for what, wait_s in [*story, ("nothing", ABSENT_S), ("nothing", ABSENT_S)]:
            told.step(what, wait_s)

        said = [body["pld"]["connected"] for body in rig.pushed()]
        assert said == [place % 2 == 0 for place in range(len(said))]
        assert (said[-1] if said else False) == told.connected
        facts = rig.rows(tables.device_connection, "connected", "told")
        assert facts == ([(told.connected, told.connected)] if facts else [])


@bounded
@given(gaps=st.lists(st.integers(1, ABSENT_S - 1), max_size=20))
def test_device_that_always_comes_back_in_time_is_told_once(gaps: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder, Rig.fresh(Path(folder)) as rig:
        rig.want("500")
        story = _Story(rig)
        for gap_s in gaps:
            story.step("comes", 1)
            story.step("is lost", gap_s)
        story.step("comes", 100)

        assert [(body["pld"]["connected"], body["ts"]) for body in rig.pushed()] == [(True, NOW)]
