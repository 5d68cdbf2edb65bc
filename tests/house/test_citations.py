"""Every citation of the specification leads somewhere: `spec/rpc 6.3`, `(K4)`, and links into `docs/spec`.

`docs/spec/README.md` says how the pages are cited. A section or rule letter is an anchor of its page. A rule letter
without a page is looked up on every page; when several have it, the file has to name the one it means.
"""

import re
from functools import cache
from pathlib import Path

from tests.support import loops, reference

SPEC = reference.ROOT / "docs" / "spec"
PAGES = sorted(path.stem for path in SPEC.glob("*.md") if path.stem != "README")
REF = r"(?:[A-Z]\d{1,2}|\d{1,2}(?:\.\d{1,2})?)"
CITED = re.compile(
    rf"\bspec/(?P<page>[a-z-]+)(?P<refs>\s{REF}\b(?:(?:,| and| to|, and|-)\s?(?:sections? |rules? )?{REF}\b)*)?"
)
TITLED = re.compile(r"\bspec/interface(?:,|:| \()\s*(?P<title>[A-Z][^(),;:.\d]*)")
BARE = re.compile(
    rf"(?<![\w/.\"'`#=-])(?P<letter>[{''.join('KVTPIOEADMCNQBRGHXL')}]\d{{1,2}})(?![\w\"'`.(-]*[\w\"'`(])"
)
PROSE = re.compile(r'"""[\s\S]*?"""|#[^\n]*|"[^"\n]*spec/[^"\n]*"')
"""Docstrings, comments, and texts that cite."""
LINK = re.compile(r"\]\((?P<target>[^)\s]*spec/[^)\s]*|[a-z-]+\.md#[^)\s]*)\)")
SOURCES = [path for path in reference.own_modules("src", "tests", "bench") if path != Path(__file__)]
TEXTS = [
    *sorted((reference.ROOT / "docs").rglob("*.md")),
    *(reference.ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CHANGELOG.md", "bench/README.md")),
]


@cache
def anchors(page: str) -> frozenset[str]:
    """The sections and rule letters of a page, as its anchors."""
    return frozenset(re.findall(r'<a id="([^"]+)"></a>', (SPEC / f"{page}.md").read_text("utf-8")))


@cache
def prose(path: Path) -> str:
    """What a file says to its reader: all of a page, the comments and docstrings of a module."""
    text = path.read_text("utf-8")
    return text if path.suffix == ".md" else "\n".join(PROSE.findall(text))


def dangling(text: str) -> list[str]:
    """The citations in this text that lead nowhere."""
    wrong = []
    for cited in CITED.finditer(text):
        page = cited["page"]
        if page not in PAGES:
            wrong.append(cited[0])
        elif cited["refs"]:
            wrong += [
                f"spec/{page} {ref}" for ref in re.findall(REF, cited["refs"]) if ref.lower() not in anchors(page)
            ]
    interface = (SPEC / "interface.md").read_text("utf-8").lower()
    return wrong + [
        titled[0]
        for titled in TITLED.finditer(text)
        if re.sub(r"\s+", " ", titled["title"]).strip().lower() not in interface
    ]


def unresolved(text: str) -> list[str]:
    """The rule letters in this text that no page has, or that several have while the text names none of them."""
    named = {cited["page"] for cited in CITED.finditer(text)}
    wrong = []
    for letter in {bare["letter"] for bare in BARE.finditer(CITED.sub("", text))}:
        having = {page for page in PAGES if letter.lower() in anchors(page)}
        if not having or (len(having) > 1 and not having & named):
            wrong.append(letter)
    return sorted(wrong)


def test_every_page_of_the_specification_is_listed() -> None:
    listed = set(re.findall(r"\]\(([a-z-]+)\.md\)", (SPEC / "README.md").read_text("utf-8")))

    assert listed == set(PAGES)


@loops.every(PAGES)
def test_no_anchor_stands_twice_on_a_page(page: str) -> None:
    found = re.findall(r'<a id="([^"]+)"></a>', (SPEC / f"{page}.md").read_text("utf-8"))

    assert sorted(found) == sorted(set(found))


def test_every_citation_resolves() -> None:
    wrong = {str(path.relative_to(reference.ROOT)): dangling(prose(path)) for path in (*SOURCES, *TEXTS)}

    assert {path: found for path, found in wrong.items() if found} == {}


def test_every_rule_letter_in_the_code_resolves() -> None:
    wrong = {str(path.relative_to(reference.ROOT)): unresolved(prose(path)) for path in SOURCES}

    assert {path: found for path, found in wrong.items() if found} == {}


def test_every_link_into_the_specification_leads_to_an_anchor() -> None:
    wrong = []
    for path in (*TEXTS, *SPEC.glob("*.md")):
        for link in LINK.finditer(path.read_text("utf-8")):
            target, _, anchor = link["target"].partition("#")
            page = (path.parent / target).resolve()
            if page.parent != SPEC:
                continue
            if not page.is_file() or (anchor and anchor not in anchors(page.stem)):
                wrong.append(f"{path.relative_to(reference.ROOT)}: {link['target']}")

    assert wrong == []


@loops.every(
    ["(spec/rpc 99)", "spec/rpc 6.2 and 6.9", "spec/nowhere 1", "spec/push M9", "spec/interface, Nothing at all"]
)
def test_citation_that_leads_nowhere_is_found(text: str) -> None:
    assert dangling(text) != []


@loops.every(["(K99)", "what A1 says", "(M2) and nothing else"])
def test_rule_letter_that_is_unknown_or_of_two_pages_is_found(text: str) -> None:
    assert unresolved(text) != []


def test_rule_letter_of_two_pages_is_resolved_by_the_page_that_the_file_names() -> None:
    assert unresolved("Follows spec/rpc 5. An ack that is text (A2).") == []
