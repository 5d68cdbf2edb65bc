"""The digest of a record, which a form carries so that it does not overwrite changes that another user saved meanwhile.

It contains a short hash of each field's text. The second of two users who save the same record therefore sees each
field that the other one changed, beside the typed text. A field that only the other user changed takes the newer text;
a field changed here keeps the typed text.

    {{ ui.hidden("digest", digest) }}                               digest: digests.of(texts)
    digests.clash(form.text("digest"), now=texts, typed=typed)      in the transaction that saves
"""

import hashlib
from collections.abc import Mapping
from typing import Final

import msgspec

_BYTES: Final = 6
"""Length of each hash: it only detects differences and protects no secret."""
_BETWEEN: Final = "."


class Theirs(msgspec.Struct, frozen=True):
    """A field that another user changed meanwhile."""

    name: str
    now: str
    typed: str


class Clash(msgspec.Struct, frozen=True):
    """The merge of a form with a record that changed since it was filled."""

    changed: tuple[Theirs, ...]
    """The changes of the other user, in the order of the fields."""
    texts: dict[str, str]
    """The text of every field in the form that is shown again."""


def of(texts: Mapping[str, str]) -> str:
    """The digest of a form's texts, in the order of its fields."""
    return _BETWEEN.join(_hash(text) for text in texts.values())


def clash(sent: str, *, now: Mapping[str, str], typed: Mapping[str, str]) -> Clash | None:
    """The changes of other users since the form was filled; None without any.

    `now` has the fields of the current record, `typed` those of the form. If the digest has another number of fields,
    because the form is older than the program, every differing field counts.
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
    """Browsers differ in the line ends of text areas."""
    return "\n".join(text.splitlines())
