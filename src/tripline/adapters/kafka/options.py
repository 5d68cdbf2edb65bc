"""The options of librdkafka: how it reaches brokers, and how it reports trouble.

Its own log lines name addresses and are dropped; each trouble is one log event of ours, with the library's code.
"""

import logging
import ssl
import time
from pathlib import Path
from typing import Any, Final

from confluent_kafka import KafkaError

from tripline import observe
from tripline.config import Bus
from tripline.config import bus as config_bus
from tripline.ports.outages import Outage

SAID_AGAIN_S: Final = 60.0
"""The library repeats a trouble with each try; it is logged once in this time."""
_REFUSED: Final = frozenset(
    {
        KafkaError._AUTHENTICATION,
        KafkaError._SSL,
        KafkaError.SASL_AUTHENTICATION_FAILED,
        KafkaError.TOPIC_AUTHORIZATION_FAILED,
        KafkaError.GROUP_AUTHORIZATION_FAILED,
        KafkaError.CLUSTER_AUTHORIZATION_FAILED,
    }
)
_MISSING: Final = frozenset(
    {KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError._UNKNOWN_TOPIC, KafkaError._UNKNOWN_PARTITION}
)
_log = observe.logger("bus")

SILENT: Final = logging.getLogger("tripline.librdkafka")
"""Where the library's own lines end."""
SILENT.setLevel(logging.CRITICAL + 1)


def connection(settings: Bus) -> dict[str, Any]:
    """How the brokers are reached and who we are to them. Raises `Outage` when a file cannot be read."""
    options: dict[str, Any] = {
        "bootstrap.servers": ",".join(config_bus.brokers(settings)),
        "client.id": "tripline",
        "security.protocol": settings.security,
        "socket.keepalive.enable": True,
        "socket.nagle.disable": True,
        "reconnect.backoff.max.ms": 2_000,
        "topic.metadata.refresh.interval.ms": 30_000,
        "allow.auto.create.topics": False,
        "log.connection.close": False,
        "logger": SILENT,
    }
    if settings.user:
        options |= {"sasl.mechanism": settings.mechanism}
        options |= {"sasl.username": settings.user, "sasl.password": settings.password}
    if settings.security.endswith("ssl"):
        options |= _tls(settings)
    return options


class Troubles:
    """Logs the errors of one client, each at intervals, and the recovery. Called from the client's thread."""

    def __init__(self, side: str) -> None:
        self._side = side
        self._said: dict[str, float] = {}
        self.fatal = False
        """True if the library gave up and must be restarted."""

    def note(self, error: KafkaError) -> None:
        """Something went wrong; the library goes on by itself, unless it is fatal."""
        self.fatal = self.fatal or error.fatal()
        code, now = error.name(), time.monotonic()
        if now - self._said.get(code, -SAID_AGAIN_S) < SAID_AGAIN_S:
            return
        self._said[code] = now
        if error.code() in _REFUSED:
            _log.warning("bus.refused", side=self._side, code=code)
        elif error.code() in _MISSING:
            _log.warning("bus.topic_missing", side=self._side, code=code)
        else:
            _log.warning("bus.away", side=self._side, code=code)

    def over(self) -> None:
        """The brokers carried out a request."""
        if self._said:
            self._said.clear()
            _log.info("bus.back", side=self._side)


def _tls(settings: Bus) -> dict[str, Any]:
    """TLS options: trusted authorities and client certificate, checked here because the library's errors are vague."""
    options: dict[str, Any] = {"ssl.ca.location": "probe"}
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if settings.ca:
        options["ssl.ca.location"] = _readable("bus.ca", settings.ca)
        try:
            context.load_verify_locations(settings.ca)
        except ssl.SSLError as error:
            raise Outage(f"bus.ca: {settings.ca} holds no PEM certificate.") from error
    if settings.cert:
        options["ssl.certificate.location"] = _readable("bus.cert", settings.cert)
        options["ssl.key.location"] = _readable("bus.key", settings.key)
        try:
            context.load_cert_chain(settings.cert, settings.key, password="")
        except (ssl.SSLError, ValueError) as error:
            files = f"{settings.cert} and {settings.key}"
            raise Outage(f"bus.cert, bus.key: {files} are no PEM chain and its key without a password.") from error
    return options


def _readable(setting: str, file: str) -> str:
    try:
        Path(file).read_bytes()
    except OSError as error:
        raise Outage(f"{setting}: {file} cannot be read: {error.strerror}.") from error
    return file
