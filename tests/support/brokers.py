"""Apache Kafka as real processes on loopback: one node or three, killed, stopped and started again by a test.

Needs `java` (17), and `mvn` once, to put the jars into `kafka/libs` (`kafka/fetch`); see `required.py`. Only processes
started here are ever signalled, by their ids.

The brokers are those of `kafka/pom.xml`; with `KAFKA=3.9` in the environment those of `kafka/pom-3.9.xml`.
"""

import base64
import contextlib
import fcntl
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.support import required
from tests.support.certificates import Certificates

HERE = Path(__file__).parent / "kafka"
PRESENT = ""
"""The release of `kafka/pom.xml`; any other is named as in its file, `kafka/pom-3.9.xml`."""
RELEASE = os.environ.get("KAFKA", PRESENT)
"""The release of the brokers."""
CLUSTER_ID = "dHJpcGxpbmUtdGVzdHMtMQ"
START_S = 120
STOP_S = 60
JAVA = ("-Xms64m", "-XX:+UseSerialGC", "-Xshare:auto", "-Dorg.apache.logging.log4j.level=WARN")
QUICK_START = "-XX:TieredStopAtLevel=1"
"""Half the time until a broker is there, for two thirds of its speed: for tests, not for measurements."""
META = "meta.properties"
"""Says in a data folder of a node whose it is."""
_FORMATTED: dict[tuple[str, tuple[str, ...]], dict[str, bytes]] = {}
"""Release and users -> the files of a data folder as Kafka's own program makes it, which takes a JVM each time."""
CLASSES = "classes.jsa"
"""Beside the jars: the classes of a broker as the JVM has them once they are loaded. With it a start needs half as much
of the processor; made before the first cluster. A JVM that cannot use it goes without."""


@dataclass(frozen=True, slots=True)
class Secured:
    """Further endpoints of the first node: SASL, TLS, TLS with a client's certificate, SASL over TLS."""

    certificates: Certificates
    user: str = "tripline"
    password: str = "open sesame"


SECURED = {"SASL": "SASL_PLAINTEXT", "TLS": "SSL", "MTLS": "SSL", "SASLTLS": "SASL_SSL"}
"""Names of the further endpoints, as in `Cluster.endpoint`, and the protocol behind each."""


def need(what: str, *, release: str = RELEASE) -> None:
    """Go on when brokers of the release can be started here; else skip, or fail on a build machine."""
    required.need("java", what)
    if not _complete(release):
        required.need("mvn", what)
        with (HERE / _named("pom", release, ".xml")).open() as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            subprocess.run(
                [HERE / "fetch", *([release] if release else [])], stdin=subprocess.DEVNULL, capture_output=True
            )
    required.need(_complete(release), f"the jars of Kafka could not be fetched: {what}")
    if release == RELEASE:
        _load_classes()


def jars(release: str = RELEASE) -> str:
    """The class path of Kafka's own programs and client library."""
    return f"{_libs(release)}/*"


def _libs(release: str) -> Path:
    return (HERE / _named("libs", release)).resolve()


def _complete(release: str) -> bool:
    pom = HERE / _named("pom", release, ".xml")
    made_by = _libs(release) / "pom.xml"
    return made_by.exists() and made_by.read_bytes() == pom.read_bytes()


def _named(what: str, release: str, ending: str = "") -> str:
    return f"{what}-{release}{ending}" if release else f"{what}{ending}"


def _load_classes() -> None:
    """Let a broker start once and end, to have its classes beside the jars."""
    libs = _libs(RELEASE)
    with (libs / "pom.xml").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (libs / CLASSES).exists():
            return
        with tempfile.TemporaryDirectory(dir=libs) as folder:
            loaded = Path(folder) / CLASSES
            with cluster(Path(folder), jvm=f"-XX:ArchiveClassesAtExit={loaded}") as made:
                made.brokers[0].stop()
            if not made.brokers[0].killed:  # else it took too long and half is there, on which a JVM would fail
                loaded.rename(libs / CLASSES)


class Broker:
    """One node of a cluster."""

    def __init__(self, node: int, port: int, folder: Path, java: Sequence[str]) -> None:
        self.node, self.port = node, port
        self._folder, self._java = folder, java
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """Its process."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start its process, on what it has stored so far; `Cluster.ready` waits until it can be used."""
        command = [*self._java, "kafka.Kafka", str(self._folder / "server.properties")]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def kill(self) -> None:
        """End the process as a power cut would."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End the process as an operator would."""
        self._end(signal.SIGTERM)

    def ended(self) -> bool:
        """Whether the process is not there, started or not."""
        return self._process is None or self._process.poll() is not None

    @property
    def killed(self) -> bool:
        """Whether the process was ended without a say of its own."""
        return self._process is not None and self._process.poll() == -signal.SIGKILL

    def log(self) -> str:
        """What it has logged, warnings and worse."""
        return self._log.read_text("utf-8", "replace") if self._log.exists() else ""

    @property
    def _log(self) -> Path:
        return self._folder / "log"

    def _end(self, with_signal: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(with_signal)
            try:
                self._process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait(STOP_S)


class Cluster:
    """Nodes that know each other; `bootstrap` and `url` name them all."""

    def __init__(self, brokers: list[Broker], host: str, endpoints: dict[str, int]) -> None:
        self.brokers, self._host, self._endpoints = brokers, host, endpoints
        self.bootstrap = ",".join(f"{host}:{broker.port}" for broker in brokers)
        self.url = f"kafka://{self.bootstrap}"
        self.admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})

    def endpoint(self, name: str) -> str:
        """The address of a further endpoint of the first node (a name of `SECURED`), as `bus.url`."""
        return f"kafka://{self._host}:{self._endpoints[name]}"

    def ready(self) -> None:
        """Wait until every node whose process runs can be used."""
        running = {broker.node for broker in self.brokers if not broker.ended()}
        self._until(lambda: running <= set(self.admin.list_topics(timeout=5).brokers), "not every node came up")

    def make_topic(self, name: str, *, partitions: int = 1, **settings: str) -> None:
        """Make a topic, as often replicated as there are nodes; it can be used when this returns."""
        topic = NewTopic(name, partitions, len(self.brokers), config=settings)

        def made() -> bool:
            with contextlib.suppress(KafkaException):  # that a node is gone is said of one just found out about, too
                self.admin.create_topics([topic])[name].result(START_S)
            return name in self.admin.list_topics(timeout=5).topics

        self._until(made, f"{name} cannot be made")
        self._until(lambda: len(self._leaders(name)) == partitions, f"{name} has no leaders")

    def leader(self, topic: str, partition: int = 0) -> Broker:
        """The node that leads the partition, as soon as the node that is asked knows it."""
        leaders: dict[int, int] = {}

        def known() -> bool:
            leaders.update(self._leaders(topic))
            return partition in leaders

        self._until(known, f"{topic} has no leader")
        return next(broker for broker in self.brokers if broker.node == leaders[partition])

    def replicas(self, topic: str) -> list[int]:
        """How many nodes have each partition, as soon as the node that is asked knows the topic."""
        partitions = self._partitions(topic)
        known = self.admin.list_topics(topic, timeout=5).topics[topic].partitions
        return [len(known[partition].replicas) for partition in partitions]

    def in_sync(self, topic: str) -> None:
        """Wait until every node has everything of the topic."""

        def whole() -> bool:
            partitions = self.admin.list_topics(topic, timeout=5).topics[topic].partitions.values()
            return all(len(partition.isrs) == len(self.brokers) for partition in partitions)

        self._until(whole, f"{topic} is not in sync")

    def put(self, topic: str, values: Sequence[bytes], *, key: bytes | None = None, partition: int = -1) -> None:
        """Write messages; all are stored when this returns."""
        producer = Producer({"bootstrap.servers": self.bootstrap, "acks": "all", "linger.ms": 1, "log_level": 0})
        failed: list[str] = []
        for value in values:
            producer.produce(
                topic,
                value,
                key,
                partition=partition,
                on_delivery=lambda error, _: failed.append(error.name()) if error else None,
            )
            producer.poll(0)
        assert producer.flush(START_S) == 0
        assert failed == []

    def kept(self, topic: str) -> list[Message]:
        """Every message of the topic, each partition in its order, with whatever is stored when this is called."""
        own = {"group.id": "of-a-test", "enable.auto.commit": False, "log_level": 0, "fetch.wait.max.ms": 20}
        consumer = Consumer({"bootstrap.servers": self.bootstrap, **own})
        try:
            ends = {
                partition: consumer.get_watermark_offsets(TopicPartition(topic, partition), 10)
                for partition in self._partitions(topic)
            }
            consumer.assign([TopicPartition(topic, partition, low) for partition, (low, _) in ends.items()])
            found: list[Message] = []
            missing = sum(high - low for low, high in ends.values())
            until = time.monotonic() + START_S
            while len(found) < missing and time.monotonic() < until:
                found += [message for message in consumer.consume(10_000, 0.2) if message.error() is None]
        finally:
            consumer.close()
        return sorted(found, key=lambda message: (message.partition(), message.offset()))

    def ends(self, topic: str) -> dict[int, int]:
        """The offset that the next message of each partition will have."""
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": "of-a-test", "log_level": 0})
        try:
            partitions = {partition: TopicPartition(topic, partition) for partition in self._partitions(topic)}
            return {partition: consumer.get_watermark_offsets(place, 10)[1] for partition, place in partitions.items()}
        finally:
            consumer.close()

    def committed(self, group: str, topic: str) -> dict[int, int]:
        """Where the group goes on reading, by partition; partitions that it has not committed are left out."""
        partitions = [TopicPartition(topic, partition) for partition in self._partitions(topic)]
        asked = self.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group, partitions)])
        answered = asked[group].result(START_S).topic_partitions
        return {place.partition: place.offset for place in answered if place.offset >= 0}

    def until_read(self, group: str, topic: str) -> None:
        """Wait until the group has gone past everything that the topic holds now."""
        ends: dict[int, int] = {}
        read: dict[int, int] = {}
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": group, "log_level": 0})

        def past() -> bool:
            ends.update(ends or self.ends(topic))
            committed = consumer.committed([TopicPartition(topic, partition) for partition in ends], 5)
            read.update((place.partition, place.offset) for place in committed)
            return all(place.offset >= ends[place.partition] for place in committed if ends[place.partition])

        try:
            self._until(past, f"{group} does not read {topic} to its end")
        except AssertionError as error:
            error.add_note(f"{group} has committed {read} of {ends}")
            raise
        finally:
            consumer.close()

    def rewind(self, group: str, topic: str) -> None:
        """Have the group read the topic from its beginning again, once it has no members any more."""
        partitions = [TopicPartition(topic, partition, 0) for partition in self._partitions(topic)]

        def back() -> bool:
            asked = self.admin.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, partitions)])
            return all(partition.error is None for partition in asked[group].result(START_S).topic_partitions)

        self._until(back, f"{group} has members")

    def members(self, group: str) -> int:
        """How many members the group has."""
        return len(self.admin.describe_consumer_groups([group])[group].result(START_S).members)

    def _partitions(self, topic: str) -> list[int]:
        partitions: list[int] = []

        def known() -> bool:
            partitions.extend(self.admin.list_topics(topic, timeout=5).topics[topic].partitions)
            return bool(partitions)

        self._until(known, f"{topic} has no partitions")
        return sorted(partitions)

    def _leaders(self, topic: str) -> dict[int, int]:
        partitions = self.admin.list_topics(topic, timeout=5).topics[topic].partitions
        alive = {broker.node for broker in self.brokers if not broker.ended()}
        return {number: partition.leader for number, partition in partitions.items() if partition.leader in alive}

    def _until(self, reached: Callable[[], bool], trouble: str) -> None:
        until = time.monotonic() + START_S
        while time.monotonic() < until:
            with contextlib.suppress(Exception):  # a cluster that comes up refuses in many ways
                if reached():
                    return
            time.sleep(0.05)
        raise AssertionError(f"{trouble}:\n" + "\n".join(broker.log()[-3_000:] for broker in self.brokers))


@contextlib.contextmanager
def cluster(
    folder: Path,
    *,
    nodes: int = 1,
    host: str = "127.0.0.1",
    secured: Secured | None = None,
    heap_mb: int = 256,
    quick_start: bool = True,
    jvm: str = f"-XX:SharedArchiveFile={_libs(RELEASE) / CLASSES}",
) -> Iterator[Cluster]:
    """A cluster that can be used, in the folder; it ends with the block. With three nodes two must have a message.

    `jvm`: a further flag of its programs.
    """
    java = ("java", f"-Xmx{heap_mb}m", *JAVA, jvm, *((QUICK_START,) if quick_start else ()), "-cp", jars())
    ports = free_ports(host, 2 * nodes + len(SECURED))
    inside, outside = ports[:nodes], ports[nodes : 2 * nodes]
    endpoints = dict(zip(SECURED, ports[2 * nodes :], strict=True)) if secured else {}
    voters = ",".join(f"{node}@{host}:{port}" for node, port in enumerate(inside, 1))
    brokers = []
    for node, (own, port) in enumerate(zip(inside, outside, strict=True), 1):
        place = folder / f"node-{node}"
        place.mkdir()
        filled = (
            (HERE / "server.properties")
            .read_text()
            .format(node=node, voters=voters, data=place / "data", replication=nodes, in_sync=min(nodes, 2))
        )
        listeners = {"PLAINTEXT": port, **(endpoints if node == 1 else {})}
        lines = [filled, *_listeners(host, own, listeners), *(_secured(secured, place) if secured else ())]
        (place / "server.properties").write_text("\n".join(lines) + "\n")
        brokers.append(Broker(node, port, place, java))
    _format(folder, nodes, java, secured)
    made = Cluster(brokers, host, endpoints)
    try:
        for broker in brokers:
            broker.start()
        made.ready()
        yield made
    finally:
        for broker in brokers:
            if not broker.ended():
                broker.kill()


def _listeners(host: str, own: int, others: dict[str, int]) -> list[str]:
    named = [f"{name}://{host}:{port}" for name, port in others.items()]
    return [
        f"listeners={','.join([*named, f'CONTROLLER://{host}:{own}'])}",
        f"advertised.listeners={','.join(named)}",
        "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,"
        + ",".join(f"{name}:{protocol}" for name, protocol in SECURED.items()),
    ]


def _secured(secured: Secured, folder: Path) -> list[str]:
    made, both = secured.certificates, folder / "server.pem"
    both.write_bytes(made.key.read_bytes() + made.certificate.read_bytes())
    modules = "org.apache.kafka.common.security"
    lines = [
        "sasl.enabled.mechanisms=SCRAM-SHA-512,SCRAM-SHA-256,PLAIN",
        "ssl.keystore.type=PEM",
        f"ssl.keystore.location={both}",
        "ssl.truststore.type=PEM",
        f"ssl.truststore.location={made.ca}",
        "listener.name.mtls.ssl.client.auth=required",
    ]
    for endpoint in ("sasl", "sasltls"):
        scram = f"{modules}.scram.ScramLoginModule required;"
        plain = f'{modules}.plain.PlainLoginModule required user_{secured.user}="{secured.password}";'
        lines += [f"listener.name.{endpoint}.scram-sha-{bits}.sasl.jaas.config={scram}" for bits in (256, 512)]
        lines += [f"listener.name.{endpoint}.plain.sasl.jaas.config={plain}"]
    return lines


def _format(folder: Path, nodes: int, java: Sequence[str], secured: Secured | None) -> None:
    """Make the data folders, with the user where there is one."""
    users = []
    for bits in (256, 512) if secured else ():
        users += ["--add-scram", f"SCRAM-SHA-{bits}=[name={secured.user},password={secured.password}]"]
    key = RELEASE, tuple(users)
    if key not in _FORMATTED:
        settings = str(folder / "node-1" / "server.properties")
        command = [*java, "kafka.tools.StorageTool", "format", "-t", CLUSTER_ID, "-c", settings, *users]
        done = subprocess.run(command, capture_output=True, text=True, timeout=START_S)
        assert done.returncode == 0, done.stdout + done.stderr
        made = folder / "node-1" / "data"
        _FORMATTED[key] = {file.name: file.read_bytes() for file in made.iterdir()}
        shutil.rmtree(made)
    for node in range(1, nodes + 1):
        data = folder / f"node-{node}" / "data"
        data.mkdir()
        for name, content in _FORMATTED[key].items():
            (data / name).write_bytes(content)
        identity = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
        meta = (data / META).read_text()
        meta = re.sub(r"(?m)^node\.id=.*$", f"node.id={node}", meta)
        (data / META).write_text(re.sub(r"(?m)^directory\.id=.*$", f"directory.id={identity}", meta))


def free_ports(host: str, number: int) -> list[int]:
    """Ports that were free a moment ago, below those that clients get.

    A client that tries again and again to reach a node that is down would else get its port one day, and reach itself.
    """
    with contextlib.ExitStack() as held:
        found: list[int] = []
        while len(found) < number:
            each = held.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                each.bind((host, random.randrange(20_000, 32_000)))
                found.append(each.getsockname()[1])
        return found
