"""The portal's templates and files: tokens only, nothing inline, every icon there, everything of others listed."""

import json
import re
from pathlib import Path

from tests.support import loops, portal_gallery, reference

PORTAL = portal_gallery.PORTAL
TEMPLATES = sorted((PORTAL / "templates").rglob("*.html"))
SCRIPTS = sorted(path for path in (PORTAL / "static").rglob("*.js") if not path.name.endswith(".min.js"))
STYLES = sorted((PORTAL / "static").rglob("*.css"))
COLOUR = re.compile(
    r"#[0-9a-fA-F]{3,8}\b(?!;)|\b(?:rgba?|hsla?|oklch|lab|lch)\(|:\s*(?:white|black|red|green|blue|gr[ae]y)\b"
)
INLINE = {
    "a style": re.compile(r"\sstyle\s*=|<style\b", re.IGNORECASE),
    "a handler": re.compile(r"[\s\"']on[a-z]+\s*=|hx-on\b|hx-on:", re.IGNORECASE),
    "a script": re.compile(r"<script(?![^>]*\ssrc=)|javascript:|hx-vals=[\"']js:", re.IGNORECASE),
    "an address elsewhere": re.compile(r"(?:href|src|action)=[\"'](?:https?:)?//", re.IGNORECASE),
    "text that is not escaped": re.compile(r"\|\s*safe\b|autoescape false"),
}
ICON = re.compile(
    r"icons\.svg\"\) }}#([a-z0-9-]+)\"|ui\.icon\(\"([a-z0-9-]+)\"|\bicon=\"([a-z0-9-]+)\"|_icon\(\"([a-z0-9-]+)\"\)"
)


def named(path: Path) -> str:
    return str(path.relative_to(PORTAL))


def icons_of(text: str) -> set[str]:
    return {name for groups in ICON.findall(text) for name in groups if name}


def sprite() -> set[str]:
    return set(re.findall(r'<symbol id="([^"]+)"', (PORTAL / "static/icons.svg").read_text("utf-8")))


@loops.every(INLINE)
def test_templates_hold_nothing_that_the_policy_forbids(what: str) -> None:
    found = {named(path): INLINE[what].findall(path.read_text("utf-8")) for path in TEMPLATES}

    assert {name: each for name, each in found.items() if each} == {}


def test_what_a_page_asks_by_itself_says_so() -> None:
    """Again and again, that is: what comes with its page is as good as the page."""
    again = re.compile(r"hx-trigger=\"(?:every|load delay)")
    # An element may hold tags of the template, in which `>` stands for nothing.
    elements = [
        (named(path), each)
        for path in TEMPLATES
        for each in re.split(r"<(?=[a-z])", path.read_text("utf-8"))
        if again.search(each)
    ]

    assert len(elements) >= 4
    assert [(name, each) for name, each in elements if " data-polls " not in each] == []


def test_templates_and_scripts_have_no_colour_of_their_own() -> None:
    found = {named(path): COLOUR.findall(path.read_text("utf-8")) for path in [*TEMPLATES, *SCRIPTS]}

    assert {name: each for name, each in found.items() if each} == {}


@loops.every(STYLES)
def test_styles_name_colours_among_the_tokens_alone(path: Path) -> None:
    _, _, after = path.read_text("utf-8").rpartition("/* ---- Elements ---- */")

    assert COLOUR.findall(after) == []


@loops.every(STYLES)
def test_every_token_that_is_used_exists(path: Path) -> None:
    tokens = set(re.findall(r"(--[a-z0-9-]+):", (PORTAL / "static/style.css").read_text("utf-8")))

    assert set(re.findall(r"var\((--[a-z0-9-]+)", path.read_text("utf-8"))) - tokens == set()


def test_every_icon_that_is_used_exists() -> None:
    modules = [*PORTAL.rglob("*.py"), *TEMPLATES]
    used = {name for path in modules for name in icons_of(path.read_text("utf-8"))}

    assert used - sprite() == set()


def test_scripts_reach_for_nothing_that_the_policy_forbids() -> None:
    forbidden = re.compile(
        r"\beval\(|new Function\(|innerHTML|insertAdjacentHTML|document\.write|setAttribute\(\"style\""
    )

    assert {named(path): found for path in SCRIPTS if (found := forbidden.findall(path.read_text("utf-8")))} == {}


def test_everything_of_others_is_listed_with_its_licence() -> None:
    listed = (PORTAL / "THIRD-PARTY.md").read_text("utf-8")
    rows = re.findall(r"^\| .+? \(`(.+?)`\) \| (.+?) \| `(.+?)`.* \[(licences/.+?)\]", listed, re.MULTILINE)
    package = json.loads((reference.ROOT / "tests/support/portal/package.json").read_text("utf-8"))

    assert {name: version for name, version, _, _ in rows}.items() <= package["dependencies"].items()
    assert {file for _, _, file, _ in rows} == {
        "static/htmx.min.js",
        "static/icons.svg",
        "static/maplibre/maplibre-gl.mjs",
        "static/uplot/uplot.mjs",
    }
    assert sorted(licence for *_, licence in rows) == sorted(named(path) for path in (PORTAL / "licences").iterdir())
    assert [path for *_, path in rows if len((PORTAL / path).read_text("utf-8")) < 300] == []


@loops.every(
    [
        ("lucide-static", "icons.svg", "Lucide {}"),
        ("maplibre-gl", "maplibre/maplibre-gl.mjs", "maplibre-gl-js/blob/v{}/LICENSE.txt"),
        ("maplibre-gl", "maplibre/maplibre-gl-worker.mjs", "maplibre-gl-js/blob/v{}/LICENSE.txt"),
        ("uplot", "uplot/uplot.mjs", "(v{})"),
    ]
)
def test_file_of_others_names_the_listed_version(name: str, file: str, head: str) -> None:
    package = json.loads((reference.ROOT / "tests/support/portal/package.json").read_text("utf-8"))

    assert head.format(package["dependencies"][name]) in (PORTAL / "static" / file).read_text("utf-8")


@loops.every(
    ['<p style="x">', '<a onclick="x">', "<b hx-on:click=x>", "<script>", '<a href="//x">', "{{ x|safe }}", "<style>"]
)
def test_what_the_policy_forbids_is_found(bad: str) -> None:
    assert [what for what, pattern in INLINE.items() if pattern.search(bad)] != []
