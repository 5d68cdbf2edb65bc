"""In whatever order, how often and however cut a device's messages come: the same trips, events, scores and sums."""

import json
import random
import zoneinfo
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support import ingest_rig, stores
from tests.support.ingest_rig import MINUTE, NOW, OTHER_VEHICLE, SENSOR, VEHICLE, Rig, frame

from tripline.domain.history import Event
from tripline.domain.samples import RECORD
from tripline.scoring.rules import Rules
from tripline.services.scores.scorer import Scorer
from tripline.store import tables

ZONE = zoneinfo.ZoneInfo("Asia/Seoul")
LONG_AGO = NOW - 30 * 24 * 60 * MINUTE
SAMPLES = 100
STEP_MS = 2_000
BLACK_BOX = 7
REMOUNTED = [None, NOW - 60 * MINUTE, NOW + SAMPLES * STEP_MS + 10_000]
"""When the sensor came from another vehicle: never, long after one drive, or between two drives of the same hour."""
COLUMNS = ("start_ms", "end_ms", "tid", "device_type", "parking", "state", "vehicle_id", "user_id", "message_ty",
           "distance_m", "payload", "not_scored")  # fmt: skip


class Drive:
    """A drive of more than 3 km with a harsh stop, or a black box's record of parking; its samples and how its trip
    message says its times."""

    def __init__(
        self, start_ms: int, tid: int | None, *, ty: int, says: str, brakes_at: int, parking: bool = False
    ) -> None:
        self.parking = self.is_parted = parking
        self.tid = tid
        self.ty = ty
        self.says = says
        metres = 0.0
        self.samples = []
        for number in range(SAMPLES):
            speed = 95.0 if number < brakes_at else 60.0
            metres += speed / 3.6 * STEP_MS / 1000
            sample = {"lat": round(36 + metres / 111_195, 7), "lon": 127.5, "sp": speed} | self._kind
            number_of = {} if tid is None else {"tid": tid}
            self.metres = round(metres)
            self.samples.append({**number_of, **sample, "clt": start_ms + number * STEP_MS})

    def __repr__(self) -> str:
        return f"Drive({self.samples[0]['clt'] - NOW}, tid={self.tid}, ty={self.ty}, {self.says}, {self.parking})"

    @property
    def _kind(self) -> dict[str, int]:
        return {"try": 2} if self.parking else {}

    def cut(self, sizes: Iterator[int]) -> list[bytes]:
        """Messages with so many samples each."""
        bodies, rest = [], self.samples
        while rest:
            part, rest = rest[: (size := next(sizes))], rest[size:]
            pld: Any = part if size > 1 else part[0]
            bodies.append(json.dumps({"ty": self.ty + 1, "ts": part[-1]["clt"], "pld": pld}).encode())
        return bodies

    @property
    def reports(self) -> list[bytes]:
        """Device events: before its first sample, within it and behind its last; none of a drive that parking under its
        number follows, because an event near two trips is the one's that is known."""
        number = {} if self.tid is None else {"tid": self.tid}
        first_ms, last_ms = self.samples[0]["clt"], self.samples[-1]["clt"]
        times = (first_ms - 1_000, first_ms + 50_000, last_ms + 1_000)
        return [json.dumps({"ty": 113, "ts": at, "pld": number}).encode() for at in times if not self.is_parted]

    @property
    def message(self) -> list[bytes]:
        """Its trip message, if it has one."""
        first_ms, last_ms = self.samples[0]["clt"], self.samples[-1]["clt"]
        said = {"none": None, "both": {"stt": first_ms - 3_000, "edt": last_ms + 4_000}, "end": {"edt": last_ms}}
        told = said.get(self.says, {})
        number = {} if self.tid is None else {"tid": self.tid}
        body = {"ty": self.ty, "ts": last_ms, "pld": {**number, "dis": self.metres, **(told or {}), **self._kind}}
        return [] if self.says == "none" else [json.dumps(body).encode()]


@st.composite
def fleets(draw: st.DrawFn) -> list[Drive]:
    """Drives whose numbers differ, close together, and drives of equal or missing numbers more than the gap apart; of a
    black box parking, too, under the number of the drive before it."""
    far = 31 * MINUTE
    length = SAMPLES * STEP_MS
    starts = [
        (LONG_AGO, 7),
        (LONG_AGO + 40 * 60 * MINUTE, None),
        (NOW, 1),
        (NOW + length + 20_000, 2),
        (NOW + 2 * length + far, 1),
        (NOW + 3 * length + 2 * far, None),
    ]
    chosen = draw(st.lists(st.sampled_from(starts), min_size=2, max_size=3, unique=True))
    ty = draw(st.sampled_from([1, 7]))
    says = st.sampled_from(["none", "both", "end", "header"])
    drives = [
        Drive(start, tid, ty=ty, says=draw(says), brakes_at=draw(st.sampled_from([0, 33])))
        for start, tid in sorted(chosen, key=lambda each: each[0])
    ]
    if ty == BLACK_BOX and draw(st.booleans()):
        last = drives[-1]
        last.is_parted = True
        start = last.samples[-1]["clt"] + 60_000
        drives.append(Drive(start, last.tid, ty=ty, says="none", brakes_at=0, parking=True))
    return drives


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[Path]:
    return stores.folders(tmp_path)


def score(rig: Rig) -> None:
    async def work() -> None:
        scorer = Scorer(
            store=rig.store, rules=Rules(), ids=rig.ids, signals=rig.signals, clock=lambda: rig.now_ms, zone=ZONE
        )
        while await scorer.score_due():
            pass

    rig.run(work())


def outcome(
    folder: Path,
    batches: Sequence[Sequence[bytes]],
    remounted: int | None,
    chance: random.Random | None = None,
) -> dict[str, Any]:
    """What is stored in the end; with `chance`, the process restarts and scores in between."""
    with Rig.fresh(folder) as rig:
        rig.now_ms = NOW + 300 * MINUTE
        if remounted is not None:
            rig.note(Event.UNMOUNTED, remounted, sensor_id=SENSOR, vehicle_id=OTHER_VEHICLE)
            rig.note(Event.MOUNTED, remounted, sensor_id=SENSOR, vehicle_id=VEHICLE)
        source = ingest_rig.FakeSource()
        for batch in batches:
            rig.now_ms += 1_000
            rig.take_in([frame(source, body, rig.now_ms, token) for token, body in enumerate(batch, 1)])
            if chance is not None and chance.random() < 0.2:
                rig.restart()
            if chance is not None and chance.random() < 0.2:
                score(rig)
        rig.now_ms += 40 * MINUTE
        silent = rig.run(rig.pipeline.tracks.silent(now_ms=rig.now_ms))
        rig.take_in([], silent=silent)
        score(rig)
        return stored(rig)


def stored(rig: Rig) -> dict[str, Any]:
    start_of = dict(rig.rows(tables.trip, "no", "start_ms"))
    samples: dict[int, set[Any]] = {start: set() for start in start_of.values()}
    for no, packed in rig.rows(tables.microtrip, "trip_no", "samples"):
        # Whether a sample came alone is not part of it: only one without its own time depends on that.
        samples[start_of[no]] |= {record[:-1] for record in RECORD.iter_unpack(packed)}
    scores = rig.rows(
        tables.driving_score, "trip_no", "score", "accel", "de_accel", "over_speed", "distance_m", "day", "driving_ms"
    )
    events = rig.rows(tables.gps_event, "trip_no", "event_ms", "event_type", "speed_mh", "lat", "lon", "user_id")
    start_of_id = dict(rig.rows(tables.trip, "id", "start_ms"))
    latest = [*rig.rows(tables.vehicle, "latest_trip_id"), *rig.rows(tables.account, "latest_trip_id")]
    qualities = [json.loads(quality) for quality in rig.rows(tables.trip, "quality") if quality is not None]
    return {
        "counted": sorted((quality["samples"], quality["periodMs"], quality["distance"]) for quality in qualities),
        "trips": sorted(rig.rows(tables.trip, *COLUMNS), key=repr),
        "samples": samples,
        "scores": sorted((start_of[no], *row) for no, *row in scores),
        "events": sorted((start_of[no], *row) for no, *row in events),
        "reports": sorted(
            (at, start_of_id[trip_id], *more)
            for at, trip_id, *more in rig.rows(tables.device_event, "event_ms", "trip_id", "vehicle_id", "user_id")
        ),
        "sums": sorted(map(repr, rig.rows(tables.score_sum))),
        "latest": [start_of_id.get(trip_id) for trip_id in latest],
        "vehicle": rig.rows(tables.vehicle_score, "count", "score", "distance_m", "sums"),
        "refused": rig.rows(tables.rejected_message, "reason"),
    }


def batched(bodies: Sequence[bytes], size: int) -> Iterator[Sequence[bytes]]:
    for at in range(0, len(bodies), size):
        yield bodies[at : at + size]


@settings(
    max_examples=stores.examples(24), suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(fleets(), st.sampled_from(REMOUNTED), st.integers(0, 2**32), st.integers(1, 40), st.integers(0, 40))
def test_order_repetition_and_cutting_change_nothing(
    folders: Iterator[Path],
    drives: list[Drive],
    remounted: int | None,
    seed: int,
    most: int,
    again: int,
) -> None:
    chance = random.Random(seed)
    in_order = [
        body
        for drive in drives
        for body in (*drive.reports[:1], *drive.cut(iter([1] * SAMPLES)), *drive.reports[1:], *drive.message)
    ]
    expected = outcome(next(folders), [*batched(in_order, 50)], remounted)

    def sizes() -> Iterator[int]:
        while True:
            yield chance.randint(1, 20)

    sent = [body for drive in drives for body in (*drive.cut(sizes()), *drive.message, *drive.reports)]
    sent += chance.sample([body for drive in drives for body in (*drive.cut(sizes()), *drive.message)], min(again, 3))
    sent += chance.choices(sent, k=again)
    chance.shuffle(sent)

    assert outcome(next(folders), [*batched(sent, most)], remounted, chance) == expected
    assert len(expected["trips"]) == len(drives)
    assert len(expected["scores"]) == len([drive for drive in drives if not drive.parking])
    on_other = [drive for drive in drives if remounted is not None and drive.samples[0]["clt"] < remounted]
    assert len([row for row in expected["trips"] if OTHER_VEHICLE in row]) == len(on_other)
    assert expected["refused"] == []
