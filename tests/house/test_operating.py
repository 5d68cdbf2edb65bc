"""`docs/operating.md`: what it names is there, and no log event is left out."""

import re

from tests.support import loops, reference

from tripline import observe
from tripline.config import files as config_files
from tripline.services.ingest import steps

PAGE = (reference.ROOT / "docs" / "operating.md").read_text("utf-8")
NAMES = re.findall(r"`([^`\n]+)`", PAGE)


def test_every_log_event_is_explained_for_who_has_to_act():
    assert sorted(set(observe.EVENTS) - set(NAMES)) == []


def test_every_step_of_a_batch_is_explained():
    explained = PAGE.partition("### A batch is slow")[2].partition("\n## ")[0]

    assert [step for step in steps.STEPS if f"| `{step}` |" not in explained] == []


def test_metrics_that_are_to_be_watched_exist():
    known = reference.observing()

    named = [name for name in NAMES if name.startswith("tripline_")]

    assert len(named) > 9
    assert [name for name in named if f"| `{name}` |" not in known] == []


def test_settings_exist():
    sections = re.findall(r"^\[(\w+)\]$", config_files.default_file(), re.MULTILINE)

    named = set(re.findall(rf"`((?:{'|'.join(sections)})\.[a-z_]+)[` ]", PAGE)) - set(observe.EVENTS)

    page = reference.settings()
    assert len(named) >= 5
    assert [name for name in named if f"| `{name.partition('.')[2]}` |" not in page] == []


def test_operations_exist():
    page = reference.rest()

    named = re.findall(r"`(?:GET |POST )?(/api/[^`?]+)", PAGE)

    assert len(named) >= 5
    assert [path for path in named if f"| `{path}` |" not in page] == []


@loops.every(["doctor", "push list", "push resend", "device check"])
def test_commands_exist(words):
    assert f"tripline {words}" in PAGE
    assert f"## tripline {words}\n" in reference.commands()
