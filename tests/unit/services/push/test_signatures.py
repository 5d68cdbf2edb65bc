"""Signatures of Standard Webhooks, by the published example and by a verifier written from its text."""

import base64
import hashlib
import hmac

from tripline.services.push import secrets
from tripline.services.push.secrets import FORMER_MS
from tripline.store.push.secrets import Secret

KEY = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
NOW_MS = 1_614_265_330_999


def test_signature_is_the_one_of_the_published_example():
    signed = secrets.signature(
        KEY, message_id="msg_p5jXN8AQM9LWM0D4loKWxJek", timestamp_s=1_614_265_330, body=b'{"test": 2432232314}'
    )

    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_headers_are_id_seconds_and_a_signature_of_each_secret():
    found = dict(secrets.headers([KEY, b"former"], message_id="m", body=b"{}", now_ms=NOW_MS))

    assert (found["webhook-id"], found["webhook-timestamp"]) == ("m", "1614265330")
    expected = [
        "v1," + base64.b64encode(hmac.new(key, b"m.1614265330.{}", hashlib.sha256).digest()).decode()
        for key in (KEY, b"former")
    ]
    assert found["webhook-signature"].split(" ") == expected


def test_former_secret_signs_for_a_day():
    secret = Secret(NOW_MS, b"new", b"old", NOW_MS + FORMER_MS)

    assert secret.valid(NOW_MS) == (b"new", b"old")
    assert secret.valid(NOW_MS + FORMER_MS - 1) == (b"new", b"old")
    assert secret.valid(NOW_MS + FORMER_MS) == (b"new",)
    assert Secret(NOW_MS, b"new", None, None).valid(NOW_MS) == (b"new",)


def test_secret_is_shown_as_libraries_take_it():
    shown = secrets.shown(bytes(range(32)))

    assert shown.startswith("whsec_")
    assert base64.b64decode(shown.removeprefix("whsec_")) == bytes(range(32))
