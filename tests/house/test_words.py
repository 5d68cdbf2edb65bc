"""Plain words: module headers open with their subject; no text has a phrase that readers stumble over."""

import re
from pathlib import Path

from tests.support import loops, reference

MODULES = reference.own_modules("src", "bench", "tests")
TEXTS = [*MODULES, *sorted((reference.ROOT / "docs").glob("*.md")), reference.ROOT / "README.md"]
QUESTIONS = re.compile(r"(?:To )?(?:What|Who|Whom|Whose|Which|Where|When|Why|How|Whether)\b", re.IGNORECASE)
FORBIDDEN = re.compile(
    "|".join(
        (
            r"\bFor who\b",
            r"\bLet nobody\b",
            r"\b[Ii]t is (?:looked|waited|asked)\b",
            r"\b(?:is|are|was|were) waited for\b",
            r"\bwhat is to be told\b",
            r"\bthose of (?:them|whom) (?:of|that)\b",
            r"\bfor who (?:may|does|did|wants|asks|asked|waits|manages)\b",
            r"\bwhose caller was let pass\b",
        )
    )
)
"""Each has a plain form: `For the operator on call`, `We check`, `The deadline`, `the hints for after the commit`."""


def header(source: str) -> str:
    """The first line of a module's docstring; empty when it has none."""
    return reference.docstring(source).partition("\n")[0]


def stumbles(text: str) -> list[str]:
    """The forbidden phrases in a text."""
    return [found[0] for found in FORBIDDEN.finditer(text)]


def test_every_module_header_opens_with_its_subject() -> None:
    opened = {str(path.relative_to(reference.ROOT)): header(path.read_text("utf-8")) for path in MODULES}

    assert {path: line for path, line in opened.items() if QUESTIONS.match(line)} == {}


def test_no_text_has_a_phrase_that_readers_stumble_over() -> None:
    found = {
        str(path.relative_to(reference.ROOT)): stumbles(path.read_text("utf-8"))
        for path in TEXTS
        if path != Path(__file__)
    }

    assert {path: phrases for path, phrases in found.items() if phrases} == {}


@loops.every(["What a field may hold.", "To whom a company may delegate.", "whether it works"])
def test_header_that_opens_with_a_question_is_found(line: str) -> None:
    assert QUESTIONS.match(line)


@loops.every(
    ["For who reads this.", "how often it is looked", "an answer is waited for", "the sensor, for who may read it"]
)
def test_phrase_that_readers_stumble_over_is_found(text: str) -> None:
    assert stumbles(text) != []
