"""`docs/registration.md`: its blocks run in order against a fresh server, and answer in the shapes that it shows."""

import pytest
from tests.support import pages, reference, required, servers

PAGE = reference.ROOT / "docs" / "registration.md"


@pytest.mark.slow
def test_page_is_true_line_by_line(tmp_path):
    required.need("curl", "the registration story")
    told = pages.story(PAGE.read_text("utf-8"))

    with servers.serving(tmp_path / "tripline-data") as server:
        printed = pages.play(told, server)

    assert [pages.lines(each) for each in printed] == [shown for _, shown in told]


def test_story_reads_commands_with_what_they_print():
    page = '```sh\nA\n```\nx\n```json\n{\n"a": 1}\n```\n```console\n$ no\n```\n```sh\nB\n```\n'

    assert pages.story(page) == [("A\n", [{"a": "int"}]), ("B\n", [])]


def test_shape_tells_a_missing_key_and_another_type():
    assert pages.shape({"a": 1, "b": None}) == {"a": "int", "b": "null"}
    assert pages.shape({"a": 1}) != pages.shape({"a": "1"})
    assert pages.lines('{"a": 1}\nACTIVATED\n') == [{"a": "int"}, "ACTIVATED"]
