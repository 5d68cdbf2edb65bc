"""Store results, in the transaction that ends their jobs, so each result is stored once and completely.

A job is compared with its state before judging. If a microtrip, a trip message or a new request arrived in between, or
another process took the job over, the result is dropped and the job stays for the next round. A result equal to the
stored rows changes nothing, so ids and analysis times stay the same.
"""

from collections.abc import Sequence
from typing import NamedTuple
from zoneinfo import ZoneInfo

from msgspec.structs import replace

from tripline.domain import ids
from tripline.domain.ids import TimeIds
from tripline.scoring import policy
from tripline.scoring.rules import Accumulation
from tripline.scoring.score import ScoredTrip, TripScore
from tripline.services.scores import duplicates
from tripline.services.scores.judgement import Result
from tripline.store.scores import disputes, scores, sums
from tripline.store.scores.scores import Found
from tripline.store.transactions import WriteTx


def keep(tx: WriteTx, results: Sequence[Result], *, ids: TimeIds, now_ms: int, zone: ZoneInfo) -> list[Result]:
    """Store the results of unchanged jobs, end these jobs, and return the results. `zone`: decides a trip's day."""
    if tx.shared:
        # Trips before vehicles: a fixed lock order avoids deadlocks.
        scores.hold(tx, {each.job.trip_no for each in results})
        scores.hold_vehicles(tx, {each.job.vehicle_id for each in results if each.job.vehicle_id is not None})
    unchanged: list[Result] = []
    for result in results:
        if scores.job(tx, result.job.trip_no) == result.job:
            unchanged.append(result)
        elif tx.shared:
            # End our lease; a job with another time belongs to a new request or another process.
            scores.put_off(tx, result.job, due_ms=now_ms)
    trip_nos = [result.job.trip_no for result in unchanged]
    # Read before any change: `move` subtracts these shares from the sums and adds the new ones.
    shares = sums.held(tx, trip_nos)
    changes: dict[str, _Change] = {}
    kept: list[Result] = []
    for judged in unchanged:
        result = _counting(tx, judged)
        kept.append(result)
        before = scores.score(tx, result.job.trip_no)
        distance_m = 0.0 if result.score is None else result.score.distance_m
        place = sums.place_of(result.job.company_id, result.job.begun_ms, distance_m, result.quality, zone)
        if _is_kept(tx, result, before):
            sums.place(tx, result.job.trip_no, place)
            if scores.name_policy(tx, result.job.trip_no, result.policy):
                _change(changes, result, before, at_ms=now_ms)
        else:
            _change(changes, result, before, at_ms=_replace(tx, result, place, ids=ids, now_ms=now_ms))
        resampled = result.quality != result.job.quality  # late samples change their number
        if resampled or result.not_scored != result.job.not_scored:
            scores.note(tx, result.job.trip_no, result.not_scored, result.quality)
        if result.job.annulments:
            score = None if result.score is None else result.score.score
            disputes.note_score(tx, result.job.trip_no, score, now_ms=now_ms)
        scores.finish(tx, result.job.trip_no)
        duplicates.keep(
            tx,
            result.job.trip_no,
            result.job.vehicle_id,
            result.cover,
            counted=before is not None,
            counts=result.score is not None,
            moved=resampled,
            now_ms=now_ms,
        )
    of_trips = [Found(each.job.trip_no, each.policy.no, each.findings) for each in kept]
    scores.keep(tx, of_trips, now_ms=now_ms)
    for vehicle_id, change in changes.items():
        _accumulate(tx, vehicle_id, change)
    sums.move(tx, shares, sums.shares(tx, trip_nos))
    return kept


def _counting(tx: WriteTx, result: Result) -> Result:
    """Return the result, without score and events if another trip of the vehicle counts in its place."""
    job = result.job
    if result.score is None or duplicates.counting(tx, job.trip_no, job.vehicle_id, result.cover) is None:
        return result
    return replace(result, score=None, events=[], not_scored=duplicates.DUPLICATE)


def _is_kept(tx: WriteTx, result: Result, before: TripScore | None) -> bool:
    """True if the stored rows equal the result, but for the policy."""
    if before is None or result.score is None:
        return before is result.score
    if before._replace(added_m=result.score.added_m) != result.score:
        return False
    return scores.events(tx, result.job.trip_no) == result.events


def _replace(tx: WriteTx, result: Result, place: sums.Place, *, ids: TimeIds, now_ms: int) -> int:
    """Replace a trip's stored result, events before the score; return the time of analysis."""
    scores.forget(tx, result.job.trip_no)
    at_ms = now_ms
    if result.events:
        at_ms = 1 + _keep_events(tx, result, ids=ids, now_ms=now_ms)
    if result.score is not None:
        scores.keep_score(tx, result.job, result.score, place, policy=result.policy.no, at_ms=at_ms)
    return at_ms


def _keep_events(tx: WriteTx, result: Result, *, ids: TimeIds, now_ms: int) -> int:
    """Store the events under consecutive ids, all created in the millisecond of the first; return the last one's."""
    nos = ids.numbers(len(result.events), now_ms=now_ms)
    scores.keep_events(tx, result.job, result.events, ids=ids.texts(nos), nos=nos, at_ms=_created(nos[0]))
    return _created(nos[-1])


def _created(no: int) -> int:
    return ids.ms_of_no(no)


class _Change(NamedTuple):
    """A change of a vehicle's accumulated score."""

    more: policy.Sums
    """Sums that its trips add."""
    how: Accumulation
    at_ms: int


def _change(changes: dict[str, _Change], result: Result, before: TripScore | None, *, at_ms: int) -> None:
    vehicle_id = result.job.vehicle_id
    if vehicle_id is not None:
        known = changes.get(vehicle_id)
        more = _sums(result.score).plus(_sums(before), -1)
        changes[vehicle_id] = _Change(
            more if known is None else known.more.plus(more),
            result.policy.rules.scoring.accumulate,
            at_ms if known is None else max(known.at_ms, at_ms),
        )


def _sums(score: TripScore | None) -> policy.Sums:
    return policy.NOTHING if score is None else policy.sums([ScoredTrip(score.score, score.distance_m, score.added_m)])


def _accumulate(tx: WriteTx, vehicle_id: str, change: _Change) -> None:
    """Update a vehicle's accumulated score.

    The sums are exact, so adding and subtracting gives the same bits as summing all its trips.
    """
    before = scores.total(tx, vehicle_id)
    of_trips = change.more if before is None else policy.read(before.sums).plus(change.more)
    total = scores.Total(
        vehicle_id,
        created_ms=change.at_ms + 1,
        user_id=scores.newest_driver(tx, vehicle_id),
        trips=of_trips.trips,
        score=policy.accumulated(of_trips, change.how) if of_trips.trips else 0.0,
        distance_m=of_trips.distance_m,
        sums=of_trips.written(),
    )
    if change.more == policy.NOTHING and before is not None and _says(before) == _says(total):
        return  # Another policy gives the same score.
    scores.keep_total(tx, total)


def _says(total: scores.Total) -> tuple[int, float, float]:
    return total.trips, total.score, total.distance_m
