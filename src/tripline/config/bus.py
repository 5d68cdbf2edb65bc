"""Reads the settings of the message bus together: brokers, topics, contradictions (`config.Bus`)."""

import ipaddress
import re
from collections.abc import Mapping
from typing import Final, Literal
from urllib.parse import urlsplit

import msgspec

from tripline.config import Bus
from tripline.domain import ids
from tripline.domain.ids import CompanyId

SCHEME: Final = "kafka://"
_TOPIC: Final = re.compile(r"[a-zA-Z0-9._-]{1,249}")

BusKind = Literal["microtrip", "trip", "event"]


class BusSettingError(Exception):
    """Contradictory or invalid bus settings; the text is one line that names the setting and the fix."""


class Carried(msgspec.Struct, frozen=True):
    """The content of a topic: a kind of message, and its company if only one may write to it."""

    kind: BusKind
    company_id: CompanyId | None = None


def brokers(settings: Bus) -> list[str]:
    """HOST:PORT of each broker. Raises `BusSettingError`."""
    if not settings.url.startswith(SCHEME):
        raise BusSettingError("bus.url must be kafka://HOST:PORT, with a comma before each further broker.")
    found = settings.url.removeprefix(SCHEME).removesuffix("/").split(",")
    for each in found:
        _host(each)
    return found


def topics(settings: Bus) -> dict[str, Carried]:
    """The customers' topics to read, and the content of each. Raises `BusSettingError`."""
    kinds: list[tuple[str, BusKind]] = [
        (settings.microtrips, "microtrip"),
        (settings.trips, "trip"),
        (settings.events, "event"),
    ]
    whose: Mapping[str, CompanyId | None] = companies(settings) or {"": None}
    found: dict[str, Carried] = {}
    for prefix, company_id in whose.items():
        for name, kind in kinds:
            _topic("bus.companies" if prefix else "bus.microtrips, bus.trips or bus.events", prefix + name)
            before = found.setdefault(prefix + name, Carried(kind, company_id))
            if before.company_id != company_id:
                raise BusSettingError(f"bus.companies: the topic {prefix + name} would be that of two companies.")
    return found


def companies(settings: Bus) -> dict[str, CompanyId]:
    """Prefix of topics -> their company. Raises `BusSettingError`."""
    found: dict[str, CompanyId] = {}
    for entry in filter(None, map(str.strip, settings.companies)):
        prefix, equals, company = entry.partition("=")
        company_id = ids.canonical(company.strip())
        if not (prefix and equals and company_id):
            raise BusSettingError(f"bus.companies: {entry!r} is not PREFIX=COMPANY-ID, with the company's UUID.")
        if prefix in found:
            raise BusSettingError(f"bus.companies: the prefix {prefix!r} is there twice.")
        found[prefix] = CompanyId(company_id)
    return found


def verify(settings: Bus) -> None:
    """Raise `BusSettingError` if the settings contradict each other. Without `bus.url` the rest is ignored."""
    if not settings.url:
        if settings.buffer_devices:
            raise BusSettingError("bus.buffer_devices needs brokers: set bus.url, or unset it.")
        return
    found = brokers(settings)
    read = topics(settings)
    for name, topic in (("bus.dead_letters", settings.dead_letters), ("bus.buffer_topic", settings.buffer_topic)):
        if topic:
            _topic(name, topic)
        if topic in read:
            raise BusSettingError(f"{name}: {topic} is read as a topic of customers; it must be another one.")
    if settings.buffer_topic == settings.dead_letters:
        raise BusSettingError("bus.buffer_topic and bus.dead_letters must be two topics.")
    _verify_security(settings)
    _verify_network(settings, found)


def _verify_network(settings: Bus, found: list[str]) -> None:
    """Require TLS to other machines, unless the operator declares the network trusted."""
    beyond = [each for each in found if not is_loopback(_host(each))]
    if beyond and not settings.security.endswith("ssl") and not settings.trusted_network:
        raise BusSettingError(
            f"bus.security is {settings.security}: messages would go to {beyond[0]} in clear text. "
            "Set bus.security to ssl or sasl_ssl, or bus.trusted_network to true when nobody else is on that network."
        )
    if beyond and settings.security == "sasl_plaintext" and settings.mechanism == "PLAIN":
        raise BusSettingError(
            "bus.mechanism PLAIN with bus.security sasl_plaintext would show the password to the network: "
            "use SCRAM-SHA-512 or sasl_ssl."
        )


def _verify_security(settings: Bus) -> None:
    sasl, tls = settings.security.startswith("sasl"), settings.security.endswith("ssl")
    if sasl != bool(settings.user):
        raise BusSettingError(
            f"bus.security is {settings.security}: set bus.user and bus.password."
            if sasl
            else f"bus.user is set, but bus.security is {settings.security}: set it to sasl_ssl, or unset bus.user."
        )
    if bool(settings.user) != bool(settings.password):
        raise BusSettingError("bus.user and bus.password belong together: set both or neither.")
    if bool(settings.cert) != bool(settings.key):
        raise BusSettingError("bus.cert and bus.key belong together: set both or neither.")
    if (settings.ca or settings.cert) and not tls:
        name = "bus.ca" if settings.ca else "bus.cert"
        raise BusSettingError(f"{name} is set, but bus.security is {settings.security}: set it to ssl or sasl_ssl.")


def _host(broker: str) -> str:
    try:
        parts = urlsplit(f"//{broker}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or not port or parts.path or parts.query or "@" in broker:
        # A text that is not an address may contain a password: do not repeat it.
        raise BusSettingError("bus.url: each broker is HOST:PORT; name and password are bus.user and bus.password.")
    return host


def _topic(setting: str, topic: str) -> None:
    if not _TOPIC.fullmatch(topic) or topic in {".", ".."}:
        raise BusSettingError(
            f"{setting}: {topic!r} is no name of a topic (letters, digits, `.`, `_`, `-`; 249 at most)."
        )


def is_loopback(host: str) -> bool:
    """True if only this machine can reach the host."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
