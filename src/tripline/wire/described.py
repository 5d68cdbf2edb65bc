"""Descriptions of the fields of messages, for the published documents."""

from typing import Any

from msgspec import Meta


def about(description: str, *examples: Any) -> Meta:
    """The meaning of a field, with values that it may have as JSON."""
    return Meta(description=description, examples=list(examples) or None)
