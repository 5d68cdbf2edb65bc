"""Keys: the form in which numbers of vehicles, serial numbers of sensors and headings of files are compared.

Texts that look the same have one key: `12가 3456` with and without its blank, in composed and decomposed letters, in
either letter case, with and without invisible characters. Records keep and echo the text as sent (spec/gaps H5).

Not here: names and e-mail addresses (`fields.compared`); access tokens, which are compared exactly.
"""

import hashlib
import re
import unicodedata
from typing import Final

LONGEST: Final = 255
"""Characters of a key; a longer one is replaced by its digest, so that every key fits into an index."""
_INVISIBLE: Final = re.compile(
    "[\x00-\x20\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f"
    "\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
"""White space, control characters, Unicode's default ignorable characters, and the blank of Braille."""


def key(text: str) -> str:
    """Return the key: NFC, case-folded, without blanks and invisible characters; empty for an invisible text."""
    folded = text.lower() if text.isascii() else unicodedata.normalize("NFD", text).casefold()
    visible = _INVISIBLE.sub("", folded)
    made = visible if visible.isascii() else unicodedata.normalize("NFC", visible)
    return made if len(made) <= LONGEST else hashlib.blake2b(made.encode("utf-8", "surrogatepass")).hexdigest()
