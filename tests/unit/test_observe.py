"""The frequency of log lines."""

import errno
import json
import threading
import time
from collections.abc import Iterator
from io import StringIO
from typing import Any

import pytest
from tests.support import logs

from tripline import observe


@pytest.fixture
def log() -> Iterator[StringIO]:
    stream = StringIO()
    observe.say_anew()
    observe._sampled.clear()
    observe.configure_logging(level="debug", as_json=True, stream=stream)
    yield stream
    observe.say_anew()
    observe._sampled.clear()
    logs.plain()


@pytest.fixture
def seconds(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr(observe.time, "monotonic", lambda: now[0])
    return now


def lines(log: StringIO) -> list[Any]:
    return [json.loads(line) for line in log.getvalue().splitlines()]


def told(log: StringIO) -> list[tuple[Any, ...]]:
    return [(line["reason"], line.get("repeated")) for line in lines(log)]


def test_lasting_trouble_is_written_once_a_minute_with_how_often_it_came(log, seconds):
    logger = observe.logger("test")
    for second in range(121):
        seconds[0] = second
        logger.warning("ingest.outage", reason="damaged", frames=second)

    assert told(log) == [("damaged", None), ("damaged", 59), ("damaged", 59)]
    assert [line["frames"] for line in lines(log)] == [0, 60, 120]


def test_another_reason_is_written_at_once(log, seconds):
    logger = observe.logger("test")
    for reason in ("locked", "full", "locked"):
        logger.warning("ingest.outage", reason=reason)

    assert told(log) == [("locked", None), ("full", None)]


def test_trouble_that_comes_back_after_it_was_over_is_written_at_once(log, seconds):
    logger = observe.logger("test")
    logger.warning("ingest.outage", reason="locked")
    observe.say_anew()
    logger.warning("ingest.outage", reason="locked")

    assert told(log) == [("locked", None), ("locked", None)]


def test_reasons_that_are_remembered_have_a_bound(log, seconds):
    logger = observe.logger("test")
    for number in range(3 * observe._SAID_AT_MOST):
        logger.warning("ingest.outage", reason=str(number))

    assert len(observe._said) <= observe._SAID_AT_MOST


def test_other_events_are_written_every_time(log, seconds):
    logger = observe.logger("test")
    for _ in range(3):
        logger.warning("device.contended", reason="x")
        logger.error("ingest.outage", reason="x")

    assert len(lines(log)) == 6


def test_lasting_and_sampled_events_are_declared():
    assert set(observe.EVENTS) >= {*observe.LASTING, *observe.SAMPLED}


def test_refusals_of_a_device_are_written_once_in_ten_seconds_with_how_often_they_came(log, seconds):
    logger = observe.logger("gateway")
    for second in range(21):
        seconds[0] = second
        logger.info("device.refused", code=5, peer="192.0.2.1")
        logger.info("device.refused", code=5, peer="192.0.2.2")

    assert [(line["peer"], line.get("repeated")) for line in lines(log)] == [
        *(("192.0.2.1", None), ("192.0.2.2", None)),
        *(("192.0.2.1", 9), ("192.0.2.2", 9)),
        *(("192.0.2.1", 9), ("192.0.2.2", 9)),
    ]


def test_bound_that_peers_meet_is_written_once_in_ten_seconds_for_each_cause(log, seconds):
    logger = observe.logger("http")
    for second in range(11):
        seconds[0] = second
        for cause in ("bodies", "answers"):
            logger.warning("http.limit", cause=cause, limit=1, address=f"192.0.2.{second}")

    assert [(line["cause"], line["address"], line.get("repeated")) for line in lines(log)] == [
        *(("bodies", "192.0.2.0", None), ("answers", "192.0.2.0", None)),
        *(("bodies", "192.0.2.10", 9), ("answers", "192.0.2.10", 9)),
    ]


def test_sampled_lines_of_changing_addresses_have_a_bound(log, seconds):
    logger = observe.logger("gateway")
    for number in range(10_000):
        logger.info("device.refused", code=5, peer=str(number))
    assert len(lines(log)) == observe.KINDS_AT_MOST + 1

    seconds[0] = observe.SAMPLE_S
    logger.info("device.refused", code=5, peer="later")
    assert len(lines(log)) == observe.KINDS_AT_MOST + 2
    assert len(observe._sampled) == 1


class FullDisk(StringIO):
    """A stream on a disk that is full for a while."""

    full = True

    def write(self, text: str) -> int:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(text)

    def flush(self) -> None:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")


def test_line_that_a_full_disk_does_not_take_stops_no_work_and_later_lines_are_written():
    disk = FullDisk()
    observe.configure_logging(level="info", as_json=True, stream=disk)
    lines = observe.logger("test")

    lines.info("ingest.outage")
    disk.full = False
    lines.info("ingest.resumed")
    logs.plain()

    assert [json.loads(line)["event"] for line in disk.getvalue().splitlines() if line] == ["ingest.resumed"]


def test_threads_that_write_the_first_lines_at_once_set_up_once():
    done: list[int] = []

    def slowly() -> None:
        done.append(threading.get_ident())
        time.sleep(0.02)

    observe.set_up_before_a_line(slowly)
    together = threading.Barrier(4)

    def write() -> None:
        together.wait()
        observe.logger("test").info("serve.started")

    threads = [threading.Thread(target=write) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()

    assert len(done) == 1
