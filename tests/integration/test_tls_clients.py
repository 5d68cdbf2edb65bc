"""Certificates at open listeners, seen by foreign clients: RSA only, ECDSA only, and while they are renewed."""

import asyncio
import contextlib
import functools
import re
import socket
import ssl
import subprocess
import time

import pytest
from tests.support import gateways, required
from tests.support.foreign import Listener, mosquitto_command
from tests.support.foreign_devices import PahoDevice
from tests.support.gateways import USER, MemoryIntake

from tripline import app
from tripline.adapters.http.listeners import HttpListeners
from tripline.adapters.tls import local
from tripline.adapters.tls.renewal import ServedCertificates

LIMIT_S = 30
DAY_MS = 86_400_000
TRE = "v1/sensors/me/tre"
KINDS = {
    "rsa 1.2": ("ca-rsa.crt", ["-tls1_2", "-cipher", "ECDHE-RSA-AES128-GCM-SHA256"], "RSA"),
    "rsa 1.3": ("ca-rsa.crt", ["-tls1_3", "-sigalgs", "RSA-PSS+SHA256:RSA+SHA256"], "RSA"),
    "rsa, bundle": ("ca.crt", ["-tls1_2", "-sigalgs", "RSA+SHA256"], "RSA"),
    "ecdsa 1.2": ("ca.crt", ["-tls1_2", "-cipher", "ECDHE-ECDSA-AES128-GCM-SHA256"], "ECDSA"),
    "ecdsa 1.3": ("ca.crt", ["-tls1_3", "-sigalgs", "ECDSA+SHA256"], "ECDSA"),
    "both": ("ca.crt", [], "ECDSA"),
    "rsa preferred": ("ca.crt", ["-sigalgs", "RSA-PSS+SHA256:RSA+SHA256:ECDSA+SHA256"], "ECDSA"),
}
"""What a client trusts and knows, and the kind of certificate it must be shown."""


@pytest.fixture(scope="module")
def anyio_backend():
    """The loop that the server uses."""
    return "asyncio", {"use_uvloop": True}


def now_ms():
    return time.time_ns() // 1_000_000


def served(folder, *, since_days=0):
    """Certificates made so many days ago."""
    return ServedCertificates(
        lambda at_ms: local.made(folder / "tls", host="127.0.0.1", now_ms=at_ms), now_ms=now_ms() - since_days * DAY_MS
    )


async def _page(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


@contextlib.asynccontextmanager
async def web(certificates):
    """The port of an HTTP listener with these certificates; it ends with the block, also when the block fails."""
    listener = socket.create_server(("127.0.0.1", 0))
    http = HttpListeners(
        _page, {"api": listener}, tls=functools.partial(app._inside_tls, certificates.context), clock=now_ms
    )
    serving = asyncio.ensure_future(http.serve())
    try:
        await http.opened.wait()
        yield listener.getsockname()[1]
    finally:
        http.stop()
        await serving


def looked_at(port, ca, *options):
    """What OpenSSL's own client says of the listener, trusting nobody but the authority."""
    command = ["openssl", "s_client", "-connect", f"127.0.0.1:{port}", "-CAfile", str(ca), "-no-CApath", "-no-CAstore"]
    command += ["-verify_ip", "127.0.0.1", "-verify_return_error", "-x509_strict", *options]
    done = subprocess.run(command, input=b"", capture_output=True, timeout=LIMIT_S)
    return done.stdout.decode() + done.stderr.decode()


def serial(shown):
    """The serial number of the certificate in what the client says."""
    pem = re.search(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----", shown, re.DOTALL)
    assert pem, shown
    done = subprocess.run(["openssl", "x509", "-noout", "-serial"], input=pem[0].encode(), capture_output=True)
    return done.stdout


async def test_clients_of_one_kind_of_signature_verify_the_whole_chain_at_both_listeners(tmp_path):
    required.need("openssl", "clients that know RSA or ECDSA only")
    certificates = served(tmp_path)

    async with web(certificates) as web_port, gateways.listening(MemoryIntake()) as listener:
        _, device_port = await listener.start("127.0.0.1", 0, certificates.context)
        for name, (ca, options, kind) in KINDS.items():
            for port in (device_port, web_port):
                shown = await asyncio.to_thread(looked_at, port, tmp_path / "tls" / ca, *options)
                assert "Verify return code: 0 (ok)" in shown, (name, shown)
                assert f"CN = Tripline local{' RSA' if kind == 'RSA' else ''} CA" in shown, (name, shown)
        wrong = await asyncio.to_thread(looked_at, device_port, tmp_path / "tls" / "ca-rsa.crt")
        assert "Verify return code: 0 (ok)" not in wrong


async def test_renewal_keeps_connections_and_shows_the_new_certificate_to_new_ones(tmp_path):
    required.need("openssl", "renewal seen from outside")
    required.need("mosquitto_pub", "renewal seen from outside")
    certificates = served(tmp_path, since_days=380)
    ca = tmp_path / "tls" / "ca.crt"

    trusting = ssl.create_default_context(cafile=ca)
    intake = MemoryIntake()
    async with web(certificates) as web_port, gateways.listening(intake) as listener:
        _, port = await listener.start("127.0.0.1", 0, certificates.context)
        reader, writer = await asyncio.open_connection("127.0.0.1", web_port, ssl=trusting)
        device = PahoDevice(Listener("127.0.0.1", port, ca), USER)
        await asyncio.to_thread(device.connect)
        await asyncio.to_thread(device.publish, TRE, b"before")
        shown = functools.partial(asyncio.to_thread, looked_at)
        before = [serial(await shown(each, ca)) for each in (port, web_port)]

        assert certificates.look(now_ms=now_ms()) is True

        await asyncio.to_thread(device.publish, TRE, b"after")
        after = [serial(await shown(each, ca)) for each in (port, web_port)]
        assert before[0] == before[1] != after[0] == after[1]
        writer.write(b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        assert (await asyncio.wait_for(reader.read(), LIMIT_S)).endswith(b"ok")
        writer.close()
        command = mosquitto_command(
            "mosquitto_pub", Listener("127.0.0.1", port, ca), USER, "-t", TRE, "-q", "1", "-m", "x"
        )
        done = await asyncio.to_thread(subprocess.run, command, capture_output=True, timeout=LIMIT_S)
        assert done.returncode == 0, done.stderr
        assert [body for _, _, body in intake.frames] == [b"before", b"after", b"x"]
        await asyncio.to_thread(device.disconnect)


async def test_ended_certificate_of_our_own_is_renewed_by_the_first_look(tmp_path):
    """A machine that slept beyond the end of its certificate."""
    required.need("openssl", "renewal seen from outside")
    certificates = served(tmp_path, since_days=500)

    async with gateways.listening(MemoryIntake()) as listener:
        _, port = await listener.start("127.0.0.1", 0, certificates.context)
        ca = tmp_path / "tls" / "ca.crt"
        assert "certificate has expired" in await asyncio.to_thread(looked_at, port, ca)
        certificates.look(now_ms=now_ms())
        assert "Verify return code: 0 (ok)" in await asyncio.to_thread(looked_at, port, ca)
