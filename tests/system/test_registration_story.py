"""`docs/registration.md`: its blocks run in order against a fresh server, and answer in the shapes that it shows."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support import reference, required, servers

PAGE = reference.ROOT / "docs" / "registration.md"
BLOCK = re.compile(r"^```(sh|json|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = "--- end of block ---"


def story(text: str) -> list[tuple[str, list[object]]]:
    """The commands of each block, with the output that the page shows for it."""
    told: list[tuple[str, list[object]]] = []
    for kind, content in BLOCK.findall(text):
        if kind == "sh":
            told.append((content, []))
        else:
            told[-1][1].extend([shape(json.loads(content))] if kind == "json" else lines(content))
    return told


def shape(value):
    """What a reader compares: keys, types, and words that are not made anew each time."""
    if isinstance(value, dict):
        return {key: shape(each) for key, each in value.items()}
    if isinstance(value, list):
        return [shape(each) for each in value]
    return "null" if value is None else type(value).__name__


def play(told: list[tuple[str, list[object]]], server: servers.Running) -> list[str]:
    """What each block printed."""
    commands = [each.replace("http://127.0.0.1:8080", server.api) for each, _ in told]
    script = "set -eu\n" + "".join(f"{each}\nprintf '\\n%s\\n' '{MARK}'\n" for each in commands)
    path = f"{Path(sys.executable).parent}:{servers.environment()['PATH']}"
    ended = subprocess.run(
        ["sh"],
        input=script,
        cwd=server.data.parent,
        env={**servers.environment(), "PATH": path},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return [each.strip() for each in ended.stdout.split(MARK)[:-1]]


def lines(output: str) -> list[object]:
    """An output line by line: JSON as its shape, an id as a sign for one, other words as they are."""
    found: list[object] = []
    for line in output.splitlines():
        plain = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "(an id)", line.strip())
        found.append(shape(json.loads(line)) if line.startswith("{") else plain)
    return [each for each in found if each != ""]


@pytest.mark.slow
def test_page_is_true_line_by_line(tmp_path):
    required.need("curl", "the registration story")
    told = story(PAGE.read_text("utf-8"))

    with servers.serving(tmp_path / "tripline-data") as server:
        printed = play(told, server)

    assert [lines(each) for each in printed] == [shown for _, shown in told]


def test_story_reads_commands_with_what_they_print():
    page = '```sh\nA\n```\nx\n```json\n{\n"a": 1}\n```\n```console\n$ no\n```\n```sh\nB\n```\n'

    assert story(page) == [("A\n", [{"a": "int"}]), ("B\n", [])]


def test_shape_tells_a_missing_key_and_another_type():
    assert shape({"a": 1, "b": None}) == {"a": "int", "b": "null"}
    assert shape({"a": 1}) != shape({"a": "1"})
    assert lines('{"a": 1}\nACTIVATED\n') == [{"a": "int"}, "ACTIVATED"]
