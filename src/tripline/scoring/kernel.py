"""Turns samples of many trips into findings: distances, spacing, events, seconds over the limit. No loop over trips.

Trips are processed in blocks of about `BLOCK` samples, so that intermediate arrays stay in the processor's cache and
memory beyond the input stays small for any number of trips.

Here is the order of the steps (`STEPS`); each has its module: `clocks`, `drives` (one instant, one sample), `fixes`,
`units`, `speeds`, `distances`, `overspeed`, `harsh`, `style`, `confirmation`. After them, annulled events are removed
(`annulments.py`). Scores of findings: `score.py`. The rules: `docs/scoring.md`.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from tripline.scoring import annulments, clocks, confirmation, distances, fixes, harsh, overspeed, speeds, style, units
from tripline.scoring.annulments import Annulment
from tripline.scoring.drives import Drives, Flags, Floats, Ints, Singles, cut, instants, intervals_ms, picked, seams
from tripline.scoring.findings import REPAIRS, Events, Findings, Spans, joined
from tripline.scoring.geometry import steps_m
from tripline.scoring.quality import HarshSource, LimitSource
from tripline.scoring.rules import EventType, Rules

BLOCK: Final = 131_072
"""Samples in one block: a column of them is 1 MiB; smaller blocks spend their time on the calls between arrays."""
_FREED_BYTES: Final = 4 << 20


def findings(drives: Drives, rules: Rules, annulled: Sequence[Annulment] = ()) -> Findings:
    """The findings of every trip, in the order given, without annulled events."""
    parts = []
    for trips in _blocks(drives.starts):
        within = [each._replace(trip=each.trip - trips.start) for each in annulled if each.trip in trips]
        of_block = _block(drives.part(trips.start, trips.stop), rules, within)
        of_block.events.trip[:] += trips.start
        of_block.spans.trip[:] += trips.start
        parts.append(of_block)
    if not parts:
        return _block(drives, rules, ())
    del of_block
    return joined(parts)


def _blocks(starts: Ints) -> Iterator[range]:
    """Runs of whole trips of about `BLOCK` samples; a longer trip is a block of its own."""
    if starts[-1] > BLOCK:
        # glibc keeps free memory up to twice the largest array freed so far, here one that is never filled. Otherwise
        # the system maps the memory of each block again, page by page: a fifth of the kernel's time.
        np.empty(_FREED_BYTES, np.uint8)
    first, trips = 0, starts.size - 1
    while first < trips:
        last = int(np.searchsorted(starts, starts[first] + BLOCK, side="right")) - 1
        last = min(max(last, first + 1), trips)
        yield range(first, last)
        first = last


class Work(msgspec.Struct, kw_only=True):
    """The state of one block of trips; each step reads the results of earlier steps here."""

    drives: Drives
    """Trips cut into stretches at clock steps, without rejected samples."""
    own: Ints
    """The trip of each stretch."""
    stated_m: Floats
    """Of each trip: `Drives.stated_m`."""
    column: NDArray[np.int8]
    """Of each trip: `Drives.column`."""
    repairs: Ints
    """Shape of trips x `REPAIRS`."""
    unclocked: Flags
    """The trips whose clock is wrong too often."""
    implausible: Flags
    """The trips with too many impossible speeds."""
    spacing: Ints = np.empty(0, np.int64)
    """Time from each sample to the next, ms."""
    seconds: Singles = np.empty(0, np.float32)
    """The same in seconds."""
    long: Ints = np.empty(0, np.int64)
    """The few intervals that might be gaps, or too long for the median."""
    speed: Floats = np.empty(0)
    """km/h; NaN where unknown."""
    quick: Singles = np.empty(0, np.float32)
    """The same in single precision."""
    without: Flags = np.empty(0, np.bool_)
    """The stretches with speeds missing in most samples."""
    vague: Flags = np.empty(0, np.bool_)
    """The stretches without speeds whose positions do not show harsh driving."""
    sparse: Flags = np.empty(0, np.bool_)
    """Those of them whose positions are too far apart in time."""
    harsh_source: NDArray[np.int8] = np.empty(0, np.int8)
    """Of each trip: `quality.HarshSource`."""
    old: Ints = np.empty(0, np.int64)
    """The samples with an old position."""
    ratio: Floats = np.empty(0)
    """Of each trip."""
    own_m: Floats = np.empty(0)
    """Of each trip: the sum of its guarded steps."""
    steps_m: Singles = np.empty(0, np.float32)
    """Those steps; until they are guarded, as they are."""
    steps_kmh: Floats = np.empty(0)
    """Of each stretch: the step of the device's speeds (`speeds.steps_kmh`)."""
    jumps: Ints = np.empty(0, np.int64)
    over: Ints = np.empty(0, np.int64)
    rough: harsh.HarshEvents = harsh.NOTHING
    brakings: style.Runs = style.NOTHING
    """Found only if they have a weight; `corners` the same."""
    corners: style.Runs = style.NOTHING

    def at(self, samples: Ints) -> Ints:
        """The trip of each of these samples."""
        trips: Ints = self.own[self.drives.at(samples)]
        return trips

    def summed(self, of_stretches: Floats | Ints) -> Floats:
        """The sums over the stretches of each trip."""
        sums: Floats = np.bincount(self.own, weights=of_stretches, minlength=len(self.repairs)).astype(np.float64)
        return sums

    def mended(self, name: str, of_stretches: Ints) -> None:
        """Count repairs under this name of `REPAIRS`."""
        if of_stretches.any():
            self.repairs[:, REPAIRS.index(name)] += self.summed(of_stretches).astype(np.int64)

    def measure(self) -> None:
        """Measure the steps between the samples that are left."""
        self.steps_m = steps_m(self.drives.lat, self.drives.lon)
        self.steps_m[seams(self.drives.starts)] = 0

    def drop(self, name: str, samples: Ints, rules: Rules) -> None:
        """Continue without these samples, counted under this name of `REPAIRS`."""
        if samples.size:
            self.mended(name, np.bincount(self.drives.at(samples), minlength=len(self.drives)))
            self.keep(picked(self.drives, np.delete(np.arange(self.drives.time_ms.size), samples)), rules)
            self.measure()

    def of_trip(self, trip: int) -> "Work":
        """The samples, speeds, steps and runs of one trip."""
        first, last = np.searchsorted(self.own, [trip, trip + 1]).tolist()
        begin, end = self.drives.starts[[first, last]].tolist()
        between = slice(begin, max(end - 1, begin))
        return Work(
            drives=self.drives.part(first, last),
            own=np.zeros(last - first, np.int64),
            stated_m=self.stated_m[trip : trip + 1],
            column=self.column[trip : trip + 1],
            repairs=self.repairs[trip : trip + 1],
            unclocked=self.unclocked[trip : trip + 1],
            implausible=self.implausible[trip : trip + 1],
            spacing=self.spacing[between],
            speed=self.speed[begin:end],
            steps_m=self.steps_m[between],
            brakings=self.brakings.within(begin, end),
            corners=self.corners.within(begin, end),
        )

    def keep(self, drives: Drives, rules: Rules) -> None:
        """Continue with these samples."""
        self.drives = drives
        self.spacing = intervals_ms(self.drives, between=rules.scoring.instant_ms)
        self.seconds = self.spacing.astype(np.float32)
        self.seconds *= np.float32(0.001)
        self.long = np.flatnonzero(self.seconds >= min(rules.scoring.max_median_s, rules.guards.gap_ms / 1_000) * 0.999)


class Block(NamedTuple):
    """A block of judged trips; everything in it counts them from the first one of the block."""

    trips: range
    """The trips among all."""
    work: Work
    """Without annulled events."""
    shown: Events
    """Also the annulled ones."""
    findings: Findings
    """Without annulled events."""


def blocks(drives: Drives, rules: Rules, annulled: Sequence[Annulment] = ()) -> Iterator[Block]:
    """The findings of every trip, block by block, with the work behind them."""
    for trips in _blocks(drives.starts):
        within = [each._replace(trip=each.trip - trips.start) for each in annulled if each.trip in trips]
        work = worked(drives.part(trips.start, trips.stop), rules)
        shown = _events(work, rules) if within else None
        take_out(work, within)
        counted = found(work, rules)
        yield Block(trips, work, counted.events if shown is None else shown, counted)


def _block(drives: Drives, rules: Rules, annulled: Sequence[Annulment]) -> Findings:
    """The findings of a few trips."""
    work = worked(drives, rules)
    take_out(work, annulled)
    return found(work, rules)


def worked(drives: Drives, rules: Rules) -> Work:
    """Run all steps on a few trips."""
    work = Work(
        drives=drives,
        own=np.arange(len(drives)),
        stated_m=drives.stated_m,
        column=drives.column,
        repairs=np.zeros((len(drives), len(REPAIRS)), np.int64),
        unclocked=np.zeros(len(drives), np.bool_) if drives.untimed is None else drives.untimed.copy(),
        implausible=np.zeros(len(drives), np.bool_),
    )
    work.keep(drives, rules)
    for step in STEPS.values():
        step(work, rules)
    return work


def take_out(work: Work, annulled: Sequence[Annulment]) -> None:
    """Remove annulled events."""
    if annulled:
        drives, own = work.drives, work.own
        work.over = annulments.over_left(drives, own, work.over, annulled)
        work.rough = annulments.rough_left(drives, own, work.rough, annulled)
        work.brakings = annulments.brakings_left(drives, own, work.brakings, annulled)


def found(work: Work, rules: Rules) -> Findings:
    """Collect the results of the steps."""
    instants_in = work.summed(np.diff(work.drives.starts)).astype(np.int64)
    distance = distances.chosen(work.stated_m, np.round(work.own_m), instants_in, rules)
    sampling = _sampling(work, rules)
    events = _events(work, rules)
    steps_kmh = np.zeros(len(work.repairs))
    np.maximum.at(steps_kmh, work.own, work.steps_kmh)
    return Findings(
        distance_m=distance.metres,
        instants=instants_in,
        dense=_dense(work, rules),
        over_s=work.summed(overspeed.seconds_over(work.drives, work.over, work.spacing, rules)),
        style=_style_burden(work, events, rules),
        unclocked=work.unclocked,
        implausible=work.implausible,
        ratio=work.ratio,
        source=distance.source,
        gaps=sampling.gaps,
        period_ms=sampling.period_ms,
        limits=overspeed.shares(work.drives, work.own, work.steps_m, len(work.repairs), rules),
        repairs=work.repairs,
        harsh_source=work.harsh_source,
        steps_kmh=steps_kmh,
        column=work.column,
        spans=_spans(work, rules),
        events=events,
    )


def _impossible_speeds(work: Work, rules: Rules) -> None:
    """Discard speeds that no vehicle reaches; not where they are many: their fit to the path then tells the unit."""
    given = work.drives.speed_kmh
    usable = speeds.usable(work.drives, rules)
    if usable is given:
        return
    bad = np.flatnonzero(np.isnan(usable) & ~np.isnan(given))
    work.mended("bad_speeds", np.bincount(work.drives.at(bad), minlength=len(work.drives)))
    odd = bad[speeds.impossible(given[bad], rules.guards.fastest_kmh)]
    most = speeds.MOST_IMPOSSIBLE * work.summed(np.diff(work.drives.starts))
    work.implausible = np.bincount(work.at(odd), minlength=len(work.repairs)) > most
    odd = odd[work.implausible[work.at(odd)]]
    usable[odd] = given[odd]
    work.drives = replace(work.drives, speed_kmh=usable)


def _clocks(work: Work, rules: Rules) -> None:
    """Cut trips where the device's clock steps."""
    if not work.spacing.size or work.spacing.min() >= 0:
        return
    starts, refused = clocks.stretches(work.drives, rules)
    work.unclocked[refused] = True
    if starts.size == work.drives.starts.size:
        return
    drives, work.own = cut(work.drives, starts)
    stretches = np.bincount(work.own, minlength=len(work.repairs))
    work.repairs[:, REPAIRS.index("clock_steps")] = np.maximum(stretches - 1, 0)
    work.keep(drives, rules)


def _instants(work: Work, rules: Rules) -> None:
    """Sort samples by time, and merge samples of one instant."""
    if not work.spacing.size or work.spacing.min() >= rules.scoring.instant_ms:
        return
    before = np.diff(work.drives.starts)
    work.keep(instants(work.drives, instant_ms=rules.scoring.instant_ms), rules)
    work.mended("merged", before - np.diff(work.drives.starts))


def _fixes(work: Work, rules: Rules) -> None:
    """Drop samples without a fix."""
    work.measure()
    work.drop("no_fix", fixes.lost(work.drives, work.steps_m, work.spacing, rules), rules)


def _old_positions(work: Work, rules: Rules) -> None:
    """Find positions that the receiver repeats while the vehicle drives on."""
    work.old = distances.old(work.drives, work.steps_m, work.spacing, rules)
    if work.old.size:
        work.mended("old_positions", np.bincount(work.drives.at(work.old), minlength=len(work.drives)))


def _units(work: Work, rules: Rules) -> None:
    """Compare speeds with the path before any repair; without positions that are old or far off, if others are left."""
    drives = work.drives
    far = np.flatnonzero(work.steps_m > np.float32(rules.guards.fastest_mps) * work.seconds)
    odd = np.concatenate([work.old, far, far + 1])
    speed = drives.speed_kmh
    if odd.size:
        speed = speed.copy()
        speed[odd] = np.nan
    of_stretches = units.ratios(drives, speed, work.spacing, work.long, rules)
    few = np.unique(drives.at(odd[np.isnan(of_stretches[drives.at(odd)])]))
    if few.size:
        again = units.ratios(drives, drives.speed_kmh, work.spacing, work.long, rules)
        of_stretches[few] = again[few]
    of_stretches[work.without] = np.nan
    work.ratio = np.full(len(work.repairs), np.nan)
    known = np.flatnonzero(~np.isnan(of_stretches))
    longest_last = known[np.argsort(np.diff(drives.starts)[known], kind="stable")]
    # If several stretches of a trip have a ratio, the longest stretch is written last and wins.
    work.ratio[work.own[longest_last]] = of_stretches[longest_last]


def _positions(work: Work, rules: Rules) -> None:
    """Drop unreachable positions of trips without speeds."""
    work.without = speeds.lacking(work.drives, work.drives.speed_kmh)
    dropped = distances.impossible(work.drives, work.steps_m, work.without, rules)
    work.drop("bad_positions", dropped, rules)


def _missing_speeds(work: Work, rules: Rules) -> None:
    """Fill short holes in the device's speeds; if most are missing, take all speeds of the trip from positions."""
    work.speed, work.vague, work.sparse = work.drives.speed_kmh, work.without, work.without
    if not np.isnan(work.speed.sum()):
        return
    missing = np.isnan(work.speed)
    work.speed = speeds.interpolated(work.drives, work.speed, rules)
    if work.without.any():
        close = speeds.close(work.drives, work.spacing, work.without)
        sharp = speeds.exact(work.drives, close)
        work.speed = speeds.from_positions(work.drives, work.speed, work.without, sharp, rules)
        work.vague, work.sparse = work.without & ~sharp, work.without & ~close
    filled = np.flatnonzero(missing & ~np.isnan(work.speed))
    work.mended("filled_speeds", np.bincount(work.drives.at(filled), minlength=len(work.drives)))


def _lone_speeds(work: Work, rules: Rules) -> None:
    """Discard speeds that jump away and back, and frozen ones."""
    work.quick = work.speed.astype(np.float32)
    work.jumps = harsh.jumps(work.quick, work.seconds, rules)
    if work.vague.any():
        work.jumps = work.jumps[~work.vague[work.drives.at(work.jumps)]]
    lone = speeds.lone(work.drives, work.speed, work.spacing, work.jumps, rules)
    frozen = speeds.frozen(work.drives, work.speed, work.spacing, work.jumps, work.steps_kmh, rules)
    if frozen.size:
        lone = np.union1d(lone, frozen)
    if lone.size:
        work.speed = work.speed.copy()
        work.speed[lone] = np.nan
        work.quick[lone] = np.nan
        work.mended("lone_speeds", np.bincount(work.drives.at(lone), minlength=len(work.drives)))


def _distances(work: Work, rules: Rules) -> None:
    """Sum the plausible steps between positions."""
    fits = (work.ratio >= rules.guards.implied_least) & (work.ratio <= rules.guards.implied_most)
    fitting = fits[work.own] & ~work.without
    steps = distances.guarded(
        work.steps_m, work.drives, work.quick, work.seconds, work.old, work.without, fitting, rules
    )
    work.own_m = work.summed(steps.metres)
    work.mended("replaced_steps", steps.replaced)
    work.mended("left_out_steps", steps.left_out)
    work.mended("scattered_positions", steps.scattered.astype(np.int64))


def _resolution(work: Work, rules: Rules) -> None:
    """Measure the steps of the devices' speeds."""
    work.steps_kmh = speeds.steps_kmh(work.drives)
    work.steps_kmh[work.without] = 0


def _overspeed(work: Work, rules: Rules) -> None:
    """Find the samples above their limit."""
    work.over = overspeed.samples_over(work.drives, work.speed, rules)


def _harsh(work: Work, rules: Rules) -> None:
    """Find harsh events by speed; for OBD trips with harsh bits in `em`, by `em`."""
    work.rough = harsh.from_speed(work.drives, work.speed, work.spacing, work.jumps, work.steps_kmh, rules)
    work.harsh_source = np.full(len(work.repairs), HarshSource.SPEEDS, np.int8)
    work.harsh_source[work.own[work.without]] = HarshSource.POSITIONS
    work.harsh_source[work.own[work.vague]] = HarshSource.UNKNOWN
    work.harsh_source[work.own[work.sparse]] = HarshSource.SPARSE
    em = work.drives.em
    if em is None:
        return
    obd = np.zeros(len(work.repairs), np.bool_)
    obd[work.own[work.drives.obd]] = True
    given, telling = np.zeros_like(obd), np.zeros_like(obd)
    given[work.at(np.flatnonzero(em >= 0))] = True
    telling[work.at(np.flatnonzero((em > 0) & (em & harsh.HARSH_BITS != 0)))] = True
    work.repairs[:, REPAIRS.index("constant_em")] += obd & given & ~telling
    telling &= obd
    work.harsh_source[telling] = HarshSource.DEVICE
    if not telling.any():
        return
    by_em = harsh.from_em(em, np.repeat(telling[work.own], np.diff(work.drives.starts)))
    work.rough = harsh.joined(work.rough.where(~telling[work.at(work.rough.samples)]), by_em)


def _style(work: Work, rules: Rules) -> None:
    """Find braking and corners if they cost points."""
    speed = work.speed
    if work.vague.any():
        speed = np.where(np.repeat(work.vague, np.diff(work.drives.starts)), np.nan, speed)
    if rules.style.braking_weight:
        work.brakings = style.brakings(work.drives, speed, work.spacing, work.steps_kmh, rules)
    if rules.style.cornering_weight:
        work.corners = style.corners(work.drives, speed, work.spacing, rules)


def _confirmation(work: Work, rules: Rules) -> None:
    """Leave out harsh events and brakings that positions contradict."""
    rough, brakings = work.rough, work.brakings
    wrong = confirmation.contradicted(work.drives, work.speed, rough.begins, rough.ends)
    if wrong.any():
        work.mended("unconfirmed", np.bincount(work.drives.at(rough.samples[wrong]), minlength=len(work.drives)))
        work.rough = rough.where(~wrong)
    wrong = confirmation.contradicted(work.drives, work.speed, brakings.first, brakings.last)
    if wrong.any():
        work.brakings = brakings.where(~wrong)


STEPS: Final[dict[str, Callable[[Work, Rules], None]]] = {
    "clocks": _clocks,
    "instants": _instants,
    "impossible_speeds": _impossible_speeds,
    "fixes": _fixes,
    "positions": _positions,
    "old_positions": _old_positions,
    "units": _units,
    "missing_speeds": _missing_speeds,
    "resolution": _resolution,
    "lone_speeds": _lone_speeds,
    "distances": _distances,
    "overspeed": _overspeed,
    "harsh": _harsh,
    "style": _style,
    "confirmation": _confirmation,
}
"""The steps for a block, in this order."""


class _Sampling(NamedTuple):
    """Sampling of each trip, as in `Findings`."""

    gaps: Ints
    period_ms: Ints


def _sampling(work: Work, rules: Rules) -> _Sampling:
    """Count the gaps of each trip and average its period."""
    drives = work.drives
    long = work.long[work.spacing[work.long] > rules.guards.gap_ms]
    gaps = np.bincount(work.at(long), minlength=len(work.repairs))
    filled = np.diff(drives.starts) > 0
    lasting = np.zeros(len(drives))
    lasting[filled] = drives.time_ms[drives.starts[1:][filled] - 1] - drives.time_ms[drives.starts[:-1][filled]]
    in_gaps = np.bincount(work.at(long), weights=work.spacing[long], minlength=len(work.repairs))
    counts = work.summed(np.maximum(np.diff(drives.starts) - 1, 0)) - gaps
    period = np.round((work.summed(lasting) - in_gaps) / np.maximum(counts, 1)).astype(np.int64)
    return _Sampling(gaps, period)


def _spans(work: Work, rules: Rules) -> Spans:
    """The time without gaps of each trip."""
    drives = work.drives
    gaps = work.long[work.spacing[work.long] > rules.guards.gap_ms]
    filled = np.diff(drives.starts) > 0
    first = np.sort(np.concatenate([drives.starts[:-1][filled], gaps + 1]))
    last = np.sort(np.concatenate([drives.starts[1:][filled] - 1, gaps]))
    return Spans(trip=work.at(first), begin_ms=drives.time_ms[first], end_ms=drives.time_ms[last])


def _dense(work: Work, rules: Rules) -> Flags:
    """True where the median interval is under the limit, by counting; only a draw needs the median itself."""
    long = work.long[work.spacing[work.long] >= rules.scoring.max_median_ms]
    counts = work.summed(np.maximum(np.diff(work.drives.starts) - 1, 0))
    long_counts = np.bincount(work.at(long), minlength=len(work.repairs))
    dense: Flags = (counts > 0) & (2 * long_counts < counts)
    for trip in np.flatnonzero((counts > 0) & (2 * long_counts == counts)):
        parts = [
            work.spacing[work.drives.starts[each] : max(work.drives.starts[each + 1] - 1, work.drives.starts[each])]
            for each in np.flatnonzero(work.own == trip)
        ]
        dense[trip] = np.median(np.concatenate(parts)) < rules.scoring.max_median_ms
    return dense


def _style_burden(work: Work, events: Events, rules: Rules) -> Floats:
    """The burden of each trip's driving style."""
    trips = len(work.repairs)
    burden: Floats = np.bincount(events.trip, weights=events.far_over, minlength=trips).astype(np.float64)
    for runs, weight in ((work.brakings, rules.style.braking_weight), (work.corners, rules.style.cornering_weight)):
        burden += weight * np.bincount(work.at(runs.first), minlength=trips)
    return burden


def _events(work: Work, rules: Rules) -> Events:
    """Harsh and overspeed events together, by sample index: trip and time, except where a clock steps."""
    drives, over, rough = work.drives, work.over, work.rough
    samples = np.concatenate([rough.samples, over])
    types = np.concatenate([rough.types, np.full(over.size, EventType.OVERSPEED, np.int8)])
    order = np.lexsort((types, samples))
    of_rough, of_over = np.zeros(rough.samples.size), np.zeros(over.size)
    begins = np.concatenate([rough.begins, over])[order]
    ends = np.concatenate([rough.ends, overspeed.nexts(drives, over)])[order]
    samples = samples[order]
    limits = overspeed.limits_kmh(drives, over, rules)
    seconds = overspeed.seconds(drives, over, work.spacing, rules)
    far_over = style.burden_of_over(work.speed[over], limits, seconds, rules)
    return Events(
        trip=work.at(samples),
        type=types[order],
        time_ms=drives.time_ms[samples],
        lat=drives.lat[samples],
        lon=drives.lon[samples],
        speed_kmh=np.nan_to_num(work.speed[samples]),
        limit_kmh=np.concatenate([of_rough, limits])[order],
        limit_source=np.concatenate(
            [np.full(rough.samples.size, LimitSource.NONE, np.int8), overspeed.sources(drives, over, rules)]
        )[order],
        road=np.concatenate([np.full(rough.samples.size, -1, np.int32), overspeed.roads(drives, over)])[order],
        begin_ms=drives.time_ms[begins],
        end_ms=drives.time_ms[ends],
        begin_kmh=np.nan_to_num(work.speed[begins]),
        end_kmh=np.nan_to_num(work.speed[ends]),
        rate=np.concatenate([rough.rates, of_over])[order],
        least=np.concatenate([rough.least, of_over])[order],
        row=np.concatenate([rough.rows, np.zeros(over.size, np.int8)])[order],
        counted_kmh=np.concatenate([of_rough, overspeed.tolerated_kmh(limits, rules)])[order],
        seconds=np.concatenate([of_rough, seconds])[order],
        far_over=np.concatenate([of_rough, far_over])[order],
    )
