"""Pages that tell a story in shell blocks, run from the first to the last against a fresh server.

A block of kind `sh` is run, its `tripline` forked with the program loaded; a `json` or `text` block behind it is what
it prints. Blocks of other kinds are read only.
"""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from tests.support import launcher, servers

BLOCK = re.compile(r"^```(sh|json|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
API = "http://127.0.0.1:8080"
"""Where a page says that the server is."""
_MARK = "--- end of block ---"
_LIMIT_S = 120


def story(text: str) -> list[tuple[str, list[object]]]:
    """The commands of each block, with the output that the page shows for it."""
    told: list[tuple[str, list[object]]] = []
    for kind, content in BLOCK.findall(text):
        if kind == "sh":
            told.append((content, []))
        else:
            told[-1][1].extend([shape(json.loads(content))] if kind == "json" else lines(content))
    return told


def shape(value: object) -> object:
    """What a reader compares: keys, types, and words that are not made anew each time."""
    if isinstance(value, dict):
        return {key: shape(each) for key, each in value.items()}
    if isinstance(value, list):
        return [shape(each) for each in value]
    return "null" if value is None else type(value).__name__


def lines(output: str) -> list[object]:
    """An output line by line: JSON as its shape, an id as a sign for one, other words as they are."""
    found: list[object] = []
    for line in output.splitlines():
        plain = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", "(an id)", line.strip())
        found.append(shape(json.loads(line)) if line.startswith("{") else plain)
    return [each for each in found if each != ""]


def play(
    told: list[tuple[str, list[object]]], server: servers.Running, instead: Mapping[str, str] | None = None
) -> list[str]:
    """What each block printed, run beside the server's data folder.

    `instead` says what stands in place of other words of the page. What the blocks left running is ended.
    """
    commands = [each for each, _ in told]
    for word, other in {API: server.api, **(instead or {})}.items():
        commands = [each.replace(word, other) for each in commands]
    script = "set -eu\n" + "".join(f"{each}\nprintf '\\n%s\\n' '{_MARK}'\n" for each in commands)
    with tempfile.TemporaryDirectory() as programs:
        forking = launcher.program(Path(programs))
        path = f"{programs}:{Path(sys.executable).parent}:{servers.environment()['PATH']}"
        with subprocess.Popen(
            ["sh"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=server.data.parent,
            env={**servers.environment(data=server.data), **forking, "PATH": path},
            text=True,
            start_new_session=True,
        ) as shell:
            try:
                printed, errors = shell.communicate(script, timeout=_LIMIT_S)
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(shell.pid, signal.SIGKILL)  # The group that was made here.
    assert shell.returncode == 0, printed + errors
    return [each.strip() for each in printed.split(_MARK)[:-1]]
