"""The certificate that listeners show, and when it is worth a warning."""

import io
import json
from pathlib import Path

import pytest
from tests.support import certificates, logs

from tripline import config, wiring_adapters

NOW_MS = 1_760_000_000_000
SHARED = config.Store(url="postgresql://tripline@db.example/tripline")


def said(settings: config.Config, folder: Path) -> list[dict[str, str]]:
    """What is logged while the certificate is looked for."""
    stream = io.StringIO()
    logs.plain(stream)
    try:
        wiring_adapters.certificates(settings, folder, now_ms=NOW_MS)
    finally:
        logs.plain()
    return [json.loads(line) for line in stream.getvalue().splitlines()]


@pytest.mark.parametrize(
    ("roles", "store", "warned"),
    [
        (["all"], SHARED, True),
        (["gateway"], SHARED, True),
        (["gateway", "api"], SHARED, True),
        (["api"], SHARED, False),
        (["worker"], SHARED, False),
        (["all"], config.Store(), False),
    ],
)
def test_certificate_of_its_own_is_warned_of_where_devices_may_meet_several(tmp_path, roles, store, warned):
    events = said(config.Config(roles=roles, store=store), tmp_path)

    expected = {"event": "tls.own_certificate", "level": "warning", "part": "app", "folder": str(tmp_path / "tls")}
    assert events == ([expected] if warned else [])


def test_certificate_that_was_set_is_not_warned_of(tmp_path):
    made = certificates.make(tmp_path)
    tls = config.Tls(cert=str(made.certificate), key=str(made.key))

    assert said(config.Config(store=SHARED, tls=tls), tmp_path) == []
