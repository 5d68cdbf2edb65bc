"""The Jinja environment of the pages with its filters and globals, created for the first rendered page.

Everything is escaped, and a missing value is an error. `components.html` and the other files of macros are imported
without a context, so Jinja compiles and runs them once for all pages; the globals that they call read the current page
(`Page`).
"""

import functools
import re
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from tripline.language import catalogue
from tripline.language.catalogue import Language
from tripline.later import Later
from tripline.portal.frame import figures
from tripline.portal.frame.figures import Figures
from tripline.portal.frame.static import STATIC, grounds, modules

if TYPE_CHECKING:
    import jinja2
    import markupsafe
else:
    jinja2, markupsafe = Later("jinja2"), Later("markupsafe")

TEMPLATES: Final = Path(__file__).parent.parent / "templates"
_COMPONENTS: Final = "components.html"
_FILTERS: Final = ("number", "km", "speed", "bytes", "date", "time", "exact", "minute", "lasting", "zone")


class FormError(msgspec.Struct, frozen=True):
    """The reasons why a form was refused."""

    sentence: str
    code: str
    fields: Mapping[str, str]
    """A sentence for each invalid field; empty for a refusal of the whole form."""


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """Values of one page that filters and globals read."""

    language: Language
    figures: Figures
    now_ms: int
    csrf: str
    error: FormError | None


_page: ContextVar[Page] = ContextVar("page")


def render(template: str, page: Page, values: Mapping[str, Any]) -> str:
    """Render a template as a page, or as the block named by `part` in `values`."""
    made = environment().get_template(template)
    token = _page.set(page)
    try:
        return made.render(values)
    finally:
        _page.reset(token)


@functools.cache
def environment() -> "jinja2.Environment":
    """The environment, with its compiled templates."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        cache_size=-1,
    )
    made.filters |= {name: _of_reader(name) for name in _FILTERS}
    made.filters |= {
        "ago": _ago,
        "iso": figures.iso,
        "with_code": _with_code,
        "with_breaks": _with_breaks,
        "as_on": as_on,
    }
    made.globals |= {
        "say": _say,
        "static": STATIC.address,
        "modules": modules,
        "grounds": grounds(),
        "icon_of": _icon,
        "csrf_token": lambda: _page.get().csrf,
        "form_error": lambda: _page.get().error,
        "field_error": _field_error,
    }
    made.globals["ui"] = ui = made.get_template(_COMPONENTS).module
    # Cached, as icons are: a list has a hundred badges of a few states.
    made.globals["badge_of"] = functools.cache(ui.badge)  # type: ignore[attr-defined]
    return made


def load(*templates: str) -> None:
    """Compile the parts of all pages, and these templates. For any thread."""
    made = environment()
    for template in templates:
        made.get_template(template)


def as_on(troubles: Mapping[str, str], body: str) -> list[tuple[str, str]]:
    """The sentences about fields, in the order of the fields in the form; sentences about other values come last."""

    def place(trouble: tuple[str, str]) -> int:
        at = body.find(f'id="f-{trouble[0]}"')
        return len(body) if at < 0 else at

    return sorted(troubles.items(), key=place)


def _of_reader(name: str) -> Callable[..., str]:
    def written(*values: Any) -> str:
        text: str = getattr(_page.get().figures, name)(*values)
        return text

    return written


def _say(name: str, /, **values: Any) -> str:
    return catalogue.text(name, _page.get().language, **values)


def _field_error(name: str) -> str | None:
    error = _page.get().error
    return None if error is None else error.fields.get(name)


@functools.cache
def _icon(name: str) -> str:
    """An icon beside words, cached: a list has forty, and a macro call for each would be slow."""
    address = STATIC.address("icons.svg")
    return markupsafe.Markup(f'<svg class="icon" aria-hidden="true"><use href="{address}#{name}"></use></svg>')


def _with_code(text: str) -> str:
    """The text, with the parts between backticks as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return text
    code = markupsafe.Markup("<code>{}</code>")
    return markupsafe.Markup("").join(code.format(part) if at % 2 else part for at, part in enumerate(parts))


def _with_breaks(text: str) -> str:
    """The text with an optional line break after each slash, colon, comma, underscore, at sign, and full stop outside a
    number.
    """
    parts = re.split(r"(?<=[./:,_@])(?<!\d\.(?=\d))(?=[^./:,_@])", text)
    return markupsafe.Markup("<wbr>").join(parts)


def _ago(at_ms: int | None) -> str:
    """The time since or until an instant, with the instant itself for pointers and screen readers; a script refreshes
    the time since a past instant.
    """
    if at_ms is None:
        return figures.NOTHING
    page, escape = _page.get(), markupsafe.escape
    span, exact = escape(page.figures.ago(at_ms, page.now_ms)), escape(page.figures.exact(at_ms))
    # A script must not turn a future instant into a past one on an old page.
    renewed = " data-ago" if at_ms <= page.now_ms else ""
    return markupsafe.Markup(
        f'<time class="ago" datetime="{figures.iso(at_ms)}" data-exact="{exact}" tabindex="0">'
        f'<span{renewed}>{span}</span><span class="hidden-text">, {exact}</span></time>'
    )
