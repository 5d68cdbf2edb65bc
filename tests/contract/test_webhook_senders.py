"""`ports.webhooks.WebhookSender`: requests over HTTP to real servers on the loopback, most of which misbehave."""

import asyncio
import contextlib
import datetime
import socket
import ssl
import threading
import time

import pytest
from tests.support import certificates, receivers, waits
from tests.support.clocks import SteppedLoop, stepped
from tests.support.receivers import OK, SILENT, Receiver, Reply, Then, serving, status

from tripline.adapters.webhooks import sender as webhook_sender
from tripline.adapters.webhooks import targets
from tripline.adapters.webhooks.addresses import AddressGuard
from tripline.adapters.webhooks.answers import LINE_MAX, REST_MAX, START_MAX
from tripline.adapters.webhooks.sender import HttpWebhooks
from tripline.ports.webhooks import Answered, Listening, Webhook, WebhookFailedError, WebhookUnansweredError

SECRET_PATH = "/secret-path"
BODY = '{"ty":"EVENT","pld":{"메모":"값"}}'.encode()


@contextlib.asynccontextmanager
async def sending(*, timeout_s=5.0, allow_private=True, tls=None, resolve=None):
    guard = AddressGuard(allow_private=allow_private, **({} if resolve is None else {"resolve": resolve}))
    sender = HttpWebhooks(timeout_s=timeout_s, guard=guard, tls=tls)
    try:
        yield sender
    finally:
        await sender.close()


def hook(receiver, url=None, *headers, body=BODY):
    return Webhook(url or f"http://127.0.0.1:{receiver.port}{SECRET_PATH}?q=1", headers, body)


def answered(*replies, times=1, timeout_s=5.0):
    """Statuses, or texts of errors, of requests one after the other; and the server."""

    async def scenario():
        left = list(replies)
        receiver = Receiver(lambda _: left.pop(0) if len(left) > 1 else left[0])
        said = []
        async with serving(receiver), sending(timeout_s=timeout_s) as sender:
            for _ in range(times):
                try:
                    said.append((await sender.post(hook(receiver))).status)
                except WebhookFailedError as failed:
                    said.append(str(failed))
        return said, receiver

    return asyncio.run(scenario())


async def test_request_is_a_post_with_its_headers_and_its_body_byte_for_byte():
    async with serving(Receiver()) as receiver, sending() as sender:
        asked = hook(receiver, None, ("Content-Type", "application/json; charset=utf-8"), ("webhook-id", "1"))
        code = (await sender.post(asked)).status

    (request,) = receiver.requests
    assert code == 200
    assert request.line == f"POST {SECRET_PATH}?q=1 HTTP/1.1"
    assert request.body == BODY
    assert request.headers == {
        "host": f"127.0.0.1:{receiver.port}",
        "user-agent": "Tripline",
        "accept-encoding": "identity",
        "content-type": "application/json; charset=utf-8",
        "webhook-id": "1",
        "content-length": str(len(BODY)),
    }


@contextlib.contextmanager
def swallowing(port):
    """An address of a network that swallows what is sent to it."""
    with contextlib.ExitStack() as opened:
        deaf = opened.enter_context(socket.socket())
        deaf.bind(("127.0.0.2", port))
        deaf.listen(0)
        for _ in range(4):  # as many as wait for a server that never accepts; the others are not even refused
            waiting = opened.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(("127.0.0.2", port))
        yield "127.0.0.2"


async def test_address_that_swallows_everything_leaves_time_for_the_next():
    async with serving(Receiver()) as receiver:
        with swallowing(receiver.port) as deaf:
            async with sending(timeout_s=4, resolve=lambda _: [deaf, "127.0.0.1"]) as sender:
                found = (await sender.post(hook(receiver, f"http://customer.example:{receiver.port}/"))).status

    assert found == 200


@pytest.mark.parametrize("code", [200, 201, 204, 299, 301, 302, 400, 404, 408, 410, 429, 500, 503, 599])
def test_status_is_what_the_server_said(code):
    assert answered(Reply(status(code)))[0] == [code]


@pytest.mark.parametrize("then", [Then.HANG, Then.DRIP, Then.FLOOD, Then.CLOSE, Then.KEEP])
@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200\r\n",
        b"HTTP/1.0 200 OK\n",
        b"HTTP/1.1 200 OK\r\nX-Head: ",
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9999999\r\n\r\nx",
        b"HTTP/1.1 200 OK\r\nContent-Length: minus one\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFF\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nno number\r\n",
        b"HTTP/1.1 200 OK\r\n\x00\x01\x02: garbage\r\n",
    ],
    ids=lambda raw: repr(raw[-24:]),
)
def test_status_line_alone_decides_whatever_follows_it(raw, then):
    began_s = time.monotonic()

    said, _ = answered(Reply(raw, then), times=3)

    assert said == [200, 200, 200]
    assert time.monotonic() - began_s < 2


@pytest.mark.parametrize(
    "raw",
    [
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"<html>200</html>\r\n",
        b"HTTP/2.0 200 OK\r\n",
        b"HTTP/1.1 20 OK\r\n",
        b"HTTP/1.1 2000 OK\r\n",
        b"HTTP/1.1 abc OK\r\n",
        b"\x16\x03\x01\x00\x05hello\n",
        b"x" * LINE_MAX,
        b"HTTP/1.1 200 " + b"x" * LINE_MAX + b"\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 9,
        b"HTTP/1.1 100 Continue\r\nX: " + b"x" * LINE_MAX,
    ],
    ids=lambda raw: repr(raw[:24]),
)
def test_what_is_no_answer_fails_at_once(raw):
    assert answered(Reply(raw, Then.HANG))[0] == ["The answer is not HTTP."]


@pytest.mark.parametrize("reason", [b"", b" ", b" \xec\x84\xb1\xea\xb3\xb5", b" " + b"x" * (LINE_MAX - 15)])
def test_reason_of_a_status_line_may_be_anything_up_to_its_limit(reason):
    assert answered(Reply(b"HTTP/1.1 200" + reason + b"\r\n", Then.HANG))[0] == [200]


@pytest.mark.parametrize("raw", [b"", b"HTTP/1.1 20", b"HTTP/1.1 200 OK", b"HTTP/1.1 100 Continue\r\n\r\n"])
def test_connection_that_ends_before_a_status_line_fails(raw):
    assert answered(Reply(raw, Then.CLOSE))[0] == ["The connection ended before a status line."]


@pytest.mark.parametrize(
    "reply",
    [
        Reply(b"HTTP/1.1 200 OK", Then.HANG),
        Reply(b"H", Then.HANG),
        Reply(b"HTTP/1.1 100 Continue\r\nX: y", Then.DRIP),
        Reply(b"HTTP/1.1 100 Continue\r\n\r\n", Then.HANG),
    ],
    ids=lambda reply: repr(reply.raw),
)
async def test_no_status_line_in_time_fails_and_hangs_up(reply):
    receiver = Receiver(lambda _: reply)
    async with serving(receiver), sending(timeout_s=0.2) as sender:
        with pytest.raises(WebhookFailedError) as failed:
            await sender.post(hook(receiver))
        await receiver.until_left()

    assert str(failed.value) == "No status line came in time."


# Servers that take the whole request and say nothing (spec/push M1 to M3)


async def test_m1_server_that_takes_the_whole_request_and_says_nothing_is_told_apart():
    receiver = Receiver(lambda _: SILENT)
    async with serving(receiver), sending(timeout_s=0.2) as sender:
        with pytest.raises(WebhookUnansweredError) as unanswered:
            await sender.post(hook(receiver))
        await receiver.until_left()

    assert (str(unanswered.value), receiver.bodies) == ("The server accepted the message but did not answer.", [BODY])


async def test_m1_server_that_says_nothing_over_tls_is_told_apart(tmp_path):
    made = certificates.make(tmp_path)

    receiver = Receiver(lambda _: SILENT)
    async with (
        serving(receiver, tls=made.server_context()),
        sending(timeout_s=1.0, tls=made.client_context()) as sender,
    ):
        with pytest.raises(WebhookUnansweredError):
            await sender.post(hook(receiver, f"https://127.0.0.1:{receiver.port}/"))


@pytest.mark.parametrize(
    "reply",
    [
        Reply(b"H", Then.HANG),
        Reply(b"HTTP/1.1 100 Continue\r\n\r\n", Then.HANG),
        Reply(b"garbage\r\n", Then.HANG),
        Reply(b"", Then.CLOSE, after_s=0.1),
        Reply(b"", Then.SHUT, after_s=0.1),
        Reply(b"", Then.RESET, after_s=0.1),
    ],
    ids=lambda reply: f"{reply.raw!r} {reply.then.name}",
)
async def test_m1_byte_or_end_of_the_connection_is_not_silence(reply):
    receiver = Receiver(lambda _: reply)
    async with serving(receiver), sending(timeout_s=0.4) as sender:
        with pytest.raises(WebhookFailedError) as failed:
            await sender.post(hook(receiver))

    assert isinstance(failed.value, WebhookUnansweredError) is False


async def test_m1_server_that_does_not_take_the_whole_request_is_not_silent():
    async def stuff(reader, writer):
        await held.wait()
        writer.close()

    held = asyncio.Event()
    server = await asyncio.start_server(stuff, "127.0.0.1", 0, limit=1)
    port = server.sockets[0].getsockname()[1]
    async with server, sending(timeout_s=0.5) as sender:
        with pytest.raises(WebhookFailedError) as failed:
            await sender.post(Webhook(f"http://127.0.0.1:{port}/", (), b"x" * 32_000_000))
        held.set()

    assert str(failed.value) == "No status line came in time."


async def test_m1_server_that_is_silent_on_a_connection_that_waited_gets_a_new_one():
    receiver = Receiver()
    async with serving(receiver), sending(timeout_s=0.2) as sender:
        await asyncio.gather(*(sender.post(hook(receiver)) for _ in range(3)))
        receiver.answer = lambda request: SILENT if request.connection <= 3 else OK
        with pytest.raises(WebhookUnansweredError):
            await sender.post(hook(receiver))
        found = (await sender.post(hook(receiver))).status

    assert found == 200


async def test_connecting_and_answering_have_their_time_each():
    def resolve(_):
        time.sleep(0.6)
        return ["127.0.0.1"]

    receiver = Receiver(lambda _: Reply(status(200), after_s=0.6))
    async with serving(receiver), sending(timeout_s=1.0, resolve=resolve) as sender:
        found = (await sender.post(hook(receiver, f"http://slow.example:{receiver.port}/"))).status

    assert found == 200


def listened(reply, *, place_s=0.05, timeout_s=1.0, until=lambda heard, receiver: True):
    """What a request that listens on is answered, what is heard later, and how long it took."""

    async def scenario():
        receiver, heard = Receiver(lambda _: reply), []
        async with serving(receiver), sending(timeout_s=timeout_s) as sender:
            began_s = time.monotonic()
            try:
                said = await sender.post(hook(receiver), Listening(place_s, heard.append))
            except WebhookFailedError as failed:
                said = str(failed)
            took_s = time.monotonic() - began_s
            await waits.until(lambda: until(heard, receiver), within_s=20)
        return said, heard, took_s

    return asyncio.run(scenario())


def test_m2_request_to_a_mute_server_counts_as_sent_after_its_place_and_its_connection_listens_on():
    said, heard, took_s = listened(SILENT, until=lambda _, receiver: not receiver.open_connections)

    assert (said, heard) == (None, [])
    assert took_s < 1, "it waited until the timeout"


@pytest.mark.parametrize("code", [200, 204, 404, 500])
def test_m3_status_line_that_comes_while_a_connection_listens_is_told(code):
    said, heard, _ = listened(Reply(status(code), after_s=0.3), until=lambda heard, _: heard)

    assert (said, heard) == (None, [Answered(code)])


@pytest.mark.parametrize("code", [200, 503])
def test_m3_status_line_that_comes_in_time_is_the_answer(code):
    said, heard, _ = listened(Reply(status(code)), place_s=0.9)

    assert (said, heard) == (Answered(code), [])


@pytest.mark.parametrize(
    "reply",
    [Reply(b"garbage\r\n", Then.HANG, after_s=0.2), Reply(b"", Then.CLOSE, after_s=0.2)],
    ids=["garbage", "end"],
)
def test_m3_what_is_no_status_line_tells_nothing(reply):
    said, heard, _ = listened(reply, until=lambda _, receiver: not receiver.open_connections)

    assert (said, heard) == (None, [])


def test_m2_server_that_began_to_answer_is_waited_for():
    said, heard, _ = listened(Reply(b"HTTP/1.1 20", Then.HANG), timeout_s=0.4)

    assert (said, heard) == ("No status line came in time.", [])


async def test_connections_that_listen_are_bounded(monkeypatch):
    monkeypatch.setattr(webhook_sender, "LISTENING_PER_TARGET", 5)

    receiver = Receiver(lambda _: SILENT)
    async with serving(receiver), sending(timeout_s=30) as sender:
        for _ in range(12):
            await sender.post(hook(receiver), Listening(0.001, lambda _: None))
        await waits.until(lambda: receiver.open_connections <= 5, within_s=20)
        found = receiver.connections, receiver.open_connections

    assert found == (12, 5)


@pytest.mark.parametrize("interim", [b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\n"])
def test_interim_answers_are_passed_over(interim):
    said, receiver = answered(Reply(interim * 2 + status(202)), times=2)

    assert said == [202, 202]
    assert receiver.connections == 1


@pytest.mark.parametrize(
    ("reply", "retry_after"),
    [
        (Reply(status(503, "Retry-After: 120", body=b"busy")), "120"),
        (Reply(status(429, "retry-after: Sun, 06 Nov 1994 08:49:37 GMT")), "Sun, 06 Nov 1994 08:49:37 GMT"),
        (Reply(status(503)), None),
        (Reply(status(500, "Retry-After: 120")), None),
        (Reply(b"HTTP/1.1 503 X\r\nRetry-After: 7\r\n\r\n", Then.HANG), "7"),
        (Reply(b"HTTP/1.1 503 X\r\nRetry-After: 7\r\nA: b", Then.CLOSE), "7"),
        (Reply(b"HTTP/1.1 503 X\r\n", Then.CLOSE), None),
        (Reply(b"HTTP/1.1 503 X\r\n", Then.RESET), None),
        (Reply(b"HTTP/1.1 503 X\r\n", Then.HANG), None),
        (Reply(b"HTTP/1.1 503 X\r\nA: b", Then.DRIP), None),
        (Reply(b"HTTP/1.1 503 X\r\nA: b", Then.FLOOD), None),
    ],
)
@pytest.mark.parametrize("timeout_s", [0.3, 5.0])
async def test_answer_that_says_later_has_a_moment_for_its_headers(reply, retry_after, timeout_s):
    async with serving(Receiver(lambda _: reply)) as receiver, sending(timeout_s=timeout_s) as sender:
        began_s = time.monotonic()
        said = await sender.post(hook(receiver))
        took_s = time.monotonic() - began_s
        if reply.then is not Then.KEEP:
            await receiver.until_left()

    assert said.status == int(reply.raw[9:12])
    assert said.retry_after == retry_after
    assert took_s < 2


async def test_redirect_is_not_followed():
    other = Receiver()
    async with serving(other):
        receiver = Receiver(lambda _: Reply(status(307, f"Location: {other.url}")))
        async with serving(receiver), sending() as sender:
            found = (await sender.post(hook(receiver))).status, other.requests

    assert found == (307, [])


@pytest.mark.parametrize(
    "raw",
    [
        status(200),
        status(200, body=b"x" * (REST_MAX - 100)),
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        b"HTTP/1.1 204 No Content\r\n\r\n",
        status(500, body=b"oops"),
    ],
    ids=lambda raw: repr(raw[:44]),
)
def test_connection_of_an_answer_that_ended_carries_the_next_request(raw):
    _, receiver = answered(Reply(raw), times=3)

    assert receiver.connections == 1


@pytest.mark.parametrize(
    "raw",
    [
        status(200, "Connection: close"),
        status(200).replace(b"HTTP/1.1", b"HTTP/1.0"),
        status(200, body=b"x" * REST_MAX),
        status(200) + b"HTTP/1.1 200 OK\r\n",
        status(200) + b"more",
        b"HTTP/1.1 200 OK\r\n\r\n",
    ],
    ids=lambda raw: repr(raw[-24:]),
)
def test_connection_of_any_other_answer_carries_no_other_request(raw):
    said, receiver = answered(Reply(raw), times=3)

    assert said == [200] * 3
    assert receiver.connections == 3


async def test_connection_that_the_server_closed_while_it_waited_is_replaced_unnoticed():
    receiver = Receiver()
    async with sending() as sender:
        async with serving(receiver):
            await sender.post(hook(receiver))
        async with serving(receiver, port=receiver.port):
            found = (await sender.post(hook(receiver))).status, len(receiver.requests)

    assert found == (200, 2)


def test_waiting_connection_that_ends_with_the_request_is_tried_once_more_on_a_new_one():
    said, receiver = answered(OK, Reply(b"", Then.CLOSE), OK, times=2)

    assert said == [200, 200]
    assert [request.connection for request in receiver.requests] == [1, 1, 2]


def test_waiting_connection_that_ends_amid_an_answer_is_not_tried_again():
    said, receiver = answered(OK, Reply(b"HTTP/1.1", Then.CLOSE), OK, times=2)

    assert said == [200, "The connection ended before a status line."]
    assert len(receiver.requests) == 2


async def test_bytes_that_nobody_asked_for_end_a_waiting_connection():
    receiver = Receiver(lambda _: OK)
    async with serving(receiver), sending() as sender:
        await sender.post(hook(receiver))
        receiver.answer = lambda _: Reply(status(201))
        found = (await sender.post(hook(receiver))).status

    assert found == 201


@pytest.mark.parametrize(("posts", "kept"), [(2, 2), (3, 3), (4, 3)])
@pytest.mark.parametrize(
    ("bound", "hosts"), [("KEPT_PER_TARGET", ["a.example"]), ("KEPT", ["a.example", "b.example"])], ids=["one", "all"]
)
async def test_server_that_never_ends_its_answers_holds_a_bounded_number_of_connections(
    monkeypatch, posts, kept, bound, hosts
):
    monkeypatch.setattr(webhook_sender, bound, 3)
    monkeypatch.setattr(webhook_sender, "LINGER_S", 60.0)

    receiver = Receiver(lambda _: receivers.STATUS_LINE_ONLY)
    async with serving(receiver), sending(resolve=lambda _: ["127.0.0.1"]) as sender:
        for number in range(posts):
            host = hosts[number % len(hosts)]
            await sender.post(hook(receiver, f"http://{host}:{receiver.port}/"))
        await waits.until(lambda: receiver.open_connections <= kept)  # the server hears of an end a moment later
        found = receiver.open_connections

    assert found == kept


@pytest.mark.parametrize(
    ("reply", "bound_s"), [(receivers.STATUS_LINE_ONLY, 1.0), (OK, 15.0)], ids=["never ends", "ended"]
)
@pytest.mark.parametrize(("more_s", "kept"), [(-0.1, 1), (0.0, 0), (0.1, 0)])
def test_connection_is_kept_for_its_time(reply, bound_s, more_s, kept):
    async def scenario():
        receiver = Receiver(lambda _: reply)
        async with serving(receiver), sending() as sender:
            await sender.post(hook(receiver))
            await stepped().move(bound_s + more_s)
            open_connections = receiver.open_connections
            stepped().go()
            return open_connections

    with asyncio.Runner(loop_factory=SteppedLoop) as runner:
        assert runner.run(scenario()) == kept


async def test_server_that_is_not_there_fails_without_its_address():
    async with serving(Receiver()) as receiver:
        pass
    async with sending() as sender:
        with pytest.raises(WebhookFailedError) as failed:
            await sender.post(hook(receiver))
        found = str(failed.value)

    assert found == "The connection failed: Connection refused."


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("ftp://127.0.0.1/x", "The address is neither http nor https."),
        ("file:///etc/passwd", "The address cannot be read."),
        ("http://", "The address cannot be read."),
        ("http://[::1", "The address cannot be read."),
        ("http://[v7.x]/", "The host name could not be resolved."),
        ("http://host:99999/", "The address cannot be read."),
        ("http://127.0.0.1:0/", "The address does not have a usable port."),
        ("http://a b/", "The address cannot be read."),
        ("http://a\tb\r\nX: y/", "The address cannot be read."),
        ("http://a%0d%0ab/", "The address cannot be read."),
        ("http://[fe80::1%eth0]/", "The address cannot be read."),
        ("http://[2606:4700::1111%a\x0bX: y]/", "The address cannot be read."),
        ("http://[2606:4700::1111%가]/", "The address cannot be read."),
        ("http://host:22/", "The port belongs to a service other than a web server."),
        ("http://host:25/", "The port belongs to a service other than a web server."),
        ("https://host:6667/", "The port belongs to a service other than a web server."),
        ("http://host:10080/", "The port belongs to a service other than a web server."),
    ],
)
async def test_address_that_cannot_be_asked_fails_without_its_text(url, told):
    def unknown(_):
        raise OSError

    async with sending(resolve=unknown) as sender:
        with pytest.raises(WebhookFailedError) as failed:
            await sender.post(Webhook(url, (), b""))
        found = str(failed.value)

    assert found == told


@pytest.mark.parametrize("port", [2, 78, 80, 81, 443, 8080, 9090, 10079, 10081, 65535])
def test_port_of_a_web_server_is_let_pass(port):
    assert targets.target(f"http://host:{port}/").port == port


async def test_name_and_password_in_an_address_are_sent_nowhere():
    async with serving(Receiver()) as receiver, sending() as sender:
        await sender.post(hook(receiver, f"http://user:word@127.0.0.1:{receiver.port}/a#b"))
        request = receiver.requests[0]

    assert request.line == "POST /a HTTP/1.1"
    assert "word" not in str(request)


@pytest.mark.parametrize(
    ("path", "sent"),
    [("", "/"), ("/가?b=나 다", "/%EA%B0%80?b=%EB%82%98%20%EB%8B%A4"), ("?x=1", "/?x=1"), ("/a%2Fb//c", "/a%2Fb//c")],
)
async def test_path_and_query_are_kept(path, sent):
    async with serving(Receiver()) as receiver, sending() as sender:
        await sender.post(hook(receiver, f"http://127.0.0.1:{receiver.port}{path}"))
        found = receiver.requests[0].line

    assert found == f"POST {sent} HTTP/1.1"


@pytest.mark.parametrize(
    "header", [("X-A", "a\r\nX-B: b"), ("X-A", "a\nb"), ("X-A\r\nX-B", "a"), ("X-A", "a\x00"), ("X-A", "가")]
)
async def test_header_that_would_be_more_than_one_is_not_sent(header):
    async with serving(Receiver()) as receiver, sending() as sender:
        with pytest.raises(WebhookFailedError, match="header"):
            await sender.post(hook(receiver, None, header))
        found = receiver.requests

    assert found == []


async def test_ipv6_server_is_asked():
    async with serving(Receiver(), host="::1") as receiver, sending() as sender:
        code = (await sender.post(hook(receiver, f"http://[::1]:{receiver.port}/"))).status
        found = code, receiver.requests[0].headers["host"] == f"[::1]:{receiver.port}"

    assert found == (200, True)


# The address guard


@pytest.mark.parametrize("found", [["127.0.0.1"], ["8.8.8.8", "10.0.0.1"], ["::ffff:192.168.0.1"], []])
async def test_name_of_which_one_address_is_private_is_refused_unless_that_is_allowed(found):
    async with serving(Receiver()) as receiver, sending(allow_private=False, resolve=lambda _: found) as sender:
        with pytest.raises(WebhookFailedError) as failed:
            await sender.post(hook(receiver, f"http://inside.example:{receiver.port}/"))
        seen = receiver.connections, "inside" in str(failed.value)

    assert seen == (0, False)


@pytest.mark.parametrize("host", ["127.0.0.1", "[::1]", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0"])
async def test_address_of_the_machine_itself_is_refused_unless_that_is_allowed(host):
    async with serving(Receiver()) as receiver, sending(allow_private=False) as sender:
        with pytest.raises(WebhookFailedError):
            await sender.post(hook(receiver, f"http://{host}:{receiver.port}/"))
        found = receiver.connections

    assert found == 0


async def test_address_that_was_checked_is_the_one_that_is_connected_to():
    """A name that stands for another address a moment later (DNS rebinding) is asked where it was when checked."""
    asked = []

    def resolve(name):
        asked.append(name)
        return ["127.0.0.1"] if len(asked) == 1 else ["192.0.2.1"]

    async with serving(Receiver()) as receiver, sending(resolve=resolve) as sender:
        for _ in range(3):
            await sender.post(hook(receiver, f"http://moving.example:{receiver.port}/"))
        found = [request.headers["host"] for request in receiver.requests] == [f"moving.example:{receiver.port}"] * 3

    assert found
    assert asked == ["moving.example"]


async def test_name_with_an_address_that_is_away_is_asked_at_its_next_one():
    async with serving(Receiver()) as receiver, sending(resolve=lambda _: ["127.0.0.2", "127.0.0.1"]) as sender:
        found = (await sender.post(hook(receiver, f"http://two.example:{receiver.port}/"))).status

    assert found == 200


async def test_name_server_that_is_away_holds_up_no_other_name():
    held = threading.Event()

    def resolve(name):
        if name.startswith("dead"):
            held.wait(20)
        return ["127.0.0.1"]

    async def failing(sender, url):
        with pytest.raises(WebhookFailedError) as failed:
            await sender.post(Webhook(url, (), b""))
        return str(failed.value)

    async with serving(Receiver()) as receiver, sending(timeout_s=1.0, resolve=resolve) as sender:
        async with asyncio.TaskGroup() as tasks:
            dead = [
                tasks.create_task(failing(sender, f"http://dead{number}.example:{receiver.port}/"))
                for number in range(20)
            ]
            began_s = time.monotonic()
            code = (await sender.post(hook(receiver, f"http://alive.example:{receiver.port}/"))).status
            took_s = time.monotonic() - began_s
        held.set()
        told = {task.result() for task in dead}

    assert (code, told) == (200, {"The connection took too long."})
    assert took_s < 1, "it waited for the dead ones"


# TLS


def over_tls(tmp_path, url, *, trusted=True, times=1, ends=None):
    """Statuses or the error of requests to a server with a certificate for 127.0.0.1 and localhost; and the server."""
    made = certificates.make(tmp_path, ends=ends)
    tls = made.client_context() if trusted else ssl.create_default_context()

    async def scenario():
        async with (
            serving(Receiver(), tls=made.server_context()) as receiver,
            sending(tls=tls, resolve=lambda _: ["127.0.0.1"]) as sender,
        ):
            asked = hook(receiver, url.format(port=receiver.port))
            try:
                return [(await sender.post(asked)).status for _ in range(times)], receiver
            except WebhookFailedError as failed:
                return str(failed), receiver

    return asyncio.run(scenario())


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1"])
def test_https_server_with_a_good_certificate_is_asked_by_its_name(tmp_path, host):
    said, receiver = over_tls(tmp_path, f"https://{host}:{{port}}/", times=3)

    assert said == [200] * 3
    assert receiver.connections == 1


@pytest.mark.parametrize(
    ("host", "trusted", "hours", "told"),
    [
        ("push.example", True, 24, "is not valid for its name."),
        ("localhost", False, 24, "was issued by an untrusted authority."),
        ("localhost", True, -1, "has expired."),
    ],
)
def test_https_server_with_a_bad_certificate_is_told_nothing(tmp_path, host, trusted, hours, told):
    ends = datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=hours)

    said, receiver = over_tls(tmp_path, f"https://{host}:{{port}}/", trusted=trusted, ends=ends)

    assert said == f"The server's certificate {told}"
    assert receiver.requests == []


def test_https_server_with_another_address_is_told_nothing(tmp_path):
    said, receiver = over_tls(tmp_path, "https://127.0.0.2:{port}/")

    assert said in ("The server's certificate is not valid for its name.", "The connection failed: Connection refused.")
    assert receiver.requests == []


async def test_https_to_a_server_of_plain_http_fails():
    async with serving(Receiver()) as receiver, sending(timeout_s=1.0) as sender:
        with pytest.raises(WebhookFailedError) as failed:
            await sender.post(hook(receiver, f"https://127.0.0.1:{receiver.port}/"))
        found = str(failed.value)

    assert found.startswith(("TLS failed", "No status line", "The connection"))


def asked(reply, *, timeout_s=5.0, url=None, **how):
    """What somebody is shown of an answer, or the text of the error; and the server."""

    async def scenario():
        async with serving(Receiver(lambda _: reply)) as receiver, sending(timeout_s=timeout_s, **how) as sender:
            try:
                said = await sender.ask(hook(receiver, url, ("webhook-id", "1")))
            except WebhookFailedError as failed:
                said = str(failed)
            await receiver.until_left()
        return said, receiver

    return asyncio.run(scenario())


def test_answer_that_is_watched_has_its_status_time_and_beginning():
    reply, receiver = asked(Reply(status(503, body=b"not now"), after_s=0.05))

    (request,) = receiver.requests
    assert (reply.status, reply.start) == (503, b"not now")
    assert 40 <= reply.took_ms < 5_000
    assert (request.body, request.headers["connection"], request.headers["webhook-id"]) == (BODY, "close", "1")


def test_answer_that_is_watched_is_shown_up_to_its_bound():
    reply, _ = asked(Reply(status(200, body=b"x" * (START_MAX + 1)), Then.HANG))

    assert reply.start == b"x" * START_MAX


def test_answer_that_is_watched_is_unchunked():
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    reply, _ = asked(Reply(head + b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"))

    assert reply.start == b"onetwo"


@pytest.mark.parametrize("then", [Then.HANG, Then.SHUT, Then.CLOSE, Then.DRIP])
def test_answer_that_is_watched_and_never_ends_is_shown_after_a_second(then):
    begun_s = time.monotonic()
    reply, _ = asked(Reply(b"HTTP/1.1 200 OK\r\n\r\nso far", then))

    assert (reply.status, reply.start[:6]) == (200, b"so far")
    assert time.monotonic() - begun_s < 4


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (SILENT, "The server accepted the message but did not answer."),
        (Reply(b"HTTP/1.1", Then.HANG), "No status line came in time."),
        (Reply(b"SSH-2.0-OpenSSH\r\n"), "The answer is not HTTP."),
        (Reply(b"", Then.CLOSE), "The connection ended before a status line."),
    ],
)
def test_watched_request_fails_as_others_do_and_hangs_up(reply, told):
    assert asked(reply, timeout_s=0.3)[0] == told


def test_watched_request_does_not_get_into_private_networks():
    said, receiver = asked(OK, allow_private=False)

    assert said == receivers.PRIVATE
    assert receiver.requests == []
