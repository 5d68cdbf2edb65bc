"""The page about the bus says what the program does: every reason, the settings and metrics it names, its example."""

import json
import re

from tests.support import reference

from tripline import observe
from tripline.config import Bus
from tripline.wire.bus import reader as bus_reader
from tripline.wire.bus import reasons as bus_reasons
from tripline.wire.bus.reader import Opened

PAGE = (reference.ROOT / "docs" / "bus.md").read_text("utf-8")


def test_page_has_every_reason_and_its_meaning() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.+) \|$", PAGE, re.MULTILINE)

    assert dict(row for row in rows if row[0] in bus_reasons.REASONS) == bus_reasons.REASONS


def test_page_names_settings_events_and_metrics_that_are_there() -> None:
    settings = set(re.findall(r"`bus\.(\w+)", PAGE)) - {event.removeprefix("bus.") for event in observe.EVENTS}
    events = set(re.findall(r"`(bus\.(?:reject|outage|message_failed))`", PAGE))

    assert settings <= set(Bus.__struct_fields__)
    assert events == {"bus.reject", "bus.outage", "bus.message_failed"}


def test_example_of_the_page_is_read() -> None:
    first = re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL)[0]

    opened = bus_reader.opened(json.dumps(json.loads(first)).encode(), topic_kind=None)

    assert isinstance(opened, Opened)
    assert opened.kind == "microtrip"
