"""What a device may subscribe to: the topic its requests come on, and nothing else."""

from tripline.wire import topics


def may_subscribe(wanted: str) -> bool:
    """Whether this is the request filter or one exact topic under it (interface specification, Device channel)."""
    request_id = wanted.removeprefix(topics.RPC_REQUEST)
    if request_id in (wanted, ""):
        return False
    return request_id == "+" or not set(request_id) & set("+#/")
