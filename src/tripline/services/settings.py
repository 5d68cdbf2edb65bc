"""The settings in force, as platform administrators see them: without passwords, whole or inside an address."""

import re
from collections.abc import Mapping
from operator import attrgetter
from typing import Any, Final

import msgspec

from tripline.config import Config
from tripline.config import files as config_files
from tripline.config.files import Origin

HIDDEN: Final = "…"
_CREDENTIALS: Final = re.compile(r"://.*@", re.DOTALL)
_QUERY: Final = re.compile(r"[?#].*", re.DOTALL)


class InForce(msgspec.Struct, frozen=True):
    """A setting and its value."""

    name: str
    """Such as `store.url`."""
    value: str | None
    """As written in a settings file; None: unset, or hidden."""
    hidden: bool
    """True if the value is secret."""
    origin: Origin
    description: str


def in_force(config: Config, origins: Mapping[str, Origin]) -> tuple[InForce, ...]:
    """Every setting, in the order of the tree; `origins`: origins of configured settings."""
    found = []
    for setting in config_files.settings():
        value = attrgetter(setting.name)(config)
        hidden = setting.secret and bool(value)
        found.append(
            InForce(
                name=setting.name,
                value=None if hidden or value is None else config_files.written(_masked(value)),
                hidden=hidden,
                origin=origins.get(setting.name, Origin.DEFAULT),
                description=setting.told,
            )
        )
    return tuple(found)


def _masked(value: Any) -> Any:
    """Mask user, password and query in addresses."""
    if isinstance(value, tuple):
        return tuple(_masked(each) for each in value)
    if not isinstance(value, str) or "://" not in value:
        return value
    return _QUERY.sub(f"?{HIDDEN}", _CREDENTIALS.sub(f"://{HIDDEN}@", value))
