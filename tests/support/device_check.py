"""`tripline device check` as a process beside a server, read line by line."""

import contextlib
import json
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Any

from tests.support import launcher, servers
from tests.support.fleet import Registered
from tests.support.worlds import World

END_S = 20


@dataclass
class Check:
    """A running command, and what it has told."""

    process: launcher.Process
    log: IO[str]
    told: list[dict[str, Any]] = field(default_factory=list)
    errors: str = ""

    def next(self) -> dict[str, Any] | None:
        """What it tells next; None when it has ended."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            return None
        self.told.append(json.loads(line))
        return self.told[-1]

    def until(self, kind: str, fragment: str = "") -> dict[str, Any]:
        """What it tells next of this kind with this in its text. The command ends by itself, and so does the wait."""
        while (told := self.next()) is not None:
            if told["kind"] == kind and fragment in told["text"]:
                return told
        raise AssertionError(f"no {kind} {fragment!r} among {self.told}")

    def until_each(self, *wanted: tuple[str, str]) -> list[str]:
        """The text of each wanted kind and fragment, which may come in any order."""
        texts: dict[tuple[str, str], str] = {}
        while len(texts) < len(wanted):
            told = self.next()
            assert told is not None, f"not all of {wanted} among {self.told}"
            for kind, fragment in wanted:
                if told["kind"] == kind and fragment in told["text"]:
                    texts[kind, fragment] = told["text"]
        return [texts[each] for each in wanted]

    def ended(self) -> int:
        """Read to the end; the exit code."""
        while self.next() is not None:
            pass
        code = self.process.wait(END_S)
        self.log.seek(0)
        self.errors = self.log.read()
        return code

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages that were told."""
        return [told for told in self.told if told["kind"] == "message"]


@contextlib.contextmanager
def checking(world: World, box: Registered, *flags: str) -> Iterator[Check]:
    """The command, listening. It ends by itself after 100 seconds at the latest."""
    arguments = ["device", "check", "--data", str(world.server.data), "--json", "--for", "100", *flags]
    environment = servers.environment({"TRIPLINE_DEVICE_TOKEN": box.token}, data=world.server.data)
    with tempfile.TemporaryFile("w+", encoding="utf-8") as log:
        process = launcher.start(arguments, environment, stderr=log.fileno())
        assert process.stdout is not None
        with process.stdout:
            check = Check(process, log)
            try:
                check.until("connection")
                yield check
            finally:
                process.kill()
                process.wait(END_S)


def said(message: dict[str, Any], sort: str) -> list[str]:
    """What is said of a message under this word, each as `place: text`."""
    return [f"{each['where']}: {each['text']}" for each in message["findings"] if each["sort"] == sort]
