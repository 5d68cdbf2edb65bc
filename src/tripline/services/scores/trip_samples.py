"""Read the samples of a trip with the facts of its score, for a track.

Not here: the track itself (`track.py`), explaining the score (`explanation.py`).
"""

import msgspec

from tripline.domain import access, samples
from tripline.domain.access import Actor
from tripline.domain.refusals import NotFound
from tripline.services.scores import reads
from tripline.services.scores.reads import ScoreFacts
from tripline.store.scores import reads as score_reads
from tripline.store.scores import scores
from tripline.store.transactions import ReadTx


class TripSamples(msgspec.Struct, frozen=True):
    """The samples of a trip."""

    packed: bytes
    """As received (`domain/samples.py`)."""
    facts: ScoreFacts | None
    """None until the trip is judged."""


def read(tx: ReadTx, *, actor: Actor, of: str) -> TripSamples:
    """Return the samples of a trip that the actor may read. Raises `NotFound`, `Forbidden`, `TooLong`."""
    try:
        facts = reads.to_explain(tx, actor=actor, of=of)
    except reads.NoScoreYet:
        kept = score_reads.to_explain(tx, of)
        if kept.samples_bytes > reads.EXPLAINED * samples.RECORD.size:
            raise reads.TooLong("samples", field="tripId", most=reads.EXPLAINED) from None
        job = scores.as_if_asked(tx, kept.trip_no)
        if job is None:
            raise NotFound("id", thing=access.Thing.TRIP) from None
        return TripSamples(scores.task(tx, job).packed, None)
    return TripSamples(facts.task.packed, facts)
