"""Filters of templates that write markup: everything in it is escaped."""

import pytest

from tripline.portal import environment


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
