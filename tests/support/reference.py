"""The pages of `docs/reference/` and `docs/mqtt.md`, made from the program itself.

`python -m tests.support.reference` (`make docs`) writes them; `tests/house/test_reference.py` holds them equal.
"""

import ast
import functools
import gc
import importlib
import inspect
import json
import pkgutil
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import tripline
from tests.support import mqtt_page
from tripline import cli, metrics, observe
from tripline.api import families
from tripline.api.documents import asyncapi_schemas, openapi
from tripline.config import files as config_files
from tripline.domain import access, fields
from tripline.domain.history import TooManyChanges
from tripline.domain.refusals import BadParameter, Forbidden, NotFound, Refusal
from tripline.gateway import connection
from tripline.http import errors, operations
from tripline.http.turns import TooMuchAtOnce
from tripline.services.accounts.limits import TooManyRequests
from tripline.services.accounts.tokens import TokenExpired, TokenUnreadable
from tripline.services.rpc import answers
from tripline.store.transactions import ReadTooLong
from tripline.wire.device import meanings as device_meanings
from tripline.wire.device import reasons as device_reasons
from tripline.wire.device import tables as device_tables

USUAL = {
    BadParameter,
    Forbidden,
    NotFound,
    ReadTooLong,
    TokenExpired,
    TokenUnreadable,
    TooManyChanges,
    TooManyRequests,
    TooMuchAtOnce,
    fields.NotAllowed,
    fields.OutOfRange,
    fields.TooLong,
    fields.Unprintable,
    fields.WrongForm,
}
"""Refusals that nearly every operation has."""
ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
OPENING = re.compile(r'\s*(?:#.*\n\s*)*(r?""".*?""")', re.DOTALL)
NOTE = "Made by `make docs` from the program; a test holds it equal.\n"

REASONS = {
    **device_reasons.REASONS,
    connection.TOO_LARGE: "The publish is larger than `devices.max_packet`: send fewer samples in one message.",
    answers.UNKNOWN_CALL: "An acknowledgement or result whose Request-ID belongs to no call of this device: publish it"
    " to .../rpc/response/ or .../rpc/result/ with the id of the request's topic.",
    "unknown_sensor": "The sensor was removed while its message was under way.",
    "internal": "The message could not be taken in although nothing is wrong with it: a bug of Tripline, in its log.",
}
"""Every reason of the rejected-message log, with its meaning."""


def own_modules(*folders: str) -> list[Path]:
    """Our own modules in these folders: no installed packages, no hidden folders such as a virtual environment."""
    found = [path for folder in folders for path in sorted((ROOT / folder).rglob("*.py"))]
    return [path for path in found if not re.search(r"/(?:\.|node_modules/)", f"/{path.relative_to(ROOT)}")]


def settings() -> str:
    """Settings by section, with variable, default and meaning."""
    lines = [
        "# Settings",
        NOTE,
        "A TOML file (`--config`) is overridden by variables, and those by flags. Unknown keys refuse to start. "
        "`tripline config` prints this as a commented file.",
    ]
    section = None
    for setting in config_files.settings():
        prefix, _, key = setting.name.rpartition(".")
        if prefix != section:
            section = prefix
            lines += [
                f"\n## {prefix or 'Top level'}\n",
                "| Setting | Variable | Default | Meaning |\n|---|---|---|---|",
            ]
        default = "unset" if setting.default is None else f"`{config_files.written(setting.default)}`"
        lines.append(f"| `{key}` | `{setting.variable}` | {default} | {_cell(setting.told)} |")
    return _page(lines)


def observing() -> str:
    """Log events, metrics, and the reasons of the rejected-message log."""
    lines = ["# Log events, metrics, rejected messages", NOTE, "## Log events\n", "| Event | Written when |\n|---|---|"]
    lines += [f"| `{name}` | {_cell(text)} |" for name, text in observe.EVENTS.items()]
    lines += ["\n## Metrics\n", "`GET /metrics` on the API port's loopback side.\n"]
    lines += ["| Metric | Sort | Labels | Meaning |\n|---|---|---|---|"]
    for metric in declared_metrics():
        suffix = "_total" if metric._type == "counter" else ""
        labels = ", ".join(f"`{label}`" for label in metric._labelnames) or "none"
        lines.append(f"| `{metric._name}{suffix}` | {metric._type} | {labels} | {_cell(metric._documentation)} |")
    lines += ["\n## Rejected messages\n", "`tripline doctor` counts them by reason and shows the newest.\n"]
    lines += ["| Reason | Meaning |\n|---|---|"]
    lines += [f"| `{reason}` | {_cell(text)} |" for reason, text in REASONS.items()]
    return _page(lines)


def refusals() -> str:
    """Stable codes of foreseen troubles, with the answer REST gives."""
    lines = ["# Refusals", NOTE, "A refusal is a foreseen trouble that the caller can mend. Its code is stable.\n"]
    lines += ["| Code | HTTP | errorCode | Meaning |\n|---|---|---|---|"]
    for refusal in sorted(refusal_classes(), key=lambda each: each.code):
        status, number = errors.ANSWERS[refusal.kind]
        lines.append(f"| `{refusal.code}` | {status} | {number} | {_cell(_first_sentence(refusal.__doc__))} |")
    return _page(lines)


@functools.cache
def commands() -> str:
    """What each command does, with its example."""
    lines = [
        "# Commands",
        NOTE,
        "`tripline COMMAND --help` lists the flags. Exit codes: 0 done, 1 failed, 2 wrong use.",
    ]
    for words, command in command_tree():
        if command.default_command is not None and words:
            text = " ".join((command.help or "").split())
            lines.append(f"\n## tripline {' '.join(words)}\n\n{text}\n\n```\n{example(command)}\n```")
    return _page(lines)


@functools.cache
def rest() -> str:
    """Every operation under its heading: who may call it, and what it can be refused with."""
    lines = [
        "# REST",
        NOTE,
        "Every path is served on both HTTP listeners. The program serves the whole of it, with fields, types and "
        "examples: `GET /api/docs` (a page to read, without any other network) and `GET /api/openapi.json`; "
        "devices and pushes are in `GET /api/asyncapi.json`.\n",
        "`parameter.*` (400), `token.unreadable` and `token.expired` (401), `access.denied` (403), "
        "`object.unknown` (404), `request.too_many` and `request.too_much_at_once` (429) and `read.too_long` (503) are "
        "left out of the last column.",
    ]
    described = [each for methods in _document()["paths"].values() for each in methods.values()]
    for heading, (about, _) in families.HEADINGS.items():
        names = {each["operationId"] for each in described if heading in each["tags"]}
        lines.append(f"\n## {heading}\n\n{about}\n")
        lines.append("| Method | Path | Purpose | Role | Refusals |\n|---|---|---|---|---|")
        lines += [_operation(each) for each in every_operation() if each.name in names]
    return _page(lines)


def messages() -> str:
    """Every message of a device: its number, its keys, what they mean, and an example."""
    lines = [
        "# Messages of devices",
        NOTE,
        'A device publishes `{"ty": number, "ts": epoch ms, "pld": payload}` to `v1/sensors/me/tre`. Numbers may be '
        "sent as text; unlisted keys are stored as sent. The interface asks for a key marked with *; "
        "Tripline takes the message without it as well. The same as schemas: `GET /api/asyncapi.json`.",
    ]
    for number, title in device_meanings.TITLES.items():
        lines.append(f"\n## {number}: {title}\n\n| Key | Example | Meaning |\n|---|---|---|")
        for key in device_meanings.keys(number):
            mark = " *" if key in device_tables.MANDATORY[number] else ""
            meaning = device_meanings.meaning(number, key)
            lines.append(f"| `{key}`{mark} | `{meaning.example}` | {_cell(meaning.text)} |")
        body = json.dumps(asyncapi_schemas.example(number), separators=(",", ":"))
        lines.append(f"\n```json\n{body}\n```")
    return _page(lines)


def _operation(each: operations.Operation) -> str:
    who = _roles(each.access)
    refused = ", ".join(f"`{refusal.code}`" for refusal in openapi.refusals(each) if refusal not in USUAL)
    text = _cell(openapi.first_sentence(each.text))
    return f"| {each.method} | `{each.path}` | {text} | {who} | {refused} |"


def _roles(needed: access.Action | access.Gate) -> str:
    return needed.value if isinstance(needed, access.Gate) else ", ".join(access.RULES[needed])


@functools.cache
def _document() -> dict:
    return openapi.document(families.HEADINGS)


def modules() -> list[Path]:
    """Every module of the package, relative to `src/tripline`; a package stands before what is in it."""
    found = [path.relative_to(source_root()) for path in source_root().rglob("*.py")]
    return sorted(found, key=lambda path: (path.parts[:-1], path.name != "__init__.py", path.name))


def docstring(source: str) -> str:
    """The docstring that a source opens with; empty without one. It is cut out: parsing every file takes seconds."""
    found = OPENING.match(source)
    return inspect.cleandoc(ast.literal_eval(found[1])) if found else ""


@functools.cache
def parsed(source: str) -> ast.Module:
    """The syntax tree of a source. Made once and kept: looking for garbage in the trees of all modules takes longer
    than parsing them."""
    tree = ast.parse(source)
    gc.freeze()
    return tree


def source_root() -> Path:
    """`src/tripline`."""
    return Path(tripline.__file__).parent


def declared_metrics() -> list:
    """Every metric of the catalogue."""
    return [value for value in vars(metrics).values() if hasattr(value, "_documentation")]


def refusal_classes() -> set[type[Refusal]]:
    """Every refusal with a code, of every module."""
    for module in pkgutil.walk_packages(tripline.__path__, "tripline."):
        if "__main__" not in module.name and "migrations" not in module.name:
            importlib.import_module(module.name)
    found: set[type[Refusal]] = set()
    waiting = [Refusal]
    while waiting:
        for each in waiting.pop().__subclasses__():
            waiting.append(each)
            if "code" in vars(each) and each.__module__.startswith("tripline."):
                found.add(each)
    return found


def command_tree() -> list[tuple[tuple[str, ...], object]]:
    """Every command with the words one types."""
    found = []
    waiting = [((), cli.commands)]
    while waiting:
        words, app = waiting.pop()
        found.append((words, app))
        waiting += [((*words, name), app[name]) for name in app if not name.startswith("-")]
    return sorted(found, key=lambda each: each[0])


def example(command) -> str:
    """The example at the end of a command's help."""
    return (command.help_epilogue or "").removeprefix("Example: ")


def every_operation() -> list[operations.Operation]:
    """Every operation of every family, by path and method."""
    found = operations.declared(families.FAMILIES)
    return sorted(found, key=lambda each: (each.path, each.method))


def access_page() -> str:
    """What each role may do, and on which rows: the one table of permissions, and who may call each operation."""
    roles = list(access.Authority)
    lines = [
        "# Roles and permissions",
        NOTE,
        "Made from `RULES` in `domain/access.py`, the program's only table of permissions. A cell lists the permitted "
        "rows; an empty cell permits none.\n",
        f"| Action | {' | '.join(roles)} |\n|---|{'---|' * len(roles)}",
    ]
    for action, row in access.RULES.items():
        cells = [_reaches(row.get(role)) for role in roles]
        lines.append(f"| `{action.value}` | {' | '.join(cells)} |")
    lines += ["\n## Ways in which a row is within reach\n", "| Name | Rows |\n|---|---|"]
    lines += [f"| {_words(reach)} | {reach.value} |" for reach in access.Reach]
    lines += ["\n## Operations\n", "| Method | Path | Who |\n|---|---|---|"]
    for each in every_operation():
        who = f"`{each.access.value}`" if isinstance(each.access, access.Action) else each.access.value
        lines.append(f"| {each.method} | `{each.path}` | {who} |")
    return _page(lines)


def _reaches(reaches: frozenset[access.Reach] | None) -> str:
    return "" if reaches is None else ", ".join(_words(reach) for reach in access.Reach if reach in reaches)


def _words(reach: access.Reach) -> str:
    return reach.name.lower().replace("_", " ")


PAGES: Final[Mapping[Path, Callable[[], str]]] = {
    REFERENCE / "settings.md": settings,
    REFERENCE / "observing.md": observing,
    REFERENCE / "refusals.md": refusals,
    REFERENCE / "commands.md": commands,
    REFERENCE / "rest.md": rest,
    REFERENCE / "access.md": access_page,
    REFERENCE / "messages.md": messages,
    ROOT / "docs" / "mqtt.md": mqtt_page.page,
}
"""Every generated page, with what makes its text."""


def write() -> None:
    """Write every page."""
    REFERENCE.mkdir(parents=True, exist_ok=True)
    for path, text in PAGES.items():
        path.write_text(text(), "utf-8")


def _first_sentence(text: str | None) -> str:
    """The first sentence of a docstring, on one line."""
    paragraph = " ".join((text or "").split("\n\n")[0].split())
    return re.split(r"\. (?=[A-Z`])", paragraph)[0].rstrip(".") + "."


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _page(lines: list[str]) -> str:
    return "\n".join([lines[0], "", *lines[1:]]) + "\n"


if __name__ == "__main__":
    write()
