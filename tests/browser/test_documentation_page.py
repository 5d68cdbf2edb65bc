"""The page at `/api/docs` in a real browser that reaches nothing but this machine."""

import http.server
import re
import threading

import pytest
from tests.support import answers, browser, servers

pytestmark = [pytest.mark.deep, pytest.mark.once("what a page shows")]

OPERATIONS = sum(len(methods) for methods in answers.document()["paths"].values())


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    browser.need("the documentation page in a browser")
    with servers.serving(tmp_path_factory.mktemp("server") / "data") as running:
        yield running


@pytest.mark.slow
def test_page_shows_every_operation_and_asks_no_other_server(server, tmp_path):
    shown = browser.show(f"{server.api}/api/docs", tmp_path)

    assert len(re.findall(r'class="opblock opblock-(?:get|post|put|delete)', shown.html)) == OPERATIONS
    assert shown.asked >= {f"{server.api}/api/docs", f"{server.api}/api/openapi.json"}
    assert {address for address in shown.asked if not address.startswith(f"{server.api}/")} == set()
    assert shown.complaints == []


@pytest.mark.slow
def test_page_opens_an_operation_with_its_fields_and_who_may_call_it(server, tmp_path):
    shown = browser.show(f"{server.api}/api/docs#/Vehicles/vehicles.register", tmp_path)

    assert "Who may call it" in shown.html
    assert "12가3456" in shown.html
    assert shown.complaints == []


class Careless(http.server.BaseHTTPRequestHandler):
    """A page that asks another server and whose script breaks."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b'<script>fetch("http://outside.example/x"); broken()</script>')

    def log_message(self, *_):
        """Say nothing."""


@pytest.mark.slow
def test_browser_notices_an_outside_request_and_a_broken_script(tmp_path):
    browser.need("what a browser notices")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Careless) as careless:
        threading.Thread(target=careless.serve_forever, daemon=True).start()
        shown = browser.show(f"http://127.0.0.1:{careless.server_port}/", tmp_path)
        careless.shutdown()

    assert "http://outside.example/x" in shown.asked
    assert [line for line in shown.complaints if "broken is not defined" in line] != []
