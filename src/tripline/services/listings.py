"""A list as an actor may see it: a page in any order, with any filters, and the number of rows.

Not here: finding rows (`store/listing/`), lists with rules of their own (`fleet/lists.py`), the lists of REST.
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec

from tripline.domain import access
from tripline.domain.access import Action, Actor
from tripline.store.listing.noun_list import NounList
from tripline.store.listing.pages import Page, PageRequest
from tripline.store.transactions import ReadTx

F = TypeVar("F", bound=msgspec.Struct)
R = TypeVar("R", bound=msgspec.Struct)


class AtLeast(int):
    """A count that ended at its bound: there may be more."""


class Listing(msgspec.Struct, Generic[F, R], frozen=True):
    """A list. `admitted` checks the actor and the filters, and returns the arguments for `rows` and `number`."""

    rows: Callable[..., Page[R]]
    """Called with the transaction, these arguments and the page request."""
    number: Callable[..., int]
    admitted: Callable[[ReadTx, Actor, F], tuple[Any, ...]]

    def page(self, tx: ReadTx, *, actor: Actor, filters: F, page_request: PageRequest) -> Page[R]:
        """The rows of the page that the actor may see. Raises `Forbidden`."""
        return self.rows(tx, *self.admitted(tx, actor, filters), page_request)

    def count(self, tx: ReadTx, *, actor: Actor, filters: F) -> int:
        """How many rows the actor may see. Raises as `page`."""
        return self.number(tx, *self.admitted(tx, actor, filters))


def within(action: Action, of: NounList[F, R]) -> Listing[F, R]:
    """The rows within the actor's reach for the action."""
    return Listing(of.page, of.count, lambda _, actor, filters: (access.scope_of(actor, action), filters))


def permitted(action: Action, of: NounList[F, R]) -> Listing[F, R]:
    """Every row of the installation, for actors with permission for the action."""

    def admitted(_: ReadTx, actor: Actor, filters: F) -> tuple[Any, ...]:
        access.scope_of(actor, action)
        return None, filters

    return Listing(of.page, of.count, admitted)
