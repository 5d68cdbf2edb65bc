"""Bytes of calls to devices and of their answers (rpc.md 2 to 4).

Not here: what follows from an answer (`services/rpc/`).
"""

from tripline.wire import topics
from tripline.wire.readings import RpcAnswer


def answer(topic: str, body: bytes) -> RpcAnswer | None:
    """The answer that came on the topic; None for a topic that no answer comes on."""
    for prefix, is_result in ((topics.RPC_RESPONSE, False), (topics.RPC_RESULT, True)):
        request_id = topic.removeprefix(prefix)
        if request_id != topic and request_id and "/" not in request_id:
            return RpcAnswer(is_result=is_result, request_id=request_id, body=body)
    return None
