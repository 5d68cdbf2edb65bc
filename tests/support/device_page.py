"""The examples of `docs/devices.md`: what a device sends, and what the page says is read in it."""

import re
from dataclasses import dataclass

from tests.support.reference import ROOT

PAGE = ROOT / "docs" / "devices.md"
_EXAMPLE = re.compile(
    r"```json (?P<topic>\S+) (?P<type>\S+)\n(?P<body>.*?)\n```\n```text\n(?P<read>.*?)\n```\n", re.DOTALL
)


@dataclass(frozen=True)
class Example:
    """One message of the page."""

    topic: str
    sensor_type: str
    body: bytes
    read: list[str]
    """A line for each finding, as `tripline device check` prints it, without its indentation."""

    @property
    def is_rejected(self) -> bool:
        """Whether the page says that the message, or a part of it, is rejected."""
        return any(line.startswith("rejected") for line in self.read)


def examples() -> list[Example]:
    """Every example, in the order of the page."""
    return [
        Example(f"v1/sensors/me/{found['topic']}", found["type"], found["body"].encode(), found["read"].splitlines())
        for found in _EXAMPLE.finditer(PAGE.read_text("utf-8"))
    ]
