"""Read the samples of a trip with the facts of its score, for a track.

Not here: the track itself (`track.py`), explaining the score (`explanation.py`).
"""

import msgspec

from tripline.domain import samples
from tripline.domain.access import Actor
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
    facts = None
    try:
        facts = reads.to_explain(tx, actor=actor, of=of)
        trip_no = facts.kept.trip_no
    except reads.NoScoreYet:
        trip_no = score_reads.to_explain(tx, of).trip_no
    return TripSamples(packed(tx, trip_no), facts)


def packed(tx: ReadTx, trip_no: int) -> bytes:
    """Return the samples of a trip whose reader was admitted. Raises `TooLong`."""
    if score_reads.samples_bytes(tx, trip_no) > reads.EXPLAINED * samples.RECORD.size:
        raise reads.TooLong("samples", field="tripId", most=reads.EXPLAINED)
    return scores.samples(tx, trip_no)
