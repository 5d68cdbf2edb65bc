"""Refusals: foreseen problems that the caller can fix, as data: a stable code, the field at fault, values.

A refusal class is defined beside the rule that raises it; the kinds are defined here. `http/errors.py` maps each kind
to its HTTP status and numeric errorCode, `gateway/` to the MQTT return code, `language/` each refusal to its sentence.

Not here: outages (`ports.outages.Outage`), and bad samples on the hot path, which are values (`services/ingest`).
"""

from enum import Enum, auto
from typing import ClassVar, Final, TypeAlias


class Kind(Enum):
    """The sort of refusal; decides the answer's status (spec/rest 3.3)."""

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
    BUSY = auto()


class Word(str):
    """A value with its own word in each language. A vocabulary is a class with this one and `Enum` as bases."""

    __slots__ = ()


Value: TypeAlias = str | int | float | tuple[str, ...]
"""Values for a sentence; a tuple lists alternatives."""
_CLASSES: Final[dict[str, type["Refusal"]]] = {}


class Refusal(Exception):  # noqa: N818  a refusal is an answer, not an error of ours
    """A foreseen problem. `code` is stable and documented; `case` selects one of the sentences of a code.

    `field` is the parameter at fault, by the caller's name for it; `values` are filled into the sentence. `others` are
    the refusals of further fields of the same request: REST reports the first, a form of the portal all.
    """

    code: ClassVar[str]
    kind: ClassVar[Kind]

    def __init__(self, case: str = "", /, *, field: str | None = None, **values: Value) -> None:
        # Logs show these; values stay out of them, because they may name a person.
        super().__init__(case, field)
        self.case = case
        self.field = field
        self.values = values
        self.others: tuple[Refusal, ...] = ()

    def __init_subclass__(cls) -> None:
        """Note the class under its code."""
        super().__init_subclass__()
        if "code" in vars(cls):
            _CLASSES[cls.code] = cls


class TryLater(Refusal):
    """Refused only for a while; `after_s` is the number of seconds."""

    kind = Kind.TOO_MANY

    def __init__(self, case: str = "", /, *, after_s: int, field: str | None = None, **values: Value) -> None:
        super().__init__(case, field=field, **values)
        self.after_s = after_s


class BadParameter(Refusal):
    """A value of the request is missing, empty, malformed or taken."""

    code = "parameter.bad"
    kind = Kind.BAD_PARAMETER

    @classmethod
    def missing(cls, name: str) -> "BadParameter":
        """The refusal of a request without this value (errorCode 31)."""
        return BadParameter("missing", field=name)


class NotFound(Refusal):
    """No such object."""

    code = "object.unknown"
    kind = Kind.NOT_FOUND


class Conflict(Refusal):
    """The state of something does not allow it."""

    kind = Kind.CONFLICT


class Invalid(Refusal):
    """The request contradicts the rules between the objects that it names."""

    kind = Kind.INVALID_ARGUMENTS


class Forbidden(Refusal):
    """The caller's role or company does not allow it."""

    code = "access.denied"
    kind = Kind.PERMISSION


def class_of(code: str) -> type[Refusal] | None:
    """The class that has the code; None for a code that no loaded module knows."""
    return _CLASSES.get(code)
