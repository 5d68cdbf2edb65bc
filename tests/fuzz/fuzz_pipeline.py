"""Throws damaged messages at a whole pipeline: `python -m tests.fuzz.fuzz_pipeline [SECONDS] [SEED]`.

Every frame must be settled, nothing may be set aside as a bug (`internal`), and memory must not grow. Prints a line
every few seconds and the seed; ends 1 with the culprit when something is wrong.
"""

import json
import random
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from tests.support import logs
from tests.support.ingest_rig import (
    NOW,
    SENSOR,
    UNMAPPED,
    FakeSource,
    Rig,
    aggregate,
    frame,
    item,
    microtrip,
    trip_message,
)

from tripline.store import tables

TOPICS = ("v1/sensors/me/tre", "v1/sensors/me/mp/tre", "v1/sensors/me/telemetry", "v1/sensors/me/attributes", "x")
ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1e308, 2**31, 2**63 - 1, 2**63, -(2**63) - 1, 2**200, 0.1, "", "41", " 41 ", "NaN"),
    *("9" * 400, "\ud800", "\x00", [], {}, [[]], [None], {"a": {"b": []}}, 9_999_999_999_999, 20_250_101_000_000),
)
KEYS = (
    "ty",
    "ts",
    "pld",
    "tid",
    "lat",
    "lon",
    "clt",
    "stt",
    "edt",
    "dis",
    "try",
    "sp",
    "em",
    "tim",
    "unpt",
    "wbv",
    "rpm",
)


def seeds(at: int) -> list[Any]:
    """Sound messages to damage."""
    return [
        microtrip(at),
        microtrip(at, ty=8),
        aggregate([at, at + 1000, at + 2000]),
        trip_message(at, at + 9000, dis=5120),
        {"ty": 104, "ts": at, "pld": {"wbv": 11.8}},
        {"ty": 112, "ts": at, "pld": {"wid": 3, "tim": at, "lat": 35.0, "lon": 129.0}},
        {"unpt": at // 1000, "pt": at // 1000},
        {"cm": "01"},
        {"ty": 4, "ts": at, "pld": item(at, rpm=1830, em="28", vv="12.7")},
    ]


def damaged(chance: random.Random, value: Any, depth: int = 0) -> Any:
    """The value with some of its parts replaced, removed or added."""
    if chance.random() < 0.08 or depth > 4:
        return chance.choice(ODD)
    if isinstance(value, dict):
        changed = {key: damaged(chance, part, depth + 1) for key, part in value.items() if chance.random() > 0.05}
        if chance.random() < 0.15:
            changed[chance.choice(KEYS)] = chance.choice(ODD)
        return changed
    if isinstance(value, list):
        return [damaged(chance, part, depth + 1) for part in value] * chance.choice((1, 1, 1, 2))
    return value


def body(chance: random.Random, at: int) -> bytes:
    raw = json.dumps(damaged(chance, chance.choice(seeds(at)))).encode()
    if chance.random() < 0.2:
        changed = bytearray(raw)
        for _ in range(chance.randint(1, 4)):
            position = chance.randrange(len(changed) + 1)
            changed[position : position + chance.randint(0, 3)] = chance.randbytes(chance.randint(0, 3))
        raw = bytes(changed)
    return raw[: chance.randrange(len(raw) + 1)] if chance.random() < 0.05 else raw


def round_of(rig: Rig, chance: random.Random) -> int:
    """One batch; how many frames it had."""
    rig.now_ms += chance.choice((10, 1000, 700_000, 2_000_000))
    sources = [FakeSource(SENSOR), FakeSource(UNMAPPED)]
    frames = []
    for token in range(1, chance.choice((1, 2, 50)) + 1):
        at = rig.now_ms - chance.choice((0, 1000, 60_000, 3_600_000))
        source = chance.choice(sources)
        frames.append(frame(source, body(chance, at), rig.now_ms, token, chance.choice((*TOPICS[:1] * 6, *TOPICS))))
    rig.take_in(frames)
    settled = sorted(token for source in sources for tokens in source.settlements for token in tokens)
    assert settled == list(range(1, len(frames) + 1)), "a frame was not settled"
    return len(frames)


def internal(rig: Rig) -> list[bytes]:
    rows = rig.rows(tables.rejected_message, "reason", "body")
    return [raw for reason, raw in rows if reason == "internal"]


def clear(rig: Rig) -> None:
    """Keep the store small: growth of the file is no finding."""

    def work(tx: Any) -> None:
        for table in (tables.rejected_message, tables.microtrip, tables.device_event, tables.scoring_job, tables.trip):
            tx.run(table.delete())

    rig.run(rig.store.write(work))
    rig.pipeline.tracks.forget_all()


def main(seconds: float, seed: int) -> int:
    """Fuzz for so long; the exit code."""
    logs.none()
    chance = random.Random(seed)
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder, Rig.fresh(Path(folder)) as rig:
        rig.now_ms = NOW
        started = told = time.monotonic()
        frames = 0
        first_kib = 0
        while time.monotonic() - started < seconds:
            frames += round_of(rig, chance)
            if time.monotonic() - told > 3:
                told = time.monotonic()
                bugs = internal(rig)
                if bugs:
                    print("set aside as a bug:", *bugs[:3], sep="\n  ")
                    return 1
                clear(rig)
                peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
                first_kib = first_kib or peak_kib
                print(f"{told - started:6.0f} s  {frames} frames  peak {peak_kib // 1024} MiB", flush=True)
        bugs = internal(rig)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - (first_kib or 2**40)
    if bugs or grown > 64 * 1024:
        print("failed:", bugs[:3], f"grown {grown} KiB")
        return 1
    print(f"ok: {frames} frames")
    return 0


if __name__ == "__main__":
    arguments = [float(word) for word in sys.argv[1:3]]
    sys.exit(main(arguments[0] if arguments else 60.0, int(arguments[1]) if len(arguments) > 1 else 1))
