"""The running server's messages to customers' servers and devices fit the AsyncAPI document that it serves."""

import json
import queue
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jsonschema_rs
import pytest
from tests.support import fleet, foreign, servers
from tests.support.foreign_devices import PahoDevice
from tests.support.foreign_requests import LIMIT_S

from tripline.api.documents import asyncapi_schemas
from tripline.wire import topics
from tripline.wire.device import tables as device_tables

pytestmark = pytest.mark.deep

RESULT = b'{ "results" : 2000, "additionalInfo" : {"sn":"0042"} }'


class Receiving(BaseHTTPRequestHandler):
    """A customer's server."""

    protocol_version = "HTTP/1.1"
    came: "queue.Queue[tuple[str, dict[str, str], bytes]]"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.came.put((self.path, {name.lower(): value for name, value in self.headers.items()}, body))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@contextmanager
def receiving():
    """A customer's server on a port that it picks, and what comes there."""
    came: queue.Queue[tuple[str, dict[str, str], bytes]] = queue.Queue()
    listener = ThreadingHTTPServer(("127.0.0.1", 0), type("Receiver", (Receiving,), {"came": came}))
    listener.daemon_threads = True
    thread = threading.Thread(target=listener.serve_forever)
    thread.start()
    try:
        yield listener.server_port, came
    finally:
        listener.shutdown()
        thread.join()
        listener.server_close()


class Published:
    """The document as the server serves it."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document

    def fits(self, channel: str, payload: Any, headers: dict[str, str] | None = None) -> list[str]:
        """The messages of the channel that these are."""
        messages = self._document["channels"][channel]["messages"]
        return [
            name
            for name, message in messages.items()
            if self._judge(message["payload"]).is_valid(payload)
            and (headers is None or self._judge(self._lower(message["headers"])).is_valid(headers))
        ]

    def _judge(self, schema: dict[str, Any]) -> jsonschema_rs.Draft202012Validator:
        return jsonschema_rs.Draft202012Validator({**schema, "components": self._document["components"]})

    def _lower(self, schema: dict[str, Any]) -> dict[str, Any]:
        """The schema of headers, whose names are the same in any case."""
        whole = self._document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        properties = {name.lower(): each for name, each in whole["properties"].items()}
        return {**whole, "properties": properties, "required": [name.lower() for name in whole["required"]]}


def message(number: int) -> bytes:
    """The document's example of a message, in a trip of its own: an equal one would be taken for a repetition."""
    example = asyncapi_schemas.example(number)
    return json.dumps({**example, "pld": {**example["pld"], "tid": number}}).encode()


@pytest.mark.slow
def test_everything_that_is_sent_fits_the_document_that_is_served(tmp_path):
    numbers = sorted(device_tables.TABLES)
    with ExitStack() as opened:
        port, came = opened.enter_context(receiving())
        server = opened.enter_context(servers.serving(tmp_path / "data"))
        company = opened.enter_context(fleet.Company(server.api, server.data))
        published = Published(company.get("/api/asyncapi.json"))
        changed = company.http.put(
            f"/api/tre/v1/company/{company.record['id']['id']}",
            json={
                "notifyHost": f"http://127.0.0.1:{port}/noti",
                "notifyMsgType": ",".join(map(str, [*numbers, 300, 500, 600])),
                "rpcNotifyHost": "127.0.0.1",
                "rpcNotifyPort": port,
                "rpcNotifyBasePath": "/results",
            },
        )
        assert changed.status_code == 200
        one = company.vehicle_with_sensor(1)
        device = PahoDevice(foreign.Listener(server.device_host, server.device_port, server.ca), one.token)
        opened.callback(device.end)
        callers = opened.enter_context(ThreadPoolExecutor(1))

        device.connect()
        for number in numbers:
            device.publish(topics.TRE, message(number))
        calling = callers.submit(
            company.http.post, f"/api/plugins/rpc/twoway/{one.sensor_id}", json={"method": "serial", "params": ""}
        )
        request = device.request()
        device.publish(request.acknowledgement, b'{"result":2000}')
        assert calling.result(LIMIT_S).status_code == 200
        device.publish(request.result, RESULT)

        got: dict[str, list[str]] = {}
        verbatim = []
        wanted = {*map(str, numbers), "RPC", "CONNECTION"}
        while wanted - got.keys() or not verbatim:
            path, headers, body = came.get(timeout=LIMIT_S)
            if path == "/results":
                verbatim.append((body, headers["x-request-id"], published.fits("rpcNotify", json.loads(body), headers)))
            else:
                told = json.loads(body)
                got[str(told.get("msgTy", told["ty"]))] = published.fits("notify", told, headers)

    kinds = {str(n): ["trip" if n < 13 and n % 2 else "microtrip" if n < 13 else "event"] for n in numbers}
    assert got == {**kinds, "RPC": ["rpc"], "CONNECTION": ["connection"]}
    assert verbatim == [(RESULT, request.id, ["result"])]
    assert published.fits("rpcRequest", request.call) == ["request"]
    assert published.fits("tre", {"ty": 55, "pld": {}}) == []
