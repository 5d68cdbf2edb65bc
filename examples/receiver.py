"""Receives what Tripline pushes: checks who sent it, drops what came before, prints a line for each message.

    WEBHOOK_SECRET=whsec_... python3 receiver.py 9090

The standard library is enough. To build on: keep in `take` what came, and do the work later; what is not answered
within five seconds comes again. How to set it up: docs/push.md.
"""

import base64
import hmac
import json
import os
import sys
import time
from collections import OrderedDict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock

LARGEST = 1_048_576
KNOWN = 10_000


def verified(secret, headers, body, now_s, tolerance_s=300):
    """Whether these bytes come from who knows the secret, and were sent not longer ago than `tolerance_s`."""
    message_id, sent_s = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not sent_s.isdecimal() or abs(now_s - int(sent_s)) > tolerance_s:
        return False
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = hmac.digest(key, f"{message_id}.{sent_s}.".encode() + body, "sha256")
    mine = b"v1," + base64.b64encode(signed)
    # Two signatures, parted by a blank, while the secret is being changed.
    theirs = headers.get("webhook-signature", "").encode().split(b" ")
    return any(hmac.compare_digest(mine, each) for each in theirs)


class Seen:
    """The ids of the newest messages: what was delivered and not acknowledged in time comes again."""

    def __init__(self):
        self._ids = OrderedDict()
        self._lock = Lock()

    def __contains__(self, message_id):
        return message_id in self._ids

    def add(self, message_id):
        """Know this id from now on."""
        with self._lock:
            self._ids[message_id] = None
            if len(self._ids) > KNOWN:
                self._ids.popitem(last=False)


def take(headers, body):
    """A message that is new. A result for `rpcNotify*` is the device's own bytes; its headers say what it is about."""
    about = {name: headers[name] for name in ("x-request-id", "x-sensor-id", "x-rpc-method") if name in headers}
    try:
        message = json.loads(body)
    except ValueError:
        message = body.decode("utf-8", "replace")
    print(json.dumps({**about, "message": message}, ensure_ascii=False), flush=True)


class Receiver(BaseHTTPRequestHandler):
    """Answers 200 to what is new and to what came again, 401 to what is not signed."""

    protocol_version = "HTTP/1.1"
    secret = ""
    seen = Seen()

    def do_POST(self):
        """A message."""
        length = int(self.headers.get("content-length") or 0)
        if length > LARGEST:
            return self._answer(413)
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(length)
        if not verified(self.secret, headers, body, time.time()):
            return self._answer(401)
        if headers["webhook-id"] not in self.seen:
            take(headers, body)
            self.seen.add(headers["webhook-id"])
        return self._answer(200)

    def log_message(self, *_):
        """Nothing: what was taken is printed."""

    def _answer(self, status):
        self.send_response(status)
        self.send_header("content-length", "0")
        if status == 413:
            self.send_header("connection", "close")
        self.end_headers()


if __name__ == "__main__":
    Receiver.secret = os.environ["WEBHOOK_SECRET"]
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver)
    print(f"listening on http://127.0.0.1:{server.server_port}", file=sys.stderr, flush=True)
    server.serve_forever()
