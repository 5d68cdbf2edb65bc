"""`examples/receiver.py` and the functions of `docs/push.md` tell signed requests from others, and repeats from new.

The first case is the published one of the Standard Webhooks specification, so that they are held against something that
neither they nor the server made.
"""

import base64
import contextlib
import hmac
import http.client
import importlib.util
import json
import re
import subprocess
import sys
import time

import httpx
import pytest
from tests.support import reference, required

EXAMPLE = reference.ROOT / "examples" / "receiver.py"
PAGE = reference.ROOT / "docs" / "push.md"
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
SENT_S = 1_614_265_330
BODY = b'{"test": 2432232314}'
HEADERS = {
    "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "webhook-timestamp": str(SENT_S),
    "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
}
CASES = {
    "as published": (HEADERS, BODY, SENT_S, True),
    "behind another signature": (
        {**HEADERS, "webhook-signature": f"v1,AAAA {HEADERS['webhook-signature']}"}, BODY, SENT_S, True
    ),
    "at the end of its time": (HEADERS, BODY, SENT_S + 300, True),
    "after its time": (HEADERS, BODY, SENT_S + 301, False),
    "from the future": (HEADERS, BODY, SENT_S - 301, False),
    "another body": (HEADERS, BODY + b" ", SENT_S, False),
    "another id": ({**HEADERS, "webhook-id": "msg_2"}, BODY, SENT_S, False),
    "another time": ({**HEADERS, "webhook-timestamp": str(SENT_S + 1)}, BODY, SENT_S, False),
    "another signature": ({**HEADERS, "webhook-signature": "v1,AAAA"}, BODY, SENT_S, False),
    "no time": ({**HEADERS, "webhook-timestamp": "soon"}, BODY, SENT_S, False),
    "no headers": ({}, BODY, SENT_S, False),
}  # fmt: skip


def receiver():
    """The example as a module."""
    spec = importlib.util.spec_from_file_location("receiver", EXAMPLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def block(kind: str) -> str:
    """The page's block of this kind."""
    (found,) = re.findall(rf"^```{kind}\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return found


def signed(message_id: str, body: bytes) -> dict[str, str]:
    """Headers of a request that is sent now."""
    sent_s = int(time.time())
    key = base64.b64decode(SECRET.removeprefix("whsec_"))
    digest = hmac.digest(key, f"{message_id}.{sent_s}.".encode() + body, "sha256")
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(sent_s),
        "webhook-signature": f"v1,{base64.b64encode(digest).decode()}",
    }


@contextlib.contextmanager
def running():
    """The example as a program on a port that it picks: its address, and the lines that it prints."""
    process = subprocess.Popen(
        [sys.executable, str(EXAMPLE), "0"],
        env={"WEBHOOK_SECRET": SECRET},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process.stderr.readline().removeprefix("listening on ").strip(), process.stdout
        finally:
            process.kill()


@pytest.mark.parametrize("case", CASES)
def test_example_tells_what_is_signed(case):
    headers, body, now_s, genuine = CASES[case]

    assert receiver().verified(SECRET, headers, body, now_s) is genuine


@pytest.mark.parametrize("case", CASES)
def test_function_of_the_page_for_node_tells_what_is_signed(case):
    required.need("node", "the page's function for node")
    headers, body, now_s, genuine = CASES[case]
    given = json.dumps([SECRET, headers, body.decode(), now_s])
    script = f"{block('js')}\nconst [s, h, b, n] = {given};\nconsole.log(verified(s, h, Buffer.from(b), n));"

    done = subprocess.run(["node", "-e", script], capture_output=True, text=True, timeout=30)

    assert (done.stdout, done.stderr) == (f"{str(genuine).lower()}\n", "")


def test_function_of_the_page_for_python_is_the_one_of_the_example():
    function = block("python").partition("def ")[2]

    assert f"def {function.rstrip()}\n" in EXAMPLE.read_text("utf-8")


def test_example_prints_what_is_new_and_refuses_what_is_not_signed():
    message, result = b'{"ty":"EVENT"}', b"\xff no json"
    about = {"X-Request-Id": "1", "X-Sensor-Id": "2", "X-Rpc-Method": "reset"}

    with running() as (url, printed), httpx.Client() as client:
        statuses = [
            client.post(url, content=message, headers=signed("1", message)).status_code,
            client.post(url, content=message, headers=signed("1", message)).status_code,
            client.post(url, content=message, headers=HEADERS).status_code,
            client.post(url, content=message).status_code,
            client.post(url, content=result, headers={**signed("2", result), **about}).status_code,
        ]
        lines = [json.loads(printed.readline()) for _ in range(2)]

    assert statuses == [200, 200, 401, 401, 200]
    assert lines == [
        {"message": {"ty": "EVENT"}},
        {"x-request-id": "1", "x-sensor-id": "2", "x-rpc-method": "reset", "message": "\ufffd no json"},
    ]


@pytest.mark.parametrize(("size", "status"), [(1_048_576, 401), (1_048_577, 413)])
def test_example_reads_a_mebibyte_and_no_more(size, status):
    with running() as (url, _), contextlib.closing(http.client.HTTPConnection(url.removeprefix("http://"))) as client:
        client.putrequest("POST", "/")
        client.putheader("content-length", str(size))
        client.endheaders()
        if status == 401:
            client.send(b" " * size)

        assert client.getresponse().status == status
