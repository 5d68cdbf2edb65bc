"""Tests that are coroutine functions: each runs in a loop of its own, which its fixtures may use too."""

import asyncio
import inspect
from collections.abc import Iterator

import pytest


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    """Runs the test, and what a fixture awaits."""
    with asyncio.Runner() as made:
        yield made


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each of these tests its loop."""
    for item in items:
        if _is_coroutine(item) and "runner" not in item.fixturenames:
            item.fixturenames.append("runner")


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run one of these tests."""
    if not _is_coroutine(pyfuncitem):
        return None
    named = inspect.signature(pyfuncitem.function).parameters
    test = pyfuncitem.function(**{name: pyfuncitem.funcargs[name] for name in named})
    pyfuncitem.funcargs["runner"].run(test)
    return True


def _is_coroutine(item: pytest.Item) -> bool:
    return isinstance(item, pytest.Function) and inspect.iscoroutinefunction(item.function)
