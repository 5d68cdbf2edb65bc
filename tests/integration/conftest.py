"""A world of pushes, and two servers over one database, for each test that asks for them."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.support import pushes, rest


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[pushes.World]:
    async with pushes.opened(tmp_path) as made:
        yield made


@pytest.fixture
async def servers(tmp_path: Path) -> AsyncIterator[list[rest.Rest]]:
    async with rest.two(tmp_path) as made:
        yield made


@pytest.fixture
async def admin(servers: list[rest.Rest]) -> rest.Login:
    """The administrator of an operator."""
    return (await servers[0].operator("ace"))[1]
