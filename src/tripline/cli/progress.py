"""Progress counts of a command: in place on a terminal, elsewhere an occasional line."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

from tripline.cli import base


def leave() -> None:
    """Restore the terminal, for a process that ends at once."""
    Console().show_cursor()


@contextmanager
def counting(noun: str, *, every: int) -> Iterator[Callable[[int], None]]:
    """Yield a function that takes the number done so far. `noun`: the counted things; `every`: number between two
    lines."""
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
