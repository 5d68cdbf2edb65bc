"""What a foreseen trouble is: something the caller can mend, with a stable code and a sentence.

A refusal class stands beside the rule that raises it; the kinds stand here. The rim gives each kind its HTTP status and
numeric errorCode (`api/errors.py`) or MQTT return code (`gateway/`), in one table each.

Not here: outages (`ports.Outage`), and bad samples on the hot path, which are values (`services/ingest`).
"""

from enum import Enum, auto
from typing import ClassVar


class Kind(Enum):
    """The sort of refusal; decides the answer's status (`reference/client-surface.md` 3.3)."""

    AUTHENTICATION = auto()
    TOKEN_EXPIRED = auto()
    PERMISSION = auto()
    INVALID_ARGUMENTS = auto()
    BAD_PARAMETER = auto()
    NOT_FOUND = auto()
    CONFLICT = auto()
    TIMEOUT = auto()
    TOO_LARGE = auto()
    TOO_MANY = auto()


class Refusal(Exception):  # noqa: N818  a refusal is an answer, not an error of ours
    """A foreseen trouble. `code` is stable and documented; the text says what to mend."""

    code: ClassVar[str]
    kind: ClassVar[Kind]


class TryLater(Refusal):
    """Refused only for a while; `after_s` says for how many seconds."""

    kind = Kind.TOO_MANY

    def __init__(self, text: str, *, after_s: int) -> None:
        super().__init__(text)
        self.after_s = after_s


class BadParameter(Refusal):
    """A value of the request is missing, empty, malformed or taken."""

    code = "parameter.bad"
    kind = Kind.BAD_PARAMETER

    @classmethod
    def missing(cls, name: str) -> "BadParameter":
        """The published sentence for a missing value (errorCode 31)."""
        return cls(f"Parameter '{name}' can't be empty!")


class NotFound(Refusal):
    """No such object."""

    code = "object.unknown"
    kind = Kind.NOT_FOUND


class Forbidden(Refusal):
    """The caller's role or company does not allow it."""

    code = "access.denied"
    kind = Kind.PERMISSION
