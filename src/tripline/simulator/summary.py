"""The output of `tripline simulate`: progress, then the messages sent, acknowledged and stored."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import msgspec
from rich.console import Console
from rich.table import Table

from tripline.simulator.books import COUNTED, Ledger, Stored
from tripline.simulator.habits import HABITS
from tripline.simulator.itinerary import Character

_NAMED: Final = 5
_LINE_EVERY_S: Final = 5.0


class Driven(msgspec.Struct, frozen=True):
    """One vehicle at the end. `stored` is None if the stored records could not be counted."""

    character: Character
    ledger: Ledger
    stored: Stored | None

    @property
    def is_well(self) -> bool:
        """True if the device finished and everything acknowledged is stored."""
        return self.ledger.failure is None and (self.stored is None or self.ledger.agrees_with(self.stored))


def total(ledgers: Sequence[Ledger]) -> Ledger:
    """The books of all vehicles together."""
    whole = Ledger()
    for each in ledgers:
        whole.add(each)
    return whole


@contextmanager
def progress(console: Console, clock: Callable[[], float]) -> Iterator[Callable[[str], None]]:
    """Show each line: in place on a terminal, else one now and then."""
    if console.is_terminal:
        with console.status("") as status:
            yield status.update
        return
    shown, shown_at = "", clock()

    def line(text: str) -> None:
        nonlocal shown, shown_at
        if text != shown and clock() - shown_at >= _LINE_EVERY_S:
            shown, shown_at = text, clock()
            console.print(text)

    yield line


def so_far(ledgers: Sequence[Ledger], online: int) -> str:
    """One line of progress."""
    whole = total(ledgers).whole
    counts = f"sent {whole.sent:,}, acknowledged {whole.acknowledged:,}, sent again {whole.resent:,}"
    return f"connected {online:,}, {counts}"


def table(console: Console, fleet: Sequence[Driven]) -> None:
    """Print the closing table, the effects of each habit, and the faults."""
    whole = total([each.ledger for each in fleet])
    stored = _stored(fleet)
    shown = Table(title=f"{len(fleet):,} vehicles, {whole.connections:,} connections")
    shown.add_column("")
    for heading in ("sent", "sent again", "acknowledged", "no record", "must be stored", "may be", "stored"):
        shown.add_column(heading, justify="right")
    for kind, row in whole.rows.items():
        numbers: list[int | None] = [row.sent, row.resent, row.acknowledged]
        counts: list[int | None] = [None] * 4
        if kind in COUNTED:
            counts = [row.without_record, row.due, row.maybe, None if stored is None else stored[kind]]
        shown.add_row(kind.value, *("" if number is None else f"{number:,}" for number in [*numbers, *counts]))
    console.print(shown)
    _habits(console, fleet)
    _troubles(console, fleet)


def _stored(fleet: Sequence[Driven]) -> Stored | None:
    if any(each.stored is None for each in fleet):
        return None
    return {kind: sum(each.stored[kind] for each in fleet if each.stored is not None) for kind in COUNTED}


def _habits(console: Console, fleet: Sequence[Driven]) -> None:
    """Print the habits and the results of their messages."""
    by_habit: dict[str, list[Driven]] = {}
    for each in fleet:
        if each.character.habit is not None:
            by_habit.setdefault(each.character.habit, []).append(each)
    if not by_habit:
        return
    shown = Table(title="Bad habits")
    for heading in ("habit", "read"):
        shown.add_column(heading)
    for heading in ("vehicles", "sent", "acknowledged", "no record", "stored"):
        shown.add_column(heading, justify="right")
    for name, vehicles in sorted(by_habit.items()):
        rows = [total([each.ledger for each in vehicles]).rows[kind] for kind in COUNTED]
        stored = _stored(vehicles)
        sums = [sum(getattr(row, what) for row in rows) for what in ("sent", "acknowledged", "without_record")]
        counts = [len(vehicles), *sums, None if stored is None else sum(stored.values())]
        shown.add_row(name, HABITS[name].read, *("" if count is None else f"{count:,}" for count in counts))
    console.print(shown)


def _troubles(console: Console, fleet: Sequence[Driven]) -> None:
    unwell = [each for each in fleet if not each.is_well]
    for each in unwell[:_NAMED]:
        console.print(f"{each.character.plate}: {_why(each)}", markup=False)
    if len(unwell) > _NAMED:
        console.print(f"and {len(unwell) - _NAMED:,} more vehicles")
    if _stored(fleet) is None:
        console.print("Nothing stored was counted: that needs the account of the company's administrator (--email).")
    elif all(each.stored is not None and each.ledger.agrees_with(each.stored) for each in unwell):
        console.print("Everything acknowledged is stored, once.")


def _why(each: Driven) -> str:
    if each.ledger.failure is not None:
        return each.ledger.failure
    assert each.stored is not None
    off = []
    for kind in COUNTED:
        row, stored = each.ledger.rows[kind], each.stored[kind]
        if not row.due <= stored <= row.due + row.maybe:
            most = f" to {row.due + row.maybe:,}" if row.maybe else ""
            off.append(f"{kind.value}: {stored:,} stored, {row.due:,}{most} expected")
    habit = f" ({each.character.habit})" if each.character.habit else ""
    return "; ".join(off) + habit
