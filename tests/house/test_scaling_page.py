"""`docs/scaling.md`: what it names is there, its unit starts what its commands start, and its sums are right."""

import re
import shlex

from tests.support import reference, scaling_page

from tripline import observe
from tripline.config import files as config_files

TEXT = scaling_page.TEXT
NAMES = set(re.findall(r"`([^`\n]+)`", TEXT))
SETTINGS = config_files.default_file()
SECTIONS = "|".join(re.findall(r"^\[(\w+)\]$", SETTINGS, re.MULTILINE))
VARIABLES = set(re.findall(r"\[(TRIPLINE_\w+)\]", SETTINGS))


def test_settings_of_the_page_exist():
    named = set(re.findall(rf"`((?:{SECTIONS})\.[a-z_*]+)`", TEXT)) - set(observe.EVENTS)

    page = reference.settings()
    assert len(named) >= 6
    assert [name for name in named if not name.endswith("*") and f"| `{name.partition('.')[2]}` |" not in page] == []


def test_variables_of_the_page_exist_and_its_files_set_nothing_else():
    set_by_files = [
        name
        for kind in ("file", "append")
        for text in scaling_page.blocks(kind).values()
        for name, _ in scaling_page.settings(text)
    ]

    assert set(set_by_files) <= VARIABLES
    assert len(set_by_files) == len(set(set_by_files)) > 9
    assert set(re.findall(r"TRIPLINE_[A-Z_]+", TEXT)) <= VARIABLES


def test_log_events_and_metrics_of_the_page_exist():
    observed = reference.observing()
    prefixes = {event.partition(".")[0] for event in observe.EVENTS} - set(SECTIONS.split("|"))

    events = {name for name in NAMES if re.fullmatch(rf"(?:{'|'.join(prefixes)}|bus|ingest)\.[a-z_]+", name)}
    metrics = {name for name in NAMES if name.startswith("tripline_")}

    settings = {f"{section}.{key}" for section, key in _settings()}
    assert len(events - settings) >= 8
    assert events - settings - set(observe.EVENTS) == set()
    assert len(metrics) >= 3
    assert [name for name in metrics if f"| `{name}` |" not in observed] == []


def test_commands_of_the_page_exist_with_their_flags():
    page = reference.commands()
    lines = [line for text in scaling_page.blocks("run").values() for line in text.splitlines()]
    words = [shlex.split(line)[1:] for line in lines if line.startswith("tripline ")]

    named = {" ".join(word for word in each[:2] if re.fullmatch(r"[a-z]+", word)) for each in words}

    assert named == {"migrate", "store copy", "serve", "doctor"}
    assert [name for name in named if f"## tripline {name}\n" not in page] == []


def test_unit_of_the_page_starts_a_role_as_its_commands_do():
    commands = [line for text in scaling_page.blocks("run").values() for line in text.splitlines()]

    (started,) = re.findall(r"^ExecStart=(.+)$", TEXT, re.MULTILINE)
    (variables,) = re.findall(r"^EnvironmentFile=(.+)$", TEXT, re.MULTILINE)

    assert started.removeprefix("/opt/tripline/bin/") in commands
    assert variables in scaling_page.blocks("file")


def test_every_block_that_is_run_says_where():
    runs = scaling_page.blocks("run")

    assert set(runs) == {"database", "topics", "certificate", "move", "worker", "gateway", "api", "look"}
    assert [name for name, text in runs.items() if not text.startswith("# on ")] == []


def test_sums_of_the_page_are_those_of_its_inputs_and_figures():
    single, together, log_single, log_together = 286, 2_022, 366, 2_149
    for column, vehicles in enumerate((10_000, 100_000, 1_000_000), 1):
        peak = vehicles * 0.2
        samples = vehicles * 1.5 * 3_600

        assert _cell("messages/s, single samples", column) == f"{peak:,.0f}"
        assert _cell("messages/s, aggregates of 30", column) == f"{peak / 30:,.0f}"
        assert _bytes(_cell("storage a day, single", column)) == _two(samples * single)
        assert _bytes(_cell("storage a day, aggregates of 30", column)) == _two(samples / 30 * together)
        assert _cell("log at the peak, single; aggregates", column) == (
            f"{_short(peak * log_single / 1e6)}; {_short(peak / 30 * log_together / 1e6)} MB/s"
        )
        assert _bytes(_cell("buffer, seven days, single, each broker", column)) == _two(samples * 7 * 51)


def _settings() -> list[tuple[str, str]]:
    found, section = [], ""
    for line in SETTINGS.splitlines():
        if head := re.fullmatch(r"\[(\w+)\]", line):
            section = head[1]
        elif key := re.match(r"(?:# )?(\w+) =", line):
            found.append((section, key[1]))
    return found


def _cell(row: str, column: int) -> str:
    (line,) = [line for line in TEXT.splitlines() if line.startswith(f"| {row} |")]
    return line.split("|")[1 + column].strip()


def _bytes(text: str) -> float:
    number, unit = text.split()
    return _two(float(number) * {"GB": 1e9, "TB": 1e12}[unit])


def _two(number: float) -> float:
    """The number to two significant digits."""
    return float(f"{number:.1e}")


def _short(number: float) -> str:
    return f"{number:.2f}".rstrip("0") if number < 0.2 else f"{number:.1f}" if number < 10 else f"{number:.0f}"
