"""A desk at which files are uploaded and checked, for each test that asks for it."""

import pytest
from tests.support import drafts, rest


@pytest.fixture
async def desk(app: rest.Rest) -> drafts.Office:
    return await drafts.office(app)
