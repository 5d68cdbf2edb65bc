"""One test of many rows: for checks of pages and tables, where a test for each row would cost more than its check."""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any


def every(rows: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Turn a check of one row into a test that checks every row and then fails with all failures.

    A row that is a tuple is passed as several arguments. There must be a row.
    """

    def test_of(check: Callable[..., None]) -> Callable[[], None]:
        @functools.wraps(check)
        def test() -> None:
            given = [row if isinstance(row, tuple) else (row,) for row in rows]
            assert given, "there is no row to check"
            failures = [failure for row in given if (failure := _failure(check, row)) is not None]
            assert not failures, f"{len(failures)} of {len(given)}:\n" + "\n".join(failures)

        test.__signature__ = inspect.Signature()  # type: ignore[attr-defined]  # pytest gives it no fixtures
        return test

    return test_of


def _failure(check: Callable[..., None], row: tuple[Any, ...]) -> str | None:
    """The row and why its check fails; None when it does not."""
    try:
        check(*row)
    except Exception as error:
        return f"- {', '.join(map(str, row)):.200}: {type(error).__name__}: {error}"
    return None
