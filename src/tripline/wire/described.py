"""Descriptions of the fields of messages, for the published documents."""

from typing import Any, get_type_hints

from msgspec import Meta, Struct
from msgspec.structs import fields


def about(description: str, *examples: Any) -> Meta:
    """The meaning of a field, with values that it may have as JSON."""
    return Meta(description=description, examples=list(examples) or None)


def example_of(record: type[Struct]) -> dict[str, Any]:
    """A record as JSON: the first example of each field."""
    hints = get_type_hints(record, include_extras=True)
    return {field.encode_name: hints[field.name].__metadata__[0].examples[0] for field in fields(record)}
