"""The topics that a device may subscribe to."""

import pytest

from tripline.gateway.listener import may_subscribe

PREFIX = "v1/sensors/me/rpc/request/"


@pytest.mark.parametrize("wanted", [PREFIX + "+", PREFIX + "1", PREFIX + "a-b"])
def test_request_topics_are_granted(wanted):
    assert may_subscribe(wanted) is True


@pytest.mark.parametrize(
    "wanted",
    [
        "#",
        "+",
        PREFIX,
        PREFIX + "#",
        PREFIX + "1/2",
        PREFIX + "+/x",
        PREFIX + "1+",
        "v1/sensors/me/tre",
        "v1/sensors/+/rpc/request/+",
    ],
)
def test_other_topics_are_not_granted(wanted):
    assert may_subscribe(wanted) is False
