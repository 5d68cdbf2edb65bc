"""Schemas of request and answer bodies, made from the structs, and examples made from the schemas.

A struct of a request has a default for every field, so that the domain refuses missing values with its own sentence;
the operation declares the required fields. A struct of an answer always sends its fields, except those that may be
`UNSET`.
"""

from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, Final, TypeAlias, get_args, get_origin

import msgspec
from msgspec import UnsetType

from tripline.http.operations import PageOf
from tripline.wire.rest.base import TextLink, TimeLink

Schema: TypeAlias = dict[str, Any]

REFS: Final = "#/components/schemas/{name}"
EMPTY: Final = "Empty"
"""The answer of an operation that has nothing to say."""


class Schemas:
    """The schemas of a document, each under its name, and references to them."""

    def __init__(self) -> None:
        self.components: dict[str, Schema] = {}
        self._of_values: dict[Any, Schema] = {}
        """By type: most operations answer with the same few."""

    def of_answer(self, answer: Any) -> Schema:
        """The schema of an answer: a struct, several of them, a `PageOf`, None for `{}`, or any other type."""
        if answer is None:
            description = "Done; there is nothing to tell."
            self._add(EMPTY, {"type": "object", "description": description, "properties": {}})
            return _ref(EMPTY)
        if isinstance(answer, PageOf):
            return self._page(answer)
        if isinstance(answer, UnionType):
            return {"anyOf": [self.of_value(record) for record in get_args(answer)]}
        return self.of_value(answer)

    def of_request(self, request: type[msgspec.Struct], required: tuple[str, ...], *, partial: bool) -> Schema:
        """The schema of a body; `partial` when another operation asks for more fields of the same struct."""
        name = f"{request.__name__}Partial" if partial else request.__name__
        for each, component in _described(request)[1].items():
            sent = _without_defaults(component)
            if each == request.__name__:
                self._add(name, _with_required(sent, required))
            else:
                self._add(each, sent)
        return _ref(name)

    def of_value(self, kind: Any) -> Schema:
        """The schema of a value of the query or of a header, or of a record."""
        if kind not in self._of_values:
            structs = {struct.__name__: struct for struct in _structs(kind)}
            self._of_values[kind], components = _described(kind)
            for name, component in components.items():
                self._add(name, _as_answered(component, structs[name]) if name in structs else component)
        return self._of_values[kind]

    def example(self, schema: Schema) -> Any:
        """A value that the schema allows, out of the examples of its fields."""
        if "examples" in schema:
            return schema["examples"][0]
        if "$ref" in schema:
            return self.example(self.components[schema["$ref"].rpartition("/")[2]])
        if "anyOf" in schema:
            return self.example(schema["anyOf"][0])
        if "properties" in schema:
            return {name: self.example(field) for name, field in schema["properties"].items()}
        if "items" in schema:
            return [self.example(schema["items"])]
        return schema.get("const", schema.get("enum", [None])[0])

    def _page(self, page: PageOf) -> Schema:
        record = self.of_value(page.record)
        link = self.of_value(TimeLink if page.timed else TextLink)
        name = f"{record['$ref'].rpartition('/')[2]}Page"
        order = "time" if page.timed else "name"
        self._add(
            name,
            {
                "type": "object",
                "description": f"One page of a list ordered by {order}.",
                "required": ["data", "nextPageLink", "hasNext"],
                "properties": {
                    "data": {"type": "array", "items": record, "description": "the items of the page, in order"},
                    "nextPageLink": {
                        "anyOf": [link, {"type": "null"}],
                        "description": "the query of the next page; null on the last page",
                    },
                    "hasNext": {
                        "type": "boolean",
                        "description": "whether more items follow; then `nextPageLink` is no null",
                        "examples": [True],
                    },
                },
            },
        )
        return _ref(name)

    def _add(self, name: str, component: Schema) -> None:
        component.pop("title", None)
        known = self.components.setdefault(name, component)
        if known != component:
            raise ValueError(f"Two structs are called {name}, or one is both sent and answered with defaults.")


def _described(kind: Any) -> tuple[Schema, dict[str, Schema]]:
    """The schema of a type, and the components that it refers to."""
    (schema,), components = msgspec.json.schema_components((kind,), ref_template=REFS)
    return schema, components


def _without_defaults(component: Schema) -> Schema:
    """Remove the defaults: they are not part of the interface."""
    for field in component.get("properties", {}).values():
        field.pop("default", None)
    return component


def _as_answered(component: Schema, struct: type[msgspec.Struct]) -> Schema:
    """Require every field except those that may be `UNSET`; an `OPEN` struct may have further fields."""
    always = [
        field.encode_name for field in msgspec.structs.fields(struct) if UnsetType not in get_args(_bare(field.type))
    ]
    more = {"additionalProperties": True} if getattr(struct, "OPEN", False) else {}
    return {**_without_defaults(component), **more, "required": always}


def _with_required(whole: Schema, required: tuple[str, ...]) -> Schema:
    """The schema with these fields required and not null, in addition to the struct's own required ones."""
    required = (*whole.get("required", ()), *required)
    unknown = set(required) - whole["properties"].keys()
    if unknown:
        raise ValueError(f"The body has no field {', '.join(sorted(unknown))}.")
    properties = {
        name: _without_null(field) if name in required else field for name, field in whole["properties"].items()
    }
    return {**whole, "properties": properties, **({"required": list(required)} if required else {})}


def _without_null(field: Schema) -> Schema:
    left = [each for each in field.get("anyOf", ()) if each != {"type": "null"}]
    if not left:
        return field
    rest = {key: value for key, value in field.items() if key != "anyOf"}
    return {**rest, **left[0]} if len(left) == 1 else {**rest, "anyOf": left}


def _structs(kind: Any) -> Iterator[type[msgspec.Struct]]:
    """Every struct that the type is made of."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        yield kind
        for field in msgspec.structs.fields(kind):
            yield from _structs(field.type)
    for part in get_args(kind):
        yield from _structs(part)


def _bare(kind: Any) -> Any:
    """The type without its annotations."""
    return get_args(kind)[0] if get_origin(kind) is Annotated else kind


def _ref(name: str) -> Schema:
    return {"$ref": REFS.format(name=name)}
