"""Reads and shows settings: a TOML file, `TRIPLINE_*` variables and flags become one `config.Config`.

The order is file, then variables, then flags; the last one that names a setting decides. An unknown name refuses to
start with one line that names the nearest known one. Contradictions between settings are detected here too (`verify`).
"""

import difflib
import email.utils
import functools
import ipaddress
import re
import tomllib
import types
import typing
import zoneinfo
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from tripline.config import SECRET, Config, Role
from tripline.config import bus as config_bus

PREFIX: Final = "TRIPLINE_"
DEVICE_TOKEN: Final = "TRIPLINE_DEVICE_TOKEN"  # noqa: S105  the name of a variable
LOGIN_PASSWORD: Final = "TRIPLINE_LOGIN_PASSWORD"  # noqa: S105  likewise
_NO_SETTINGS: Final = frozenset({DEVICE_TOKEN, LOGIN_PASSWORD})
"""Variables of `tripline replay` and `tripline simulate`, not settings of the server."""

_ORIGIN: Final = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?:[a-z0-9_-]+(?:\.[a-z0-9_-]+)*|\[[0-9a-f:]+\])(?::(?P<port>[0-9]{1,5}))?"
)
"""Apps in a web view have their own schemes."""
_DEFAULT_PORTS: Final = {"https": "443", "http": "80"}


class WrongSettingError(Exception):
    """A setting is unknown, unreadable or contradicts another one; the text is shown as one line."""


class Origin(StrEnum):
    """The source of a setting's value."""

    DEFAULT = "default"
    FILE = "file"
    VARIABLE = "variable"
    FLAG = "flag"


class Setting(msgspec.Struct, frozen=True):
    """One leaf of the tree: `name` as in `store.url`, `variable` as in `TRIPLINE_STORE_URL`."""

    name: str
    variable: str
    kind: Any
    default: Any
    description: str
    bounds: str
    secret: bool
    """True if its value is never shown."""

    @property
    def told(self) -> str:
        """The description, followed by the allowed values in brackets."""
        return f"{self.description} ({self.bounds})" if self.bounds else self.description


@functools.cache
def settings() -> tuple[Setting, ...]:
    """Every setting, in the order of the tree: the top level first, then section by section.

    Cached: a start needs them twice, and reading types is slow.
    """
    return (*_leaves(Config, ""), *(leaf for name, section in sections() for leaf in _leaves(section, f"{name}.")))


def sections() -> list[tuple[str, type[msgspec.Struct]]]:
    """Name and type of every section."""
    return [(field.name, field.type) for field in msgspec.structs.fields(Config) if _is_section(field.type)]


def load(*, file: Path | None, variables: Mapping[str, str], flags: Mapping[str, Any]) -> Config:
    """The settings in force. `flags` maps names of settings (`store.url`) to values; None means not given.

    Raises `WrongSettingError`.
    """
    known = {setting.name: setting for setting in settings()}
    values: dict[str, Any] = {}
    for name, value, _, place in _given(file, variables, flags, known):
        several = isinstance(value, str) and isinstance(known[name].default, tuple)
        given = value.split(",") if several else value
        try:
            values[name] = msgspec.convert(given, known[name].kind, strict=False, dec_hook=_path)
        except msgspec.ValidationError as error:
            # msgspec's message about a pattern is for programmers, and the value may contain a password.
            form = f"What is expected: {known[name].description}."
            raise WrongSettingError(f"{place}: {form if 'regex' in str(error) else error}") from error
    tree = msgspec.convert(_nested(values), Config, dec_hook=_path)
    verify(tree)
    return tree


def origins(*, file: Path | None, variables: Mapping[str, str], flags: Mapping[str, Any]) -> dict[str, Origin]:
    """The sources of the given settings, by name; all others are defaults. As `load`."""
    known = {setting.name: setting for setting in settings()}
    return {name: origin for name, _, origin, _ in _given(file, variables, flags, known)}


def verify(config: Config) -> None:
    """Raise `WrongSettingError` if settings contradict each other or are not supported by this version."""
    try:
        config_bus.verify(config.bus)
    except config_bus.BusSettingError as error:
        raise WrongSettingError(str(error)) from error
    if "all" not in config.roles and not config.store.url:
        raise WrongSettingError(
            "A process with a part of the roles works on a shared store: set store.url (TRIPLINE_STORE_URL) to"
            " postgresql://..., or let one process do all."
        )
    if bool(config.tls.cert) != bool(config.tls.key):
        raise WrongSettingError("tls.cert and tls.key belong together: set both or neither.")
    if config.https is False and not config_bus.is_loopback(config.host) and not config.behind_proxy:
        raise WrongSettingError(
            f"Plain HTTP on {config.host} would send passwords in clear text: "
            "use HTTPS, a loopback host, or --behind-proxy when a proxy in front does HTTPS."
        )
    _verify_mail(config)
    _verify_origins(config)
    _verify_trusted(config)
    try:
        zoneinfo.ZoneInfo(config.time_zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise WrongSettingError(f"time_zone: there is no time zone named {config.time_zone!r}.") from error


def _verify_mail(config: Config) -> None:
    if "@" not in email.utils.parseaddr(config.mail.sender)[1]:
        raise WrongSettingError(f"mail.sender: {config.mail.sender!r} is no address that mails can come from.")
    if config.accounts.public_url and not config.accounts.public_url.startswith(("http://", "https://")):
        raise WrongSettingError("accounts.public_url must begin with http:// or https://.")


def _verify_origins(config: Config) -> None:
    """Browsers send an origin in one form only; any other would be allowed without effect."""
    for origin in config.rest.cors_origins:
        found = _ORIGIN.fullmatch(origin)
        if origin == "*":
            raise WrongSettingError("rest.cors_origins: name each origin; * would let in the scripts of every site.")
        if found is None or not _is_port(found["port"], _DEFAULT_PORTS.get(found["scheme"])):
            raise WrongSettingError(
                f"rest.cors_origins: {origin!r} is no origin as browsers send it. Write scheme, host and port in lower"
                " case, without a path and without the scheme's own port, like https://portal.example.com."
            )


def _verify_trusted(config: Config) -> None:
    for text in config.accounts.trusted_addresses:
        try:
            ipaddress.ip_network(text)
        except ValueError as error:
            raise WrongSettingError(
                f"accounts.trusted_addresses: {text!r} is no address or network; write 192.0.2.7 or 192.0.2.0/24."
            ) from error


def _is_port(text: str | None, default: str | None) -> bool:
    return text is None or (text != default and text == str(int(text)) and 0 < int(text) < 2**16)


def uses_https(config: Config) -> bool:
    """True if the HTTP listeners use HTTPS: as set, otherwise exactly when the host is not loopback."""
    if config.https is None:
        return not config_bus.is_loopback(config.host)
    return config.https


def promises_https(config: Config) -> bool:
    """Return true to send `Strict-Transport-Security`: the public address has the usual port and the operator's own
    certificate. With a certificate of ours, or another port, it could lock browsers out of the host's other servers."""
    try:
        public = urlsplit(config.accounts.public_url)
        return bool(config.tls.cert) and public.scheme == "https" and public.port in (None, 443)
    except ValueError:
        return False


def does(config: Config, role: Role) -> bool:
    """True if this process has the role."""
    return "all" in config.roles or role in config.roles


def default_file() -> str:
    """The commented default file, made from the live defaults; reading it back gives the defaults."""
    blocks = ["# Tripline's settings with their defaults. Flags and TRIPLINE_* variables win over this file."]
    blocks += [_toml(leaf) for leaf in _leaves(Config, "")]
    for name, section in sections():
        opening = (section.__doc__ or "").strip()
        blocks.append(f"[{name}]\n# {opening}")
        blocks += [_toml(leaf) for leaf in _leaves(section, f"{name}.")]
    return "\n\n".join(blocks) + "\n"


def _given(
    file: Path | None, variables: Mapping[str, str], flags: Mapping[str, Any], known: Mapping[str, Setting]
) -> Iterator[tuple[str, Any, Origin, str]]:
    """Name, value, origin and exact place of every given setting, the strongest last."""
    if file is not None:
        for name, value in _flat(_read(file)):
            if name not in known:
                raise WrongSettingError(f"{file}: unknown setting `{name}`{_nearest(name, known)}.")
            yield name, value, Origin.FILE, f"{file}: {name}"
    by_variable = {setting.variable: setting.name for setting in known.values()}
    for variable in sorted(name for name in variables if name.startswith(PREFIX) and name not in _NO_SETTINGS):
        if variable not in by_variable:
            raise WrongSettingError(f"Unknown variable {variable}{_nearest(variable, by_variable)}.")
        yield by_variable[variable], variables[variable], Origin.VARIABLE, variable
    for name, value in flags.items():
        if value is not None:
            yield name, str(value) if isinstance(value, Path) else value, Origin.FLAG, f"--{name.replace('_', '-')}"


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise WrongSettingError(f"The settings file {file} cannot be read: {error}.") from error
    except tomllib.TOMLDecodeError as error:
        raise WrongSettingError(f"{file} is not TOML: {error}") from error


def _flat(tree: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    names = {name for name, _ in sections()}
    for key, value in tree.items():
        if key in names and isinstance(value, dict):
            for inner, leaf in value.items():
                yield f"{key}.{inner}", leaf
        else:
            yield key, value


def _nested(values: Mapping[str, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for name, value in values.items():
        section, dot, key = name.partition(".")
        if dot:
            tree.setdefault(section, {})[key] = value
        else:
            tree[name] = value
    return tree


def _leaves(section: type[msgspec.Struct], prefix: str) -> list[Setting]:
    hints = typing.get_type_hints(section, include_extras=True)
    found = []
    for field in msgspec.structs.fields(section):
        if _is_section(field.type):
            continue
        metas = [part for part in _metas(hints[field.name]) if isinstance(part, msgspec.Meta)]
        name = prefix + field.name
        found.append(
            Setting(
                name=name,
                variable=PREFIX + name.replace(".", "_").upper(),
                kind=hints[field.name],
                default=field.default,
                description=next((meta.description for meta in metas if meta.description), ""),
                bounds=", ".join(_bounds(metas, hints[field.name])),
                secret=any(meta.extra == SECRET for meta in metas),
            )
        )
    return found


def _metas(hint: Any) -> Iterator[Any]:
    """All metadata in `Annotated`, including inner levels (`Port | None`)."""
    for part in getattr(hint, "__metadata__", ()):
        yield part
    inner = getattr(hint, "__origin__", None) if hasattr(hint, "__metadata__") else None
    for part in (inner,) if inner is not None else typing.get_args(hint):
        yield from _metas(part)


def _bounds(metas: list[msgspec.Meta], hint: Any) -> Iterator[str]:
    for sign, key in ((">=", "ge"), (">", "gt"), ("<=", "le"), ("<", "lt")):
        for meta in metas:
            bound = getattr(meta, key)
            if bound is not None:
                yield f"{sign} {bound}"
    bare = getattr(hint, "__origin__", hint)
    if typing.get_origin(bare) is typing.Literal:
        yield "one of " + ", ".join(typing.get_args(bare))


def _toml(setting: Setting) -> str:
    key = setting.name.rpartition(".")[2]
    bounds = f" ({setting.bounds})" if setting.bounds else ""
    comment = f"# {setting.description}{bounds} [{setting.variable}]"
    if setting.default is None:
        return f"{comment}\n# {key} ="
    return f"{comment}\n{key} = {written(setting.default)}"


def written(value: Any) -> str:
    """A default in TOML syntax."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, tuple):
        return f"[{', '.join(map(written, value))}]"
    return msgspec.json.encode(str(value)).decode()


def _nearest(name: str, known: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.0)
    return f"; the nearest known is {near[0]}" if near else ""


def _is_section(kind: Any) -> bool:
    return isinstance(kind, type) and not isinstance(kind, types.GenericAlias) and issubclass(kind, msgspec.Struct)


def _path(kind: type, value: Any) -> Any:
    if kind is Path:
        return Path(value)
    raise NotImplementedError(kind)
