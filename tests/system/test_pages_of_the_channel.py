"""`docs/rpc.md` and `docs/push.md`: their blocks run in order against a fresh server, and print what they show."""

import socket

import pytest
from tests.support import pages, reference, required, servers

from tripline import config
from tripline.domain import pushes
from tripline.domain import rpc as rpc_domain
from tripline.http import errors
from tripline.services.push import schedule


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.parametrize("page", ["rpc.md", "push.md"])
def test_page_is_true_line_by_line(tmp_path, page):
    required.need("curl", f"the story of docs/{page}")
    told = pages.story((reference.ROOT / "docs" / page).read_text("utf-8"))

    with servers.serving(tmp_path / "tripline-data") as server:
        instead = {
            "127.0.0.1 9900": f"{server.device_host} {server.device_port}",
            "9090": str(free_port()),
            "examples/receiver.py": str(reference.ROOT / "examples" / "receiver.py"),
        }
        printed = pages.play(told, server, instead)

    assert [pages.lines(each) for each in printed] == [shown for _, shown in told]


def test_figures_of_the_pages_are_those_of_the_program():
    push, rpc = config.Push(), config.Rpc()
    receiving, calling = (
        " ".join((reference.ROOT / "docs" / page).read_text("utf-8").split()) for page in ("push.md", "rpc.md")
    )

    assert f"within {push.timeout_s:.0f} seconds (`push.timeout_s`)" in receiving
    assert f"for {push.patience_hours:.0f} hours (`push.patience_hours`)" in receiving
    assert f"kept for {push.parked_days:.0f} days (`push.parked_days`)" in receiving
    assert schedule.PAUSES_MS == (1_000, 5_000, 30_000, 300_000)
    assert "tried again after 1 s, 5 s, 30 s, 5 min, then hourly" in receiving
    assert (schedule.REFUSED_MAX, "tried three times, then parked" in receiving) == (3, True)
    assert f"A device has {rpc.ack_s:.0f} seconds" in calling
    for refusal in (rpc_domain.NotConnected, rpc_domain.NoAck, rpc_domain.TooManyCalls):
        status, code = errors.ANSWERS[refusal.kind]
        assert f"| {status} | {code} |" in calling


def test_every_selector_of_pushes_is_in_the_page():
    page = (reference.ROOT / "docs" / "push.md").read_text("utf-8")

    for name in pushes.Name:
        assert f"`{name.value}`" in page
    for selector in pushes.Selector:
        assert f"\n| {int(selector)} |" in page
