"""`docs/rpc.md` and `docs/push.md`: their blocks run in order against a fresh server, and print what they show."""

import socket

import pytest
from tests.support import pages, reference, required, servers


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as door:
        port: int = door.getsockname()[1]
        return port


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
