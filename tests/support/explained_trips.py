"""Explanations of five trips, as a driver reads them on their pages: a section of `docs/scoring.md`.

`python -m tests.support.explained_trips` (`make docs`) writes it; `test_explained_trips.py` compares it.
"""

import html
import re
import tempfile
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np
from evaluation import real
from evaluation.made import Drive
from msgspec.structs import replace
from sqlalchemy import delete, update

from tests.support import box_dirt, rest, scoring_rows
from tests.support.limits import Roads
from tests.support.portal import Browser
from tests.support.scored_fleet import Fleet, fleet
from tripline.domain.ids import no_of
from tripline.roads.located import Located, Road
from tripline.scoring.drives import Drives
from tripline.scoring.quality import LimitSource
from tripline.store import tables
from tripline.store.transactions import WriteTx

PAGE: Final = Path(__file__).parents[2] / "docs" / "scoring.md"
SECTION: Final = re.compile(r"(?<=<!-- explained -->\n).*?(?=<!-- /explained -->)", re.DOTALL)


class Stated(NamedTuple):
    """A limit from a second of the drive on."""

    second: int
    road: str
    kmh: float
    """NaN: unknown."""
    source: LimitSource


class Trip(NamedTuple):
    """A trip to explain."""

    title: str
    drive: Drive
    limits: list[Stated]


def trips() -> list[Trip]:
    """Two short ones, a long one, one without limits, and one that loses its fix."""
    drives = real.recordings()
    town, country = LimitSource.IMPLIED, LimitSource.TAGGED
    return [
        Trip("A short trip", drives["drive_01"], [Stated(0, "Main Street", 50, town)]),
        Trip(
            "A short trip with a road whose limit is assumed",
            drives["drive_17"],
            [Stated(0, "Blair Road", 70, country), Stated(250, "Mill Lane", 60, LimitSource.ROAD_CLASS)],
        ),
        Trip(
            "A long trip",
            drives["drive_31"],
            [Stated(0, "12 Country Road", 90, country), Stated(1_250, "35 Motorway", 110, country)],
        ),
        Trip("Without limits", drives["drive_05"], []),
        Trip("With a lost fix", box_dirt.lost_fix(6)(drives["drive_15"]), []),
    ]


class Limits(Roads):
    """Implements `ports.maps.RoadMatcher`: the limits of one trip."""

    def __init__(self, stated: list[Stated]) -> None:
        self._stated = stated

    def located(self, drives: Drives) -> Located:
        if not self._stated:
            return Located(drives, (), [()] * len(drives))
        begins = np.array([each.second for each in self._stated])
        at = np.searchsorted(begins, (drives.time_ms - drives.time_ms[0]) // 1_000, side="right") - 1
        located = replace(
            drives,
            limit_kmh=np.array([each.kmh for each in self._stated], float)[at],
            limit_source=np.array([each.source for each in self._stated], np.int8)[at],
            road=at.astype(np.int32),
        )
        roads = [Road(str(no), 103, each.road) for no, each in enumerate(self._stated)]
        return Located(located, roads, [("area:1",)] * len(drives))


def section() -> str:
    """The section, as Markdown."""
    with tempfile.TemporaryDirectory() as folder:
        return rest.run(Path(folder), _section)


async def _section(app: rest.Rest) -> str:
    ours = await fleet(app)
    printed: set[str] = set()
    return "\n".join([await _explained(ours, trip, printed) for trip in trips()])


async def _explained(ours: Fleet, trip: Trip, printed: set[str]) -> str:
    columns = [np.asarray(trip.drive[name]).tolist() for name in ("t", "speed", "lat", "lon")]
    rows = [scoring_rows.sample(t, speed, lat=lat, lon=lon) for t, speed, lat, lon in zip(*columns, strict=True)]

    def drive(tx: WriteTx) -> None:
        no = no_of(ours.trip_id)
        tx.run(delete(tables.microtrip))
        tx.run(update(tables.trip).values(distance_m=None, not_scored=None))
        scoring_rows.add_microtrip(tx, ours.app.ids, no, b"".join(rows))
        tx.run(tables.scoring_job.insert().values(trip_no=no, due_ms=0))

    await ours.app.store.write(drive)
    scorer = ours.scorer(Limits(trip.limits))
    while await scorer.score_due():
        pass
    answer = await Browser(ours.app, ours.driver).get(f"/trips/{ours.trip_id}")
    assert answer.status_code == 200, answer.text
    return f"**{trip.title}.** {_text(answer.text, printed)}"


def _text(page: str, printed: set[str]) -> str:
    """The sentence of the page, facts about the score, and costs; each note once for all pages."""
    sentence = _words(re.search(r"<h1>(.*?)</h1>", page, re.DOTALL)[1]).partition(", ")[2]
    known = [
        _words(each) for each in re.findall(r"<li>(.*?)</li>", _part(page, 'class="trip-score"', "</div>"), re.DOTALL)
    ]
    costs = _part(page, 'id="costs"', "</section>")
    costs = re.sub(r'<span class="short.*?</span>', "", costs, flags=re.DOTALL)
    said = " ".join(_words(each) for each in re.findall(r"<p[^>]*>(.*?)</p>", costs, re.DOTALL))
    notes = [each for each in re.split(r"(?<=\.) ", said) if each not in printed]
    printed |= set(notes)
    table = [
        [_words(each) for each in re.findall(r"<t[hd].*?>(.*?)</t[hd]>", row, re.DOTALL)][:-1]
        for row in re.findall(r"<tr.*?>(.*?)</tr>", costs, re.DOTALL)
    ]
    lines = [f"*{sentence}.* {'. '.join(known)}."]
    if table:
        lines += ["", _line(table[0]), _line(["---"] * len(table[0])), *map(_line, table[1:])]
    return "\n".join([*lines, "", " ".join(notes), ""])


def _part(page: str, begin: str, end: str) -> str:
    return page.partition(begin)[2].partition(end)[0]


def _words(markup: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", markup)).split())


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def write() -> None:
    """Write the section."""
    text = section()
    PAGE.write_text(SECTION.sub(lambda _: text, PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    write()
