"""Sentences by language: one TOML file a language beside this module, read when its first text is wanted.

`[refusals]` has a sentence for each code and case of a refusal (`code/case`), `[words]` what a `Word` is called,
`[texts]` everything else that people read. The texts of the portal stand in `portal/`, one flat file an area and
language (`vehicles.ko.toml`); their keys begin with `portal.` and the area. What the fields of vehicles and sensors
are called in forms and files stands in `fields.toml`, both languages side by side.

Placeholders are those of `str.format`. A text that says a number `n` may have a form for one and another for the rest:
`portal.x.found.one` and `portal.x.found.other` are asked for as `portal.x.found`. Tests hold the languages equal in
keys and placeholders, and the refusals of the program equal to `[refusals]`. Settings say in English what they mean;
other languages have a file of their own (`settings.ko.toml`), with a text for each name.

Not here: which language a request asks for (`asked.py`).
"""

import functools
import tomllib
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, TypeAlias

from tripline.domain.refusals import Refusal, Value, Word


class Language(StrEnum):
    """Languages that the program speaks, by their BCP 47 tags."""

    ENGLISH = "en"
    KOREAN = "ko"


DEFAULT: Final = Language.ENGLISH
PORTAL: Final = "portal."
"""How keys of the portal's texts begin."""
FIELD: Final = "portal.field."
"""How keys of the names of fields begin."""
_OWN_WORDS: Final = "portal.refusal."
COUNT: Final = "n"
"""The value of a text that decides between its forms."""
FORMS: Final = {Language.ENGLISH: ("one", "other"), Language.KOREAN: ("other",)}
"""The forms of a text by its number, as in the plural rules of CLDR: the first for one, the last for all others."""
_AREAS: Final = Path(__file__).with_name("portal")


Catalogue: TypeAlias = dict[str, dict[str, str]]
"""Every text of one language: by section, by key."""


@functools.cache
def of(language: Language) -> Catalogue:
    """The language's texts, those of the portal left out."""
    return _read(Path(__file__).with_name(f"{language}.toml"))


@functools.cache
def of_portal(language: Language) -> dict[str, str]:
    """The portal's texts in the language, of all areas."""
    texts = {FIELD + name: field[language] for name, field in of_fields().items()}
    for area in areas(language):
        texts |= _read(area)
    return texts


@functools.cache
def of_fields() -> dict[str, dict[str, Any]]:
    """The fields of vehicles and sensors: by language what each is called, its unit, what else files call it."""
    return _read(Path(__file__).with_name("fields.toml"))


@functools.cache
def of_settings(language: Language) -> dict[str, str]:
    """What settings mean, by their names; empty in English, for the settings themselves say it."""
    path = Path(__file__).with_name(f"settings.{language}.toml")
    return {} if language is Language.ENGLISH else _read(path)


def areas(language: Language) -> list[Path]:
    """The files of the portal's texts in the language, one an area."""
    return sorted(_AREAS.glob(f"*.{language}.toml"))


def key(refusal: Refusal) -> str:
    """The key of the refusal's sentence."""
    return f"{refusal.code}/{refusal.case}" if refusal.case else refusal.code


def sentence(refusal: Refusal, language: Language = DEFAULT, *, label: str | None = None) -> str:
    """What to tell the caller; `label` names the field at fault as a form of the portal calls it, if it is of one. The
    portal has words of its own where those of REST are published ones."""
    known = of(language)
    values = {name: _written(known, value) for name, value in refusal.values.items()}
    if refusal.field is not None:
        values["parameter"] = label or known["texts"]["parameter"].format(name=refusal.field)
    name = key(refusal)
    own = None if label is None else of_portal(language).get(_OWN_WORDS + name)
    return (own or known["refusals"][name]).format_map(values)


def text(name: str, language: Language, /, **values: Value) -> str:
    """A text that is no refusal."""
    return _filled(name, language, values) if values else _plain(name, language)


@functools.cache
def _plain(name: str, language: Language) -> str:
    """A text in which nothing is filled in: a page has hundreds."""
    return _filled(name, language, {})


def _filled(name: str, language: Language, values: Mapping[str, Value]) -> str:
    known = of(language)
    texts = of_portal(language) if name.startswith(PORTAL) else known["texts"]
    pattern = texts.get(name) or texts[f"{name}.{_form(language, values.get(COUNT))}"]
    return pattern.format_map({each: _written(known, value) for each, value in values.items()})


def _form(language: Language, count: Value | None) -> str:
    forms = FORMS[language]
    return forms[0] if count == 1 else forms[-1]


def _read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text("utf-8"))


def _written(known: Catalogue, value: Value) -> str | int | float:
    if isinstance(value, tuple):
        return known["texts"]["or"].join(str(_written(known, each)) for each in value)
    return known["words"][value] if isinstance(value, Word) else value
