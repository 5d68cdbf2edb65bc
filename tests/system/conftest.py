"""A server for each file of tests that asks for one, with a company or a world on it."""

from collections.abc import Iterator

import pytest
from tests.support import fleet, servers, worlds


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[servers.Running]:
    """A server with the usual settings."""
    with servers.serving(tmp_path_factory.mktemp("server") / "data") as running:
        yield running


@pytest.fixture(scope="module")
def company(server: servers.Running) -> Iterator[fleet.Company]:
    """A company's administrator on the server."""
    with fleet.Company(server.api, server.data) as registered:
        yield registered


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[worlds.World]:
    """A server, and a company with boxes on it."""
    with worlds.running(tmp_path_factory.mktemp("world") / "data") as running:
        yield running
