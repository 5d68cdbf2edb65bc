"""The digest of a record: what a form carries, so that nobody overwrites what somebody else has saved meanwhile.

It has a short hash of each field's text, so that the second of two who save the same record is told field by field:
what the other one changed, and what was typed here. Fields that only the other one touched take the newer text, those
that were typed here keep what was typed.

    {{ ui.hidden("digest", digest) }}                               digest: digests.of(texts)
    digests.clash(form.text("digest"), now=texts, typed=typed)      in the transaction that saves

Not here: which fields a form has, and what they are called (the module of the noun).
"""

import hashlib
from collections.abc import Mapping
from typing import Final

import msgspec

_BYTES: Final = 6
"""Of each hash: no secret is kept by it, two texts only have to differ."""
_BETWEEN: Final = "."


class Theirs(msgspec.Struct, frozen=True):
    """A field that somebody else changed meanwhile."""

    name: str
    now: str
    """The text that was saved."""
    typed: str
    """The text in this form."""


class Clash(msgspec.Struct, frozen=True):
    """What a form is to show when the record is no longer the one that it was filled from."""

    changed: tuple[Theirs, ...]
    """What somebody else saved, in the order of the fields."""
    texts: dict[str, str]
    """Every field as the form shows it again."""


def of(texts: Mapping[str, str]) -> str:
    """The digest of a record whose form has these texts, in the order of its fields."""
    return _BETWEEN.join(_hash(text) for text in texts.values())


def clash(sent: str, *, now: Mapping[str, str], typed: Mapping[str, str]) -> Clash | None:
    """What somebody else changed since the form was made that carried this digest; None: nothing.

    `now`: the fields of the record as it is; `typed`: what the form says of them. Of a digest that is not of these
    fields, because the form is older than the program, every field counts that differs.
    """
    before = sent.split(_BETWEEN)
    known = len(before) == len(now)
    changed, texts = [], {}
    for place, (name, saved) in enumerate(now.items()):
        mine = typed.get(name, "")
        texts[name] = saved if known and _hash(mine) == before[place] else mine
        if _plain(saved) != _plain(mine) and not (known and _hash(saved) == before[place]):
            changed.append(Theirs(name, saved, mine))
    return Clash(tuple(changed), texts) if changed else None


def _hash(text: str) -> str:
    return hashlib.blake2s(_plain(text).encode(errors="surrogatepass"), digest_size=_BYTES).hexdigest()


def _plain(text: str) -> str:
    """Browsers send the ends of lines of a text area as they like."""
    return "\n".join(text.splitlines())
