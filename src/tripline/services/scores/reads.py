"""Read scores and GPS events, within the actor's reach.

Pages are read directly from `store/scores/reads.py` after admission (`services/admission.py`). Not here: computing
scores (`services/scores`, `scoring/`).
"""

from typing import Final

import msgspec

from tripline.domain import access, samples
from tripline.domain.access import Action, Actor, Thing
from tripline.domain.disputes import Dispute
from tripline.domain.ids import TripId
from tripline.domain.refusals import BadParameter, NotFound
from tripline.domain.scores import WhyNot, why_not
from tripline.domain.trips import State
from tripline.scoring import quality
from tripline.scoring.rules import Rules
from tripline.services import admission
from tripline.services.scores import duplicates
from tripline.store.scores import covers, disputes, policies, scores
from tripline.store.scores import reads as score_reads
from tripline.store.scores.policies import Policy
from tripline.store.scores.reads import Explainable, StoredEvent, Version
from tripline.store.scores.scores import Task, Total
from tripline.store.transactions import ReadTx

EXPLAINED: Final = 200_000
"""Most samples of a trip that can be explained: two days at one a second, 60 MB while it is judged."""
_FEW_EVENTS: Final = 100
_SMALL_BYTES: Final = 8_192
"""Up to so many events and bytes of findings, an explanation takes less than a thread hop or not much more."""
_MANY_EVENTS: Final = 1_000
"""Up to so many events, explanations of a few trips make a page wait for tens of milliseconds."""


class NoScoreYet(NotFound):
    """There is no score to show; the text says why."""

    code = "score.none"


def trip_score(tx: ReadTx, *, actor: Actor, of: str) -> score_reads.Row:
    """Return the score of a trip (`analytics.SCORE`). Raises `NotFound`, `Forbidden`, `NoScoreYet`."""
    admission.admit(tx, actor, Action.DRIVING_READ, Thing.TRIP, of)
    found = score_reads.score_of_trip(tx, of)
    if found is None:
        standing = score_reads.why_no_score(tx, of)
        raise _not_scored(standing.state, standing.not_scored)
    return found


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """Distance and score of a trip, or the reason it has no score."""

    under_way: bool = False
    distance_m: float | None = None
    """From scoring, or from the device if the trip has no score; None: unknown."""
    score: float | None = None
    """0 to 100."""
    limit_known: float = 0.0
    """Share of the distance with a speed limit from a map, 0 to 1."""
    harsh_known: bool = True
    """`Quality.harsh_known`."""
    why_not: WhyNot | None = None
    """Reason it has no score; None: it has one, or is waiting for it."""


def outcome(tx: ReadTx, trip_id: TripId) -> Outcome:
    """Return the outcome of an existing trip. The caller has checked access."""
    kept = score_reads.outcome(tx, trip_id)
    if kept.state == State.OPEN:
        # A trip that continued after its end may still have an earlier score.
        return Outcome(under_way=True)
    found = None if kept.quality is None else quality.read(kept.quality)
    stated_m = kept.stated_m if kept.stated_m is not None and kept.stated_m > 0 else None
    return Outcome(
        distance_m=stated_m if kept.scored_m is None else kept.scored_m,
        score=kept.score,
        limit_known=0.0 if found is None else found.limits.known,
        harsh_known=found is None or found.harsh_known,
        why_not=None if kept.score is not None or kept.not_scored is None else why_not(kept.not_scored),
    )


class Rejudged(msgspec.Struct, frozen=True):
    """A trip to judge again: its findings are of an earlier version of the program, or events may be annulled."""

    task: Task
    policy: Policy


class ScoreFacts(msgspec.Struct, frozen=True):
    """A trip to explain."""

    kept: Explainable
    events: list[StoredEvent]
    """Its stored GPS events."""
    disputes: list[Dispute]
    """All disputes of the trip."""
    explained_by: int
    """Number of the policy that explains it."""
    rejudged: Rejudged | None = None
    """None: its findings are stored."""
    counting: TripId | None = None
    """If the trip is a duplicate: the trip that counts in its place."""


class TooLong(BadParameter):
    """A trip with so many samples, or a vehicle with so many scored trips, is not explained."""

    code = "score.too_long"


def to_explain(tx: ReadTx, *, actor: Actor, of: str) -> ScoreFacts:
    """Read the data that explains the score of a trip, or its absence.

    Raises `NotFound`, `Forbidden`, `TooLong`, and `NoScoreYet` until the trip is judged.
    """
    return _facts(tx, _explainable(tx, actor, of))


def to_explain_at_once(tx: ReadTx, *, actor: Actor, of: str) -> ScoreFacts | None:
    """As `to_explain`; None if that takes long: findings are of an earlier version, or there are many events."""
    kept = _explainable(tx, actor, of)
    is_short = kept.events <= _FEW_EVENTS and len(kept.findings or b"") <= _SMALL_BYTES
    return _facts(tx, kept) if is_short and kept.version == scores.VERSION else None


def to_explain_stored(tx: ReadTx, *, actor: Actor, of: str) -> ScoreFacts | None:
    """As `to_explain`; None without findings of this version, or with more than `_MANY_EVENTS`."""
    kept = _explainable(tx, actor, of)
    return _facts(tx, kept) if kept.version == scores.VERSION and kept.events <= _MANY_EVENTS else None


def _explainable(tx: ReadTx, actor: Actor, trip_id: str) -> Explainable:
    admission.admit(tx, actor, Action.DRIVING_READ, Thing.TRIP, trip_id)
    kept = score_reads.to_explain(tx, trip_id)
    if kept.score is None and kept.not_scored is None:
        raise _not_scored(kept.state, None)
    return kept


def _facts(tx: ReadTx, kept: Explainable) -> ScoreFacts:
    rejudged = None if kept.version == scores.VERSION else rejudged_of(tx, kept)
    return ScoreFacts(
        kept,
        score_reads.events_of_trip(tx, kept.trip_no) if kept.events else [],
        disputes.of_trip(tx, kept.trip_no) if kept.disputes else [],
        (kept.explained_by or 0) if rejudged is None else rejudged.policy.no,
        rejudged,
        _counting(tx, kept) if kept.not_scored == WhyNot.DUPLICATE.value else None,
    )


def version(tx: ReadTx, *, actor: Actor, of: str) -> str:
    """The version of a trip's explanation, scored or not. Raises `NotFound`, `Forbidden`."""
    admission.admit(tx, actor, Action.DRIVING_READ, Thing.TRIP, of)
    return version_text(score_reads.version(tx, of))


def version_text(of: Version | Explainable) -> str:
    """The version as text, to compare."""
    return f"{of.changed_ms or 0:x}-{of.latest or 0:x}"


def rejudged_of(tx: ReadTx, kept: Explainable) -> Rejudged:
    """The samples of a trip and the policy to judge it by. Raises `NotFound`, `TooLong`."""
    _require_short(tx, kept.trip_no)
    job = scores.as_if_asked(tx, kept.trip_no)
    if job is None:
        raise NotFound("id", thing=access.Thing.TRIP)
    return Rejudged(scores.task(tx, job), policies.of_result(tx, kept.policy or job.policy or 1))


def _counting(tx: ReadTx, kept: Explainable) -> TripId | None:
    """The trip that counts in place of a duplicate."""
    cover = covers.of_trip(tx, kept.trip_no)
    found = duplicates.counting(tx, kept.trip_no, score_reads.vehicle_of_trip(tx, kept.trip_no), cover)
    return None if found is None else TripId(found.trip_id)


def vehicle_total(tx: ReadTx, *, actor: Actor, of: str) -> Total:
    """Return the accumulated score of a vehicle. Raises `NotFound`, `Forbidden`, `NoScoreYet`."""
    admission.admit(tx, actor, Action.DRIVING_READ, Thing.VEHICLE, of)
    found = score_reads.total_of_vehicle(tx, of)
    if found is None:
        raise NoScoreYet("vehicle")
    return found


def _not_scored(state: str, reason: str | None) -> NoScoreYet:
    if reason is not None:
        return NoScoreYet("not_scored", why=why_not(reason), reason=reason)
    return NoScoreYet("open") if state == State.OPEN else NoScoreYet("waiting")


class TripSamples(msgspec.Struct, frozen=True):
    """The samples of a trip."""

    packed: bytes
    """As received (`domain/samples.py`)."""
    facts: ScoreFacts | None
    """None until the trip is judged."""
    rules: Rules
    """Of the policy that judges the trip; the default until then."""


def samples_to_read(tx: ReadTx, *, actor: Actor, of: str) -> TripSamples:
    """Return the samples of a trip that the actor may read. Raises `NotFound`, `Forbidden`, `TooLong`."""
    facts, rules = None, Rules()
    try:
        facts = to_explain(tx, actor=actor, of=of)
        trip_no = facts.kept.trip_no
        rules = policies.of_result(tx, facts.explained_by).rules
    except NoScoreYet:
        trip_no = score_reads.to_explain(tx, of).trip_no
    return TripSamples(packed_samples(tx, trip_no), facts, rules)


def packed_samples(tx: ReadTx, trip_no: int) -> bytes:
    """Return the samples of a trip whose reader was admitted. Raises `TooLong`."""
    _require_short(tx, trip_no)
    return scores.samples(tx, trip_no)


def _require_short(tx: ReadTx, trip_no: int) -> None:
    if score_reads.samples_bytes(tx, trip_no) > EXPLAINED * samples.RECORD.size:
        raise TooLong("samples", field="tripId", most=EXPLAINED)
