"""PostgreSQL and a broker on the machine's own disk for rows of several processes, and the CPU time of each process.

Servers are those of the tests (`tests/support`), durable and as fast as they can be. Not here: Tripline's processes
(`peers.py`), what store and broker reach without them (`alone.py`).
"""

import contextlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from bench import fleet
from bench.device_channel import disk
from confluent_kafka import Consumer, TopicPartition
from tests.support import brokers, postgres

DATABASE: Final = "bench"
SETTINGS: Final = {"shared_buffers": "512MB", "max_wal_size": "4GB", "track_commit_timestamp": "on"}
"""Beside PostgreSQL's own defaults, `fsync` and `synchronous_commit` among them."""
HEAP_MB: Final = 512
BOTH_CORES: Final = f"0-{(os.cpu_count() or 1) - 1}"
DEVICES_TOPIC: Final = "tripline-devices"
LOOK_S: Final = 0.1
_TICK: Final = os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def database(*, durable: bool = True, **settings: Any) -> Iterator[postgres.Cluster]:
    """PostgreSQL with an empty database of the name `DATABASE`, on the disk that holds this folder."""
    if postgres.programs() is None:
        raise RuntimeError(postgres.MISSING)
    made = postgres.Cluster(durable=durable, settings={**SETTINGS, **settings}, within=Path(disk() or "."))
    try:
        made.create(DATABASE)
        yield made
    finally:
        made.remove()


@contextlib.contextmanager
def broker() -> Iterator[brokers.Cluster]:
    """One node of Kafka on the disk that holds this folder."""
    brokers.need("a row of this benchmark")
    with (
        tempfile.TemporaryDirectory(dir=disk()) as folder,
        brokers.cluster(Path(folder), heap_mb=HEAP_MB, quick_start=False) as cluster,
    ):
        yield cluster


def variables(database: postgres.Cluster, broker: brokers.Cluster | None = None, **more: str) -> dict[str, str]:
    """What tells a process of Tripline where its store and its bus are; `more` without its first word, lower case."""
    bus = {} if broker is None else {"TRIPLINE_BUS_URL": broker.url}
    own = {f"TRIPLINE_{name.upper()}": value for name, value in more.items()}
    return {"TRIPLINE_STORE_URL": database.url(DATABASE), **bus, **own}


def count(database: postgres.Cluster, what: str) -> int:
    """How many rows there are: a table, and which of them."""
    ((found,),) = database.run(f"SELECT count(*) FROM {what}", database=DATABASE)
    return int(found)


def check(database: postgres.Cluster, *, acknowledged: int, sent: int | None = None) -> None:
    """Raise when the store does not hold every acknowledged message once (of those `sent`, more may have come), or one
    was rejected."""
    kept, rejected = count(database, "microtrip"), count(database, "rejected_message")
    if rejected or not acknowledged <= kept <= max(acknowledged, sent or 0):
        raise RuntimeError(f"{acknowledged} messages were acknowledged, {kept} are stored, {rejected} were rejected")


def messages_in_a_commit(database: postgres.Cluster, *, since_no: int = 0) -> float:
    """How many rows of messages one transaction stored, on average."""
    asked = f"SELECT count(*), count(DISTINCT xmin::text) FROM microtrip WHERE no >= {since_no}"
    ((rows, commits),) = database.run(asked, database=DATABASE)
    return rows / max(commits, 1)


def admin_token(database: postgres.Cluster) -> str:
    """An access token of the fleet's administrator, once a server has made its key."""
    ((key,),) = database.run("SELECT value FROM secret WHERE name = 'token-key'", database=DATABASE)
    ((user_id,),) = database.run("SELECT id FROM account", database=DATABASE)
    database.run(fleet.session_of(user_id), database=DATABASE)
    return fleet.admin_token(bytes(key), user_id)


def cpu_s(pid: int) -> float:
    """CPU time that a process has used so far, with the processes it started, ended or not."""
    used = _times(pid, 4)
    for thread in Path(f"/proc/{pid}/task").iterdir():
        for child in (thread / "children").read_text().split():
            with contextlib.suppress(OSError):
                used += _times(int(child), 2)
    return used


def _times(pid: int, fields: int) -> float:
    told = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(each) for each in told[11 : 11 + fields]) / _TICK


class Watch:
    """How many cores each of some processes used since this was made, and since `again`."""

    def __init__(self, **pids: int) -> None:
        self._pids = pids
        self.again()

    def again(self) -> None:
        """Begin anew."""
        self._before = {name: cpu_s(pid) for name, pid in self._pids.items()}
        self._machine = _machine()
        self._began = time.monotonic()

    def cores(self) -> dict[str, float]:
        """Cores by name, and under `machine` what all the processes of the machine used, others' too."""
        took = time.monotonic() - self._began
        own = {name: (cpu_s(pid) - self._before[name]) / took for name, pid in self._pids.items()}
        return {**own, "machine": (_machine() - self._machine) / took}


def _machine() -> float:
    user, nice, system, _, _, irq, softirq, *_ = Path("/proc/stat").read_text().split()[1:9]
    return sum(int(each) for each in (user, nice, system, irq, softirq)) / _TICK


class Backlog:
    """What the members of a group still have to do of some topics."""

    def __init__(self, cluster: brokers.Cluster, group: str, *topics: str) -> None:
        self._cluster, self._group, self._topics = cluster, group, topics
        own = {"group.id": "of-the-benchmark", "enable.auto.commit": False, "log_level": 0}
        self._asking = Consumer({"bootstrap.servers": cluster.bootstrap, **own})

    def __enter__(self) -> "Backlog":
        return self

    def __exit__(self, *exc: object) -> None:
        self._asking.close()

    def messages(self) -> int:
        """How many messages are not stored yet."""
        return sum(self.produced(topic) - self.stored(topic) for topic in self._topics)

    def produced(self, topic: str) -> int:
        """How many messages the topic has."""
        ends = (
            self._asking.get_watermark_offsets(TopicPartition(topic, partition), 10)
            for partition in self._partitions(topic)
        )
        return sum(high for _, high in ends)

    def stored(self, topic: str) -> int:
        """How many of them are stored and committed."""
        return sum(self._cluster.committed(self._group, topic).values())

    def _partitions(self, topic: str) -> list[int]:
        return list(self._asking.list_topics(topic, timeout=10).topics[topic].partitions)

    def until(self, reached: Callable[[int], bool], *, within_s: float) -> float:
        """Wait until the number of messages is as wished; how long that took. Raises `RuntimeError`."""
        began = time.monotonic()
        while not reached(left := self.messages()):
            if time.monotonic() - began > within_s:
                raise RuntimeError(f"{left} messages are not stored after {within_s} s")
            time.sleep(LOOK_S)
        return time.monotonic() - began
