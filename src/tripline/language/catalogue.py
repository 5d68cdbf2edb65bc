"""Sentences by language: one TOML file a language beside this module, read when its first text is needed.

`[refusals]` has a sentence for each code and case of a refusal (`code/case`), `[words]` the name of each `Word`,
`[texts]` all other texts for people. The portal's texts are in `portal/`, one flat file an area and language
(`vehicles.ko.toml`); their keys begin with `portal.` and the area. The names of the fields of vehicles and sensors in
forms and files are in `fields.toml`, both languages side by side.

Placeholders follow `str.format`. A text with a number `n` may have a form for one and another for the rest:
`portal.x.found.one` and `portal.x.found.other` are requested as `portal.x.found`. Tests compare keys and placeholders
of the languages, and the refusals of the program with `[refusals]`. Settings have their English descriptions in the
code; other languages have a file of their own (`settings.ko.toml`), with a text for each name.

Not here: choosing the language of a request (`asked.py`).
"""

import functools
import tomllib
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, TypeAlias

from tripline.domain.refusals import Refusal, Value, Word


class Language(StrEnum):
    """Languages of the program, by their BCP 47 tags."""

    ENGLISH = "en"
    KOREAN = "ko"


DEFAULT: Final = Language.ENGLISH
PORTAL: Final = "portal."
"""Prefix of the keys of the portal's texts."""
FIELD: Final = "portal.field."
"""Prefix of the keys of field names."""
_OWN_WORDS: Final = "portal.refusal."
COUNT: Final = "n"
"""The value that selects among the forms of a text."""
FORMS: Final = {Language.ENGLISH: ("one", "other"), Language.KOREAN: ("other",)}
"""The forms of a text by its number, as in the plural rules of CLDR: the first for one, the last for all others."""
_AREAS: Final = Path(__file__).with_name("portal")

Catalogue: TypeAlias = dict[str, dict[str, str]]
"""Every text of one language: by section, by key."""


@functools.cache
def of(language: Language) -> Catalogue:
    """The language's texts, without the portal's."""
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
    """The fields of vehicles and sensors: name by language, unit, and further names in files."""
    return _read(Path(__file__).with_name("fields.toml"))


@functools.cache
def of_settings(language: Language) -> dict[str, str]:
    """Descriptions of settings by name; empty in English, where the settings have their own."""
    path = Path(__file__).with_name(f"settings.{language}.toml")
    return {} if language is Language.ENGLISH else _read(path)


def areas(language: Language) -> list[Path]:
    """The files of the portal's texts in the language, one an area."""
    return sorted(_AREAS.glob(f"*.{language}.toml"))


def key(refusal: Refusal) -> str:
    """The key of the refusal's sentence."""
    return f"{refusal.code}/{refusal.case}" if refusal.case else refusal.code


def sentence(refusal: Refusal, language: Language = DEFAULT, *, label: str | None = None) -> str:
    """The refusal's sentence; `label` is the portal form's name of the field at fault, if the refusal names one. The
    portal has texts of its own where REST must use published ones."""
    known = of(language)
    values = {name: _written(known, value) for name, value in refusal.values.items()}
    if refusal.field is not None:
        values["parameter"] = label or known["texts"]["parameter"].format(name=refusal.field)
    name = key(refusal)
    own = None if label is None else of_portal(language).get(_OWN_WORDS + name)
    return (own or known["refusals"][name]).format_map(values)


def text(name: str, language: Language, /, **values: Value) -> str:
    """A text other than a refusal."""
    return _filled(name, language, values) if values else _plain(name, language)


@functools.cache
def _plain(name: str, language: Language) -> str:
    """A text without values: a page has hundreds."""
    return _filled(name, language, {})


def _filled(name: str, language: Language, values: Mapping[str, Value]) -> str:
    known = of(language)
    texts = of_portal(language) if name.startswith(PORTAL) else known["texts"]
    form = FORMS[language][0 if values.get(COUNT) == 1 else -1]
    pattern = texts.get(name) or texts[f"{name}.{form}"]
    return pattern.format_map({each: _written(known, value) for each, value in values.items()})


def _read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text("utf-8"))


def _written(known: Catalogue, value: Value) -> str | int | float:
    if isinstance(value, tuple):
        return known["texts"]["or"].join(str(_written(known, each)) for each in value)
    return known["words"][value] if isinstance(value, Word) else value
