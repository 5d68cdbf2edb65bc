"""The Jinja environment of the pages: one, made when the first page is shown, with the filters that templates use.

Everything is escaped, and a value that nobody gave is an error. Not here: what templates are given (`views.py`).
"""

import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tripline.later import Later
from tripline.portal import figures

if TYPE_CHECKING:
    import jinja2
    import markupsafe
else:
    jinja2, markupsafe = Later("jinja2"), Later("markupsafe")

TEMPLATES: Final = Path(__file__).with_name("templates")
FIGURES: Final = "figures"
"""Name under which every template has the figures of its reader."""
NOW_MS: Final = "now_ms"
_FRAMES: Final = ("_loop_vars", "_block_vars")
"""What templates pass with a call, for callables that ask for the context."""
_MARKS: Final = re.compile("[&<>\"']")
"""What is written otherwise in a page."""
_FILTERS: Final = ("number", "km", "speed", "bytes", "date", "time", "exact")


@functools.cache
def environment() -> "jinja2.Environment":
    """The environment; what it compiles it keeps."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
        cache_size=-1,
    )
    made.context_class = _context_class()
    made.template_class = _template_class()
    made.filters |= {name: _of_reader(name) for name in _FILTERS}
    made.filters |= {"ago": _ago(), "iso": figures.iso, "with_code": _with_code}
    return made


def _context_class() -> "type[jinja2.runtime.Context]":
    """Contexts that call at once what templates call. Jinja's own ask first whether it wants the context: nothing of
    ours does, and a list calls hundreds of times."""

    class Context(jinja2.runtime.Context):
        def call(self, called: Callable[..., Any], /, *values: Any, **named: Any) -> Any:
            for frame in _FRAMES:
                named.pop(frame, None)
            return called(*values, **named)

    return Context


def _template_class() -> "type[jinja2.Template]":
    """Templates that escape by `_escaper`."""
    escaped = _escaper()

    class Template(jinja2.Template):
        @classmethod
        def from_code(cls, *values: Any, **named: Any) -> jinja2.Template:
            made = super().from_code(*values, **named)
            made.root_render_func.__globals__["escape"] = escaped  # the names of the compiled template
            return made

    return Template


def _escaper() -> Callable[[Any], str]:
    """Escapes what a template writes. Most of it is markup or has nothing to escape and stays as it is: a list writes
    1,300 values, and to make each of them `Markup` anew takes a tenth of its time."""
    escape, markup, mark = markupsafe.escape, markupsafe.Markup, _MARKS.search

    def escaped(value: Any) -> str:
        kind = type(value)
        return value if kind is markup or (kind is str and mark(value) is None) else escape(value)

    return escaped


def _of_reader(name: str) -> Callable[..., str]:
    @jinja2.pass_context
    def written(context: "jinja2.runtime.Context", *values: Any) -> str:
        text: str = getattr(context[FIGURES], name)(*values)
        return text

    return written


def _with_code(text: str) -> str:
    """The text, with what stands between backticks as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return text
    code = markupsafe.Markup("<code>{}</code>")
    return markupsafe.Markup("").join(code.format(part) if at % 2 else part for at, part in enumerate(parts))


def _ago() -> Callable[..., str]:
    """Writes the span since an instant, with the instant itself for whoever points at it or hears the page; a script
    renews the span."""
    # Looked up once: a list has hundreds of these. Markup's own way to fill in values takes 8 µs more for each.
    markup, escaped = markupsafe.Markup, _escaper()

    @jinja2.pass_context
    def written(context: "jinja2.runtime.Context", at_ms: int | None) -> str:
        if at_ms is None:
            return figures.NOTHING
        by: figures.Figures = context[FIGURES]
        span, exact = escaped(by.ago(at_ms, context[NOW_MS])), escaped(by.exact(at_ms))
        return markup(
            f'<time class="ago" datetime="{figures.iso(at_ms)}" data-exact="{exact}" tabindex="0">'
            f'<span data-ago>{span}</span><span class="hidden-text">, {exact}</span></time>'
        )

    return written
