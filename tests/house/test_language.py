"""The catalogue is whole: each refusal of the program has a sentence in every language, with values that it carries."""

import ast
import importlib
import re
import string
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
from tests.support import loops, reference

from tripline.config import files as config_files
from tripline.domain.refusals import Refusal, Word
from tripline.language import catalogue, kept
from tripline.language.catalogue import Catalogue, Language
from tripline.portal.lists import nouns
from tripline.wire.csv_registrations import SENSORS, VEHICLES

ENGLISH, KOREAN = catalogue.of(Language.ENGLISH), catalogue.of(Language.KOREAN)
SECTIONS = ("refusals", "words", "texts")
AREAS = sorted({path.name.partition(".")[0] for language in Language for path in catalogue.areas(language)})
FOLDER = Path(catalogue.__file__).with_name("portal")
AFTER_S = "after_s"
"""A value of a refusal for a header, not for its sentence."""
PARTICLE = re.compile(r"[}'](?:은|는|이|가|을|를|과|와|로|으로|이나|나)(?=[\s.,]|$)|\((?:은|는|이|가|을|를|과|와|으)\)")
"""It depends on the last letter of a value that nobody knows here."""
POLITE = re.compile(r"(?:니다|시오)\b")
CURT = re.compile(r"(?<!주)십시오")
"""A refusal asks; only the pages tell what to do."""


@dataclass(frozen=True)
class Made:
    """A place where the program makes a refusal: the key of its sentence, and the values that come with it."""

    where: str
    key: str
    values: frozenset[str]


def texts_of(language: Language, area: str) -> dict[str, str]:
    """The texts of one area of the portal."""
    return tomllib.loads((FOLDER / f"{area}.{language}.toml").read_text("utf-8"))


def told(texts: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """The placeholders of each text, by the name that the program uses: of all its forms, the number left out."""
    found: dict[str, frozenset[str]] = {}
    for key, text in texts.items():
        name, _, form = key.rpartition(".")
        known = name if form in ("one", "other") and f"{name}.other" in texts else key
        held = placeholders(text) - ({catalogue.COUNT} if known == name else frozenset())
        found[known] = found.get(known, frozenset()) | held
    return found


def all_told() -> Iterator[tuple[str, frozenset[str]]]:
    """Every text of the portal by the name that the program uses."""
    for area in AREAS:
        yield from told(texts_of(Language.ENGLISH, area)).items()
    for field in catalogue.of_fields():
        yield catalogue.FIELD + field, frozenset()


def naming() -> list[Path]:
    """The files that name texts of the portal."""
    return [path for path in reference.source_root().rglob("*") if path.suffix in {".py", ".html", ".js"}]


def placeholders(text: str) -> frozenset[str]:
    return frozenset(name for _, name, _, _ in string.Formatter().parse(text) if name is not None)


def dotted(node: ast.expr) -> list[str]:
    """The parts of a dotted name; none of any other expression."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.insert(0, node.attr)
        node = node.value
    return [node.id, *parts] if isinstance(node, ast.Name) else []


def made_in(source: str, module: ModuleType) -> Iterator[Made]:
    """The refusals that a module's source makes. Raises `AssertionError` for one whose case or values are not plain."""
    if not _making().search(source):
        return
    for node in ast.walk(reference.parsed(source)):
        if not isinstance(node, ast.Call) or not (named := dotted(node.func)):
            continue
        found = vars(module).get(named[0])
        for attribute in named[1:]:
            found = getattr(found, attribute, None)
        if not _is_refusal(found):
            continue
        where = f"{module.__name__}:{node.lineno}"
        assert all(isinstance(each, ast.Constant) for each in node.args), f"{where}: the case is no plain text"
        case = "".join(str(each.value) for each in node.args if isinstance(each, ast.Constant))
        values = {each.arg for each in node.keywords}
        assert None not in values, f"{where}: values without names"
        named_values = frozenset(str(each) for each in values - {"field", AFTER_S})
        key = f"{found.code}/{case}" if case else found.code
        yield Made(where, key, named_values | ({"parameter"} if "field" in values else frozenset()))


@cache
def _making() -> re.Pattern[str]:
    """A call of whatever some module names a refusal: a fifth of them has one and is parsed."""
    reference.refusal_classes()
    modules = [module for name, module in sys.modules.items() if name.partition(".")[0] == "tripline"]
    named = {name for module in modules for name, value in vars(module).items() if _is_refusal(value)}
    return re.compile(rf"\b(?:{'|'.join(sorted(named))})\(")


def _is_refusal(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Refusal)


@cache
def made() -> tuple[Made, ...]:
    """Every place of the program that makes a refusal."""
    reference.refusal_classes()
    root = reference.source_root()
    found: list[Made] = []
    for path in sorted(root.rglob("*.py")):
        name = ".".join(("tripline", *path.relative_to(root).with_suffix("").parts)).removesuffix(".__init__")
        if "__main__" not in name and "migrations" not in name:
            found += made_in(path.read_text("utf-8"), importlib.import_module(name))
    return tuple(found)


@loops.every(SECTIONS)
def test_languages_have_the_same_texts_with_the_same_placeholders(section: str) -> None:
    english, korean = (told(each[section]) for each in (ENGLISH, KOREAN))

    assert english == korean


@loops.every(AREAS)
def test_portal_has_the_same_texts_with_the_same_placeholders_in_each_language(area: str) -> None:
    english, korean = (told(texts_of(language, area)) for language in Language)

    assert english == korean


def test_every_field_of_vehicles_and_sensors_is_called_something_in_each_language() -> None:
    told_of = [field for field, names in catalogue.of_fields().items() if not set(Language) <= set(names)]

    assert told_of == []
    assert list(catalogue.of_fields()) == list(dict.fromkeys((*VEHICLES.columns, *SENSORS.columns)))


@loops.every(AREAS)
def test_texts_of_a_portals_area_begin_with_its_name(area: str) -> None:
    for language in Language:
        strays = [key for key in texts_of(language, area) if not key.startswith(f"{catalogue.PORTAL}{area}.")]
        assert strays == []


def test_text_with_forms_for_one_and_the_rest_has_those_of_its_language_and_no_plain_one() -> None:
    for language in Language:
        texts = catalogue.of_portal(language)
        found: dict[str, set[str]] = {}
        for key in texts:
            name, _, form = key.rpartition(".")
            if form in ("one", "other") and (form == "other" or f"{name}.other" in texts):
                found.setdefault(name, set()).add(form)
        assert {name: forms for name, forms in found.items() if forms != set(catalogue.FORMS[language])} == {}
        assert [name for name in found if name in texts] == []


def test_korean_of_the_portal_is_korean_and_its_english_is_not() -> None:
    english, korean = (catalogue.of_portal(language) for language in Language)

    assert [key for key, text in english.items() if re.search("[가-힣]", text) and "한국어" not in text] == []
    assert [key for key, text in korean.items() if PARTICLE.search(text)] == []


def korean_texts() -> dict[str, str]:
    """Everything that the program says in Korean, by its key."""
    fields = {f"{name}.field": str(field["ko"]) for name, field in catalogue.of_fields().items()}
    found = catalogue.of_portal(Language.KOREAN) | catalogue.of_settings(Language.KOREAN) | fields
    return found | {f"{section}:{key}": text for section in SECTIONS for key, text in KOREAN[section].items()}


def other_names() -> list[str]:
    """Words for which the glossary has another in Korean."""
    _, _, table = (reference.ROOT / "docs" / "glossary.md").read_text("utf-8").partition("## Korean words")
    return [
        word for cell in re.findall(r"^\| .* \| (.*[가-힣].*) \|$", table, re.MULTILINE) for word in cell.split(", ")
    ]


def test_korean_calls_a_thing_by_one_name() -> None:
    others = other_names()

    assert {"내려받", "저절로"} <= set(others)
    assert {key: word for key, text in korean_texts().items() for word in others if word in text} == {}


def test_every_text_of_the_portal_is_named_by_the_program() -> None:
    program = "\n".join(path.read_text("utf-8") for path in naming())
    beginnings = tuple(found[1] for found in re.finditer(r"\"(portal\.[\w.]+\.)[\"{]", program))
    named = set(re.findall(r"\"([\w./-]+)(?=\")", program))

    assert [key for key in sorted({key for key, _ in all_told()} - named) if not key.startswith(beginnings)] == []


def test_every_text_that_the_portal_names_is_there() -> None:
    keys = {key for key, _ in all_told()}
    program = "\n".join(path.read_text("utf-8") for path in naming())
    named = {found[1] for found in re.finditer(r"\"(portal\.[\w.]*\w)\"", program)}

    assert sorted(named - keys) == []


@loops.every([ENGLISH, KOREAN])
def test_every_refusal_of_the_program_has_its_sentence(language: Catalogue) -> None:
    assert [each for each in made() if each.key not in language["refusals"]] == []
    for refusal in reference.refusal_classes():
        assert any(key.partition("/")[0] == refusal.code for key in language["refusals"]), refusal


def test_every_sentence_belongs_to_a_refusal_of_the_program() -> None:
    codes = {refusal.code for refusal in reference.refusal_classes()}
    keys = {each.key for each in made()} | codes

    assert set(ENGLISH["refusals"]) - keys == set()


def test_sentence_holds_the_values_of_its_refusal_and_no_others() -> None:
    wrong = [each for each in made() if placeholders(ENGLISH["refusals"][each.key]) != each.values]

    assert wrong == []


def test_words_are_those_of_the_programs_vocabularies() -> None:
    reference.refusal_classes()
    vocabularies = [each for each in Word.__subclasses__() if issubclass(each, Enum)]
    words = {str.__str__(word) for vocabulary in vocabularies for word in vocabulary}

    assert set(ENGLISH["words"]) == words


def test_every_setting_says_in_every_language_what_it_means() -> None:
    names = [setting.name for setting in config_files.settings()]

    assert list(catalogue.of_settings(Language.KOREAN)) == names
    assert catalogue.of_settings(Language.ENGLISH) == {}


def test_every_other_text_is_named_by_the_program() -> None:
    root = reference.source_root()
    sources = [path.read_text("utf-8") for path in root.rglob("*") if path.suffix in {".py", ".html"}]

    names = told(ENGLISH["texts"])
    named = {name for name in names if any(f'"{name}"' in source for source in sources)}
    assert [name for name in names if name not in named and not name.startswith(kept.KEYS)] == []


def test_korean_needs_no_particle_behind_a_value_and_is_polite() -> None:
    sentences = KOREAN["refusals"]

    both = sentences | KOREAN["texts"]
    assert {key: text for key, text in both.items() if PARTICLE.search(text)} == {}
    assert {key: text for key, text in sentences.items() if text != "{text}" and not re.search("[가-힣]", text)} == {}
    ends = {key: text for key, text in sentences.items() if text != "{text}" and not POLITE.search(text)}
    assert ends == {}
    assert {key: text for key, text in sentences.items() if CURT.search(text)} == {}


def test_english_has_no_korean() -> None:
    texts = [text for section in SECTIONS for text in ENGLISH[section].values()]

    assert [text for text in texts if re.search("[가-힣]", text)] == []


def test_refusal_with_a_case_that_is_no_plain_text_is_found() -> None:
    module = importlib.import_module("tripline.domain.access")

    with pytest.raises(AssertionError, match="no plain text"):
        list(made_in("NotFound(thing, thing=thing)", module))
    with pytest.raises(AssertionError, match="values without names"):
        list(made_in("NotFound('id', **given)", module))
    assert list(made_in("NotFound('id', thing=x, field=y)", module)) == [
        Made("tripline.domain.access:1", "object.unknown/id", frozenset({"thing", "parameter"}))
    ]


def test_every_list_of_the_portal_has_its_texts():
    known, missing = texts_of(Language.ENGLISH, "lists"), []
    for noun, table in nouns.TABLES.items():
        named = ("title", "search", "count.other") if table.searched else ("title", "count.other")
        needed = [f"portal.lists.{noun}.{name}" for name in named]
        needed += [
            f"portal.lists.column.{each.key}"
            for each in table.columns
            if f"portal.lists.{noun}.{each.key}" not in known
        ]
        needed += [f"portal.lists.filter.{each.key}.{value}" for each in table.filters for value in each.values]
        missing += [name for name in needed if name not in known]

    assert missing == []
