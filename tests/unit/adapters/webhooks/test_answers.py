"""Answers of customers' servers, byte by byte."""

import pytest

from tripline.adapters.webhooks.answers import LINE_MAX, REST_MAX, Answer, GarbageError

PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def fed(*parts):
    answer = Answer()
    for part in parts:
        answer.feed(part)
    return answer.status, answer.reusable, answer.hopeless


@pytest.mark.parametrize(
    "raw",
    [
        PLAIN,
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 X\r\nA: b\r\n\r\n" + PLAIN,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        b"HTTP/1.1 204\r\n\r\n",
    ],
)
def test_answer_is_the_same_however_its_bytes_are_cut(raw):
    whole = fed(raw)

    assert whole == (int(raw.rpartition(b"HTTP/1.1 ")[2][:3]), True, False)
    assert fed(*(raw[at : at + 1] for at in range(len(raw)))) == whole
    for cut in range(1, len(raw)):
        assert fed(raw[:cut], raw[cut:]) == whole


def test_status_is_there_with_the_last_byte_of_its_line():
    line = b"HTTP/1.1 201 Created\r\n"

    assert fed(line[:-1]) == (None, False, False)
    assert fed(line) == (201, False, False)


@pytest.mark.parametrize(("size", "well"), [(LINE_MAX - 1, True), (LINE_MAX, True), (LINE_MAX + 1, False)])
def test_status_line_has_a_greatest_length(size, well):
    line = b"HTTP/1.1 200 " + b"x" * (size - 15) + b"\r\n"

    assert len(line) == size
    if well:
        assert fed(line)[0] == 200
    else:
        with pytest.raises(GarbageError):
            fed(line)


@pytest.mark.parametrize(("size", "well"), [(REST_MAX - 1, True), (REST_MAX, True), (REST_MAX + 1, False)])
def test_answer_that_is_read_to_its_end_has_a_greatest_length(size, well):
    head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"
    body = size - len(head % size)

    assert fed(head % body + b"x" * body) == (200, well, not well)


def test_bytes_behind_the_end_spoil_the_connection():
    assert fed(PLAIN, b"x") == (200, False, True)
    assert fed(PLAIN + PLAIN) == (200, False, True)
    assert fed(PLAIN + b"garbage") == (200, False, True)


def test_switching_protocols_is_no_interim_answer():
    assert fed(b"HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n")[0] == 101


def later(*parts):
    answer = Answer()
    for part in parts:
        answer.feed(part)
    return answer.status, answer.retry_after, answer.decided


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_is_there_with_the_last_byte_of_the_headers(status):
    head = b"HTTP/1.1 %d X\r\nServer: x\r\nretry-AFTER:  120 \r\n" % status

    assert later(head)[2] is False
    assert later(head, b"\r\n") == (status, "120", True)
    assert later(*(bytes([each]) for each in head + b"\r\n")) == (status, "120", True)


@pytest.mark.parametrize("status", [200, 408, 410, 500, 502])
def test_retry_after_of_other_statuses_is_not_waited_for(status):
    line = b"HTTP/1.1 %d X\r\n" % status

    assert later(line) == (status, None, True)
    assert later(line, b"Retry-After: 120\r\n\r\n") == (status, None, True)


def test_headers_that_cannot_be_read_or_are_too_long_are_not_waited_for():
    assert later(b"HTTP/1.1 503 X\r\n", b"\x00\x00: \r\n")[2]
    assert later(b"HTTP/1.1 503 X\r\n", b"A: " + b"x" * REST_MAX)[2]


def test_retry_after_in_a_trailer_or_a_body_is_none():
    chunked = b"HTTP/1.1 503 X\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nRetry-After: 9\r\n\r\n"

    assert later(chunked) == (503, None, True)
    assert later(b"HTTP/1.1 503 X\r\nContent-Length: 16\r\n\r\nRetry-After: 9\r\n") == (503, None, True)
