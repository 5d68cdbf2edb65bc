"""Filters of templates that write markup: everything in it is escaped."""

import jinja2
import pytest

from tripline.portal.frame import environment


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("run `tripline <x>` now", "run <code>tripline &lt;x&gt;</code> now"),
        ("`a` & `b`", "<code>a</code> &amp; <code>b</code>"),
        ("a ` b", "a ` b"),
        ("<b>", "&lt;b&gt;"),
    ],
)
def test_text_between_backticks_is_code_and_nothing_is_markup(text: str, written: str) -> None:
    template = environment.environment().from_string("{{ text|with_code }}")

    assert template.render(text=text) == written


def test_troubles_stand_in_the_order_of_the_fields_and_those_of_no_field_last() -> None:
    template = environment.environment().from_string("{{ troubles|as_on(body)|map('first')|join(' ') }}")
    body = '<input id="f-name"><input id="f-name-too"><input id="f-a">'

    assert template.render(troubles={"z": "", "a": "", "name": ""}, body=body) == "name a z"


_PLAIN = "{% macro of(a, b=2) %}{{ a }}{{ b }}{% endmacro %}"
_AROUND = "{% macro of(a, b=2) %}{{ a }}{{ b }}{{ caller() }}{% endmacro %}"


@pytest.mark.parametrize(
    ("call", "written"),
    [
        ("{{ of(1) }}", "12"),
        ("{{ of(1, 3) }}", "13"),
        ("{{ of(b=3, a='<') }}", "&lt;3"),
        ("{% call of(1, b=3) %}<i>{% endcall %}", "13<i>"),
        ("{% for each in (1, 2) %}{{ of(each, loop.index) }}{% endfor %}", "1122"),
    ],
)
def test_macro_gets_its_values_however_they_are_given(call: str, written: str) -> None:
    macro = _AROUND if call.startswith("{% call") else _PLAIN
    template = environment.environment().from_string(macro + call)

    assert template.render() == written


@pytest.mark.parametrize("call", ["{{ of(1, 2, 3) }}", "{{ of(1, c=3) }}", "{{ missing(1) }}", "{{ of() }}"])
def test_call_that_cannot_be_is_an_error(call: str) -> None:
    template = environment.environment().from_string(_PLAIN + call)

    with pytest.raises((TypeError, jinja2.UndefinedError)):
        template.render()


def test_icon_is_made_once() -> None:
    assert environment.environment().globals["icon_of"]("x") is environment.environment().globals["icon_of"]("x")
