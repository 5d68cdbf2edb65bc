"""Progress counts of a command: in place on a terminal, elsewhere an occasional line."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console

from tripline.cli import base


def leave() -> None:
    """Restore the terminal, for a process that ends at once."""
    Console().show_cursor()


@contextmanager
def counting(noun: str, *, every: int) -> Iterator[Callable[..., None]]:
    """Yield a function that takes the number done so far, and what was done with these if that is to be said. `noun`:
    the counted things; `every`: number between two lines."""
    console = Console(highlight=False)
    if console.is_terminal:
        with console.status("") as status:
            yield lambda done, doing="": status.update(f"{doing} {done:,} {noun}".lstrip())
        return
    told: dict[str, int] = defaultdict(int)

    def tell(done: int, doing: str = "") -> None:
        if done // every > told[doing]:
            told[doing] = done // every
            base.line(f"{doing} {done} {noun}".lstrip())

    yield tell
