"""Answers of simulated devices to calls, in the manners of real ones (spec/rpc 4.2)."""

import msgspec
import pytest

from tripline.simulator import calls

ACTIVATION = b'{"method":"activationReq","params":{"vid":"12A3456","upp":2}}'


def answers(manner: str, request: bytes = ACTIVATION) -> list[tuple[str, object]]:
    return [
        ("result" if reply.is_result else "ack", msgspec.json.decode(reply.body))
        for reply in calls.replies(manner, request)
    ]


@pytest.mark.parametrize(
    ("manner", "expected"),
    [
        ("script", [("ack", {"results": 2000}), ("result", {"results": 2000, "additionalInfo": {}})]),
        ("sdk", [("ack", {"result": 2000}), ("result", {"results": 2000, "additionalInfo": {"vid": "12A3456"}})]),
        ("documented", [("ack", {"result": "2001"}), ("result", {"result": 2000, "addInfo": {"vid": "12A3456"}})]),
        ("overtaking", [("result", {"result": 2000, "addInfo": {"vid": "12A3456"}}), ("ack", {"result": "2001"})]),
        ("result-only", [("result", {"result": 2000, "addInfo": {"vid": "12A3456"}})]),
        ("ack-only", [("ack", {"results": 2000})]),
        ("refusing", [("ack", {"results": 4000})]),
        ("failing", [("ack", {"results": 2000}), ("result", {"results": 4002})]),
        ("silent", []),
    ],
)
def test_manner_answers_an_activation_as_its_clients_do(manner: str, expected: list[tuple[str, object]]) -> None:
    assert answers(manner) == expected


def test_script_sends_its_result_two_seconds_after_the_ack() -> None:
    assert [reply.after_s for reply in calls.replies("script", ACTIVATION)] == [0, 2]


def test_sdk_is_silent_to_what_it_does_not_know_and_tells_its_serial_number() -> None:
    assert answers("sdk", b'{"method":"turnOnReq","params":{}}') == []
    assert answers("sdk", b'{"method":"serial","params":""}')[1] == (
        "result",
        {"results": 2000, "additionalInfo": {"sn": "SIM-0001"}},
    )


@pytest.mark.parametrize("request_", [b"", b"x", b"[]", b'{"params":{}}', b'{"method":1}'])
def test_request_that_cannot_be_read_is_not_answered(request_: bytes) -> None:
    assert answers("script", request_) == []
