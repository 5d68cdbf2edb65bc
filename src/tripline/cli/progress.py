"""Counts of what a command has done: in place on a terminal, elsewhere a line now and then."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

from tripline.cli import base


def leave() -> None:
    """Leave a terminal as it was, for a process that ends at once."""
    Console().show_cursor()


@contextmanager
def counting(noun: str, *, every: int) -> Iterator[Callable[[int], None]]:
    """Yields what takes how many are done so far. `noun`: what is counted; `every`: how many there are to a line."""
    console = Console(highlight=False)
    if console.is_terminal:
        with console.status("") as status:
            yield lambda done: status.update(f"{done:,} {noun}")
        return
    told = 0

    def tell(done: int) -> None:
        nonlocal told
        if done // every > told:
            told = done // every
            base.line(f"{done} {noun}")

    yield tell
