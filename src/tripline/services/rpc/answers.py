"""What devices answer to calls, taken in within the transaction of their batch (rpc.md 4 and 8)."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from tripline.domain.ids import SensorId, TimeIds
from tripline.services.hints import Hint
from tripline.store.transactions import WriteTx
from tripline.wire.readings import Rejected, RpcAnswer

UNKNOWN_CALL = "unknown_call"
"""Reason under which an answer to no call of this sensor is kept in the rejected-message log (R1, R2)."""

Answered = tuple[SensorId, str, RpcAnswer, int]
"""The sensor that answers, the topic, what it says, and its receipt, epoch ms."""
Refused = tuple[SensorId, str, int, Rejected]
"""Sensor, topic, receipt (epoch ms), and what is wrong, as the pipeline's."""


@dataclass(slots=True)
class Taken:
    """What follows from a batch's answers."""

    hints: list[Hint] = field(default_factory=list)
    """To be told after the commit."""
    refused: list[Refused] = field(default_factory=list)
    """Answers that belong to no call."""


def take_in(tx: WriteTx, answers: Sequence[Answered], *, ids: TimeIds, now_ms: int) -> Taken:
    """Keep every answer with its call, in the order received."""
    del tx, ids, now_ms
    taken = Taken()
    for sensor_id, topic, answer, received_ms in answers:
        refusal = Rejected(reason=UNKNOWN_CALL, detail="No call of this device has the Request-ID.", body=answer.body)
        taken.refused.append((sensor_id, topic, received_ms, refusal))
    return taken
