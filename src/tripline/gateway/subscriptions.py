"""The subscriptions of a device: the topic on which its requests come, and no other."""

from tripline.wire import topics


def may_subscribe(wanted: str) -> bool:
    """Whether this is the request filter or one exact topic under it (spec/interface, Device channel)."""
    request_id = wanted.removeprefix(topics.RPC_REQUEST)
    if request_id in (wanted, ""):
        return False
    return request_id == "+" or not set(request_id) & set("+#/")
