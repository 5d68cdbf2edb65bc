"""Preferences of an account in the portal: its own affair alone."""

from enum import StrEnum

import msgspec

from tripline.domain.access import Actor
from tripline.language.catalogue import Language
from tripline.store.accounts import accounts
from tripline.store.transactions import WriteTx


class Theme(StrEnum):
    """Look of the pages; without one it follows the visitor's system."""

    LIGHT = "light"
    DARK = "dark"


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """The chosen preferences; None keeps the previous choice."""

    language: Language | None = None
    theme: Theme | None = None
    of_system: bool = False
    """True to follow the visitor's system theme from now on."""


def choose(tx: WriteTx, *, actor: Actor, wanted: Wanted) -> None:
    """Store the actor's preferences."""
    values: dict[str, str | None] = {}
    if wanted.language is not None:
        values["language"] = wanted.language.value
    if wanted.theme is not None or wanted.of_system:
        values["theme"] = None if wanted.theme is None else wanted.theme.value
    if values:
        accounts.change(tx, actor.user_id, **values)
