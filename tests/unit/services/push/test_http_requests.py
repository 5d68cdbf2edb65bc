"""Addresses of registrations as URLs, and the requests that carry messages (spec/push 1, 3, 4.3)."""

import pytest

from tripline.domain.ids import RequestId, RowNo, SensorId
from tripline.domain.pushes import Channel
from tripline.services.push import http_requests
from tripline.store.push.queue import Addresses, Content, Row
from tripline.store.push.secrets import Secret

SENSOR = SensorId("c4d91e60-c801-11ef-9d5c-6b1f6f2a4c11")
CALL = RequestId("d4d91e60-c801-11ef-9d5c-6b1f6f2a4c11")


def url(channel, *, notify=None, host=None, port=None, path=None):
    return http_requests.url_of(channel, Addresses(notify, host, port, path, None))


@pytest.mark.parametrize(
    ("notify", "expected"),
    [
        ("http://203.0.113.10:9090/noti", "http://203.0.113.10:9090/noti"),
        ("https://n.example/a?b=c", "https://n.example/a?b=c"),
        ("n.example:9090/noti", "http://n.example:9090/noti"),
        ("n.example", "http://n.example"),
        (" n.example ", "http://n.example"),
        ("2001:db8::1", "http://[2001:db8::1]"),
        ("", None),
        (None, None),
    ],
)
def test_notify_host_is_the_whole_address(notify, expected):
    assert url(Channel.NOTIFY, notify=notify, host="r.example") == expected


@pytest.mark.parametrize(
    ("host", "port", "path", "expected"),
    [
        ("r.example", 9090, "/rpc", "http://r.example:9090/rpc"),
        ("r.example", None, None, "http://r.example"),
        ("r.example", 9090, None, "http://r.example:9090"),
        ("r.example", None, "rpc", "http://r.example/rpc"),
        ("203.0.113.10", 80, "/a/b?c=d", "http://203.0.113.10:80/a/b?c=d"),
        ("2001:db8::1", 9090, "/rpc", "http://[2001:db8::1]:9090/rpc"),
        ("https://r.example", 9443, "/rpc", "https://r.example:9443/rpc"),
        ("https://r.example:8443/base/", 9443, "/rpc", "https://r.example:8443/base/rpc"),
        ("https://r.example/base", None, "", "https://r.example/base"),
        ("http://[2001:db8::1]", 9090, "/rpc", "http://[2001:db8::1]:9090/rpc"),
        ("", 9090, "/rpc", None),
        (None, 9090, "/rpc", None),
    ],
)
def test_rpc_notify_address_is_made_of_host_port_and_path(host, port, path, expected):
    assert url(Channel.RPC_NOTIFY, notify="http://n.example/", host=host, port=port, path=path) == expected


def made(channel, body, method="m"):
    content = Content(SENSOR, body, None if channel is Channel.NOTIFY else CALL, method)
    row = Row(RowNo(1), "the id", SENSOR, 0, 0)
    secret = Secret(0, b"k" * 32, None, None)
    return http_requests.request(channel, row, content, url="http://n.example/", secret=secret, now_ms=5_000)


def test_message_to_notify_host_is_its_body():
    request = made(Channel.NOTIFY, b'{"ty":"TRIP"}')

    assert request.body == b'{"ty":"TRIP"}'
    assert [name for name, _ in request.headers] == [
        "Content-Type",
        "webhook-id",
        "webhook-timestamp",
        "webhook-signature",
    ]


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'{ "result" : 2000 }', "application/json; charset=utf-8"),
        (b"2000", "application/json; charset=utf-8"),
        (b"\x81\xa6result\xcd\x07\xd0", "application/octet-stream"),
        (b"", "application/octet-stream"),
        (b"[" * 5_000, "application/octet-stream"),
        (b'"\xff"', "application/octet-stream"),
    ],
)
def test_result_of_a_call_is_sent_byte_for_byte_and_headers_say_what_it_is_about(body, kind):
    request = made(Channel.RPC_NOTIFY, body, "activationReq")

    assert request.body == body
    assert request.headers[:4] == (
        ("Content-Type", kind),
        ("X-Request-Id", CALL),
        ("X-Sensor-Id", SENSOR),
        ("X-Rpc-Method", "activationReq"),
    )


@pytest.mark.parametrize(
    ("method", "sent"),
    [
        ("activationReq", "activationReq"),
        ("a b", "a%20b"),
        ("x\r\nX-Evil: 1", "x%0D%0AX-Evil:%201"),
        ("100%", "100%25"),
        ("차량", "%EC%B0%A8%EB%9F%89"),
        ("\x00\x7f", "%00%7F"),
        ("\ud800", "?"),
        ("", ""),
        ("!#$&'*+.^_`|~(){}[]<>@,;:\\\"/?=", "!#$&'*+.^_`|~(){}[]<>@,;:\\\"/?="),
    ],
)
def test_method_of_any_characters_is_one_header(method, sent):
    assert dict(made(Channel.RPC_NOTIFY, b"{}", method).headers)["X-Rpc-Method"] == sent
