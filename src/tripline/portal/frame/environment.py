"""The Jinja environment of the pages: one, made when the first page is shown, with the filters that templates use.

Everything is escaped, and a value that nobody gave is an error. Not here: what templates are given (`views.py`).
"""

import functools
import io
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tripline.later import Later
from tripline.portal.frame import figures
from tripline.portal.frame.static import STATIC

if TYPE_CHECKING:
    import jinja2
    import markupsafe
else:
    jinja2, markupsafe = Later("jinja2"), Later("markupsafe")

TEMPLATES: Final = Path(__file__).parent.parent / "templates"
FIGURES: Final = "figures"
"""Name under which every template has the figures of its reader."""
NOW_MS: Final = "now_ms"
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
    made.code_generator_class = _code_class()
    made.template_class = _template_class()
    made.globals["icon_of"] = _icon
    made.filters |= {name: _of_reader(name) for name in _FILTERS}
    made.filters |= {
        "ago": _ago(),
        "iso": figures.iso,
        "with_code": _with_code,
        "with_breaks": _with_breaks,
        "as_on": as_on,
    }
    return made


def _code_class() -> "type[jinja2.compiler.CodeGenerator]":
    """Compiles calls to calls. Jinja's own ask the context for each of them, which asks whether it is wanted itself:
    nothing of ours does, and a list calls hundreds of times."""

    class Code(jinja2.compiler.CodeGenerator):
        def visit_Call(  # noqa: N802  Jinja's name
            self, node: jinja2.nodes.Call, frame: jinja2.compiler.Frame, forward_caller: bool = False
        ) -> None:
            self.visit(node.node, frame)
            stream, self.stream = self.stream, io.StringIO()
            self.signature(node, frame, {"caller": "caller"} if forward_caller else None)
            values, self.stream = self.stream.getvalue(), stream
            self.write(f"({values.removeprefix(', ')})")

    return Code


def _macro_class() -> "type[jinja2.runtime.Macro]":
    """Macros that sort their values at once where nothing is special: a list calls two hundred, most for a row or an
    icon, and to sort the values takes Jinja's longer than many of them take."""
    markup, missing = markupsafe.Markup, jinja2.utils.missing

    class Macro(jinja2.runtime.Macro):
        def __call__(self, *values: Any, **named: Any) -> str:
            given, wanted = len(values), len(self.arguments)
            if self.caller or self.catch_kwargs or self.catch_varargs or given > wanted:
                return super().__call__(*values, **named)
            if given < wanted:
                values += tuple([named.pop(name, missing) for name in self.arguments[given:]])
            return super().__call__(*values, **named) if named else markup(self._func(*values))

    return Macro


def _template_class() -> "type[jinja2.Template]":
    """Templates that escape by `_escaper`, with macros of ours.

    Imported macros are parted from their context, as those of a page are (`views._begun` says why).
    """
    ours = {"escape": _escaper(), "Macro": _macro_class()}

    class Template(jinja2.Template):
        @classmethod
        def from_code(cls, *values: Any, **named: Any) -> jinja2.Template:
            made = super().from_code(*values, **named)
            made.root_render_func.__globals__.update(ours)  # the names of the compiled template
            return made

        def make_module(self, *values: Any, **named: Any) -> "jinja2.environment.TemplateModule":
            context = self.new_context(*values, **named)
            made = jinja2.environment.TemplateModule(self, context)
            context.vars.clear()
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


def as_on(troubles: Mapping[str, str], body: str) -> list[tuple[str, str]]:
    """The sentences about fields, in the order of the fields in the form; those about none of them come last."""

    def place(trouble: tuple[str, str]) -> int:
        at = body.find(f'id="f-{trouble[0]}"')
        return len(body) if at < 0 else at

    return sorted(troubles.items(), key=place)


def _of_reader(name: str) -> Callable[..., str]:
    @jinja2.pass_context
    def written(context: "jinja2.runtime.Context", *values: Any) -> str:
        text: str = getattr(context[FIGURES], name)(*values)
        return text

    return written


@functools.cache
def _icon(name: str) -> str:
    """An icon beside words, made once: a list has forty, and each would be a macro of its own."""
    address = STATIC.address("icons.svg")
    return markupsafe.Markup(f'<svg class="icon" aria-hidden="true"><use href="{address}#{name}"></use></svg>')


def _with_code(text: str) -> str:
    """The text, with what stands between backticks as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return text
    code = markupsafe.Markup("<code>{}</code>")
    return markupsafe.Markup("").join(code.format(part) if at % 2 else part for at, part in enumerate(parts))


def _with_breaks(text: str) -> str:
    """The text, which may break behind each point that is in no number, slash, colon, comma, underscore and at sign."""
    parts = re.split(r"(?<=[./:,_@])(?<!\d\.(?=\d))(?=[^./:,_@])", text)
    return markupsafe.Markup("<wbr>").join(parts)


def _ago() -> Callable[..., str]:
    """Writes the span since an instant or until it, with the instant itself for whoever points at it or hears the page;
    a script renews the span since."""
    # Looked up once: a list has hundreds of these. Markup's own way to fill in values takes 8 µs more for each.
    markup, escaped = markupsafe.Markup, _escaper()

    @jinja2.pass_context
    def written(context: "jinja2.runtime.Context", at_ms: int | None) -> str:
        if at_ms is None:
            return figures.NOTHING
        by: figures.Figures = context[FIGURES]
        now_ms: int = context[NOW_MS]
        span, exact = escaped(by.ago(at_ms, now_ms)), escaped(by.exact(at_ms))
        # What was to come when the page was made has not happened only because the page is old.
        renewed = " data-ago" if at_ms <= now_ms else ""
        return markup(
            f'<time class="ago" datetime="{figures.iso(at_ms)}" data-exact="{exact}" tabindex="0">'
            f'<span{renewed}>{span}</span><span class="hidden-text">, {exact}</span></time>'
        )

    return written
