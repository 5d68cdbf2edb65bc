"""Filters of templates that write markup: everything in it is escaped."""

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


def test_icon_is_made_once() -> None:
    assert environment.environment().globals["icon_of"]("x") is environment.environment().globals["icon_of"]("x")
