"""Shared by all commands: their root, settings, exit codes, printing."""

import datetime
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

from cyclopts import App, Parameter, validators

from tripline.config import Config
from tripline.config import files as config_files
from tripline.config.files import Origin
from tripline.later import Later

if TYPE_CHECKING:
    import zoneinfo
    from importlib import metadata

    from tripline.domain import refusals
    from tripline.language import catalogue
else:
    metadata = Later("importlib.metadata")
    zoneinfo = Later("zoneinfo")
    refusals = Later("tripline.domain.refusals")
    catalogue = Later("tripline.language.catalogue")

OK: Final = 0
FAILED: Final = 1
WRONG_USE: Final = 2
INTERRUPTED: Final = 130
"""128 and the number of SIGINT, as shells count."""

commands = App(
    name="tripline",
    help="Self-hosted connected-fleet platform: devices over MQTTS, trips, safety scores, REST.",
    version=lambda: metadata.version("tripline"),
    help_format="plaintext",
    help_epilogue="Example: tripline serve --data /srv/tripline",
)


@Parameter(name="*")
@dataclass(frozen=True, slots=True)
class Place:
    """The installation that a command works on."""

    config: Annotated[Path | None, Parameter(help="TOML file of settings; `tripline config` prints one")] = None
    data: Annotated[Path | None, Parameter(help="data folder (default ./tripline-data)")] = None
    store: Annotated[
        str | None,
        Parameter(
            help="store address, postgresql://user@host/database (default: SQLite in the data folder);"
            " others can read flags: with a password in it use TRIPLINE_STORE_URL"
        ),
    ] = None


DeviceToken = Annotated[
    str,
    Parameter(
        env_var=config_files.DEVICE_TOKEN, help="the sensor's credentials id; others can read flags: use the variable"
    ),
]
DeviceHost = Annotated[str, Parameter(help="where devices connect")]
DevicePort = Annotated[int, Parameter(validator=validators.Number(gte=1, lte=65535), help="MQTTS port")]
DeviceCa = Annotated[Path, Parameter(help="certificate authority to trust")]
Patience = Annotated[
    float, Parameter(validator=validators.Number(gte=0), help="seconds without a connection before giving up")
]
DEVICE_HOST: Final = "localhost"
DEVICE_PORT: Final = 9900
DEVICE_CA: Final = Path("tripline-data/tls/ca.crt")
PATIENCE_S: Final = 60.0


def settings(place: Place | None, flags: dict[str, Any]) -> Config:
    """The settings of the installation, with these flags on top."""
    return config_files.load(**_given(place, flags))


def instant_ms(config: Config, at: datetime.datetime | None) -> int | None:
    """The given instant; without an offset it is in the time zone of the service."""
    if at is None:
        return None
    zoned = at if at.tzinfo else at.replace(tzinfo=zoneinfo.ZoneInfo(config.time_zone))
    return round(zoned.timestamp() * 1_000)


def day_text(config: Config, at_ms: int) -> str:
    """A date and time, time zone of the service."""
    at = datetime.datetime.fromtimestamp(at_ms / 1_000, zoneinfo.ZoneInfo(config.time_zone))
    return f"{at:%Y-%m-%d %H:%M}"


def origins(place: Place | None, flags: dict[str, Any]) -> dict[str, Origin]:
    """The sources of all settings that differ from the defaults, by name."""
    return config_files.origins(**_given(place, flags))


def _given(place: Place | None, flags: dict[str, Any]) -> dict[str, Any]:
    where = place or Place()
    named = {"data": where.data, "store.url": where.store, **flags}
    return {"file": where.config, "variables": os.environ, "flags": named}


def printable(text: str) -> str:
    """The text without control characters for the terminal: it came from a device or a file."""
    return "".join(char if char.isprintable() else "?" for char in text)


def line(text: str) -> None:
    """Print one line at once."""
    print(text, flush=True)


def complain(trouble: object) -> None:
    """Print a one-line error on standard error."""
    said = catalogue.sentence(trouble) if isinstance(trouble, refusals.Refusal) else trouble
    print(f"tripline: {said}", file=sys.stderr)


def utc_text(at_ms: int) -> str:
    """The instant for people, UTC to the second."""
    return f"{datetime.datetime.fromtimestamp(at_ms / 1000, datetime.UTC):%Y-%m-%d %H:%M:%S}"
