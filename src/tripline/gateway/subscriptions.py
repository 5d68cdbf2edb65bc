"""The only subscriptions of a device: topics of requests to it."""

from tripline.wire import topics


def may_subscribe(wanted: str) -> bool:
    """True for the request filter and for one exact topic under it (spec/interface, Device channel)."""
    request_id = wanted.removeprefix(topics.RPC_REQUEST)
    if request_id in (wanted, ""):
        return False
    return request_id == "+" or not set(request_id) & set("+#/")
