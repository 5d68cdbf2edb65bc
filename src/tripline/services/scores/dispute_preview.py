"""Preview the score of a trip if a dispute were accepted.

Not here: accepting it (`disputes.py`).
"""

from typing import TYPE_CHECKING, NamedTuple

from tripline.domain import access, samples
from tripline.domain.access import Actor
from tripline.domain.disputes import Dispute
from tripline.domain.refusals import NotFound
from tripline.later import Later
from tripline.ports.maps import RoadMatcher
from tripline.scoring import rules as scoring_rules
from tripline.services.scores import disputes, reads
from tripline.store.scores import policies, scores
from tripline.store.scores import reads as score_reads
from tripline.store.scores.disputes import Annulled
from tripline.store.scores.policies import Policy
from tripline.store.scores.scores import Task
from tripline.store.transactions import ReadTx

if TYPE_CHECKING:
    from tripline.services.scores import explanation
else:
    # It imports numpy, which is loaded on first use.
    explanation = Later("tripline.services.scores.explanation")


class ToDecide(NamedTuple):
    """A dispute with the trip to judge."""

    dispute: Dispute
    task: Task
    policy: Policy
    """The policy of its score."""


def read(tx: ReadTx, *, actor: Actor, dispute_id: str) -> ToDecide:
    """Read a dispute that the actor may decide. Raises `NotFound`, `Forbidden`, `OwnDispute`, `TooLong`."""
    dispute = disputes.to_decide(tx, actor=actor, dispute_id=dispute_id)
    if score_reads.samples_bytes(tx, dispute.trip_no) > reads.EXPLAINED * samples.RECORD.size:
        raise reads.TooLong("samples", field="tripId", most=reads.EXPLAINED)
    job = scores.as_if_asked(tx, dispute.trip_no)
    if job is None:
        raise NotFound("id", thing=access.Thing.TRIP)
    no = score_reads.to_explain(tx, dispute.trip_id).policy or job.policy or 1
    policy = policies.one(tx, no) or Policy(1, scoring_rules.read(policies.FIRST))
    return ToDecide(dispute, scores.task(tx, job), policy)


def score_without(found: ToDecide, roads: RoadMatcher | None = None) -> float | None:
    """Return the score of the trip if the dispute is accepted; None: it would have none.

    Raises ValueError when packed samples are truncated, `Outage`.
    """
    event = found.dispute.event
    if event is None:
        return None
    annulled = Annulled(found.dispute.id, event.kind, event.begin_ms, event.end_ms)
    task = found.task._replace(annulled=(*found.task.annulled, annulled))
    return explanation.of_trip(task, found.policy.rules, (), utc_offset_ms=0, roads=roads).score
