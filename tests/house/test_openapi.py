"""The published document is whole and true to itself: nothing is left undescribed, every example fits."""

import json
import re
from functools import cache
from typing import Any

import jsonschema_rs
from tests.support import answers, loops, reference

from tripline.api import families
from tripline.api.documents import openapi
from tripline.domain import access
from tripline.domain.access import Action, Gate
from tripline.http import errors, operations

DOCUMENT = answers.document()
OPERATIONS = {
    f"{method.upper()} {path}": described
    for path, methods in DOCUMENT["paths"].items()
    for method, described in methods.items()
}


def checked(schema: dict[str, Any]) -> jsonschema_rs.Draft202012Validator:
    return _checked(json.dumps(schema))


@cache
def _checked(schema: str) -> jsonschema_rs.Draft202012Validator:
    """By text, for many operations have the same schema."""
    return jsonschema_rs.Draft202012Validator(answers.whole(json.loads(schema), DOCUMENT["components"]["schemas"]))


def fields() -> list[tuple[str, dict[str, Any]]]:
    """Every field of every schema."""
    return [
        (f"{name}.{field}", described)
        for name, schema in DOCUMENT["components"]["schemas"].items()
        for field, described in schema.get("properties", {}).items()
    ]


def reference_names(value: Any) -> set[str]:
    return set(re.findall(r'"\$ref": "#/components/schemas/(\w+)"', json.dumps(value)))


def test_document_names_no_other_server():
    assert re.findall(r"https?://(?![\w.]*\.example\b|203\.0\.113\.)[\w.]+", json.dumps(DOCUMENT)) == []
    assert [server["url"] for server in DOCUMENT["servers"]] == ["/"]


def test_document_has_every_operation_with_a_name_of_its_own():
    names = [described["operationId"] for described in OPERATIONS.values()]

    assert len(OPERATIONS) == sum(len(handler.paths) for handler in operations.handlers_of(families.FAMILIES))
    assert sorted(set(names)) == sorted(names)
    assert {operation.name for operation in reference.every_operation()} <= set(names)


def test_operations_stand_under_a_heading():
    assert {tag for described in OPERATIONS.values() for tag in described["tags"]} == set(families.HEADINGS)


@loops.every(OPERATIONS)
def test_operation_says_what_it_does_and_who_may_call_it(name):
    described = OPERATIONS[name]

    assert len(described["summary"]) > 5
    assert "**Who may call it**" in described["description"]
    assert not re.search(r"\(([A-Z]\d|client-surface)", described["description"])


@loops.every(OPERATIONS)
def test_parameters_are_described_with_an_example_that_fits(name):
    for parameter in OPERATIONS[name]["parameters"]:
        assert len(parameter["description"]) > 5, parameter
        checked(parameter["schema"]).validate(parameter["example"])


def test_every_field_is_described_with_unit_or_meaning():
    assert [name for name, field in fields() if len(field.get("description", "")) < 5] == []


def test_every_field_has_an_example_that_fits():
    wrong = []
    for name, field in fields():
        if "items" in field and name.endswith("Page.data"):
            continue
        examples = field.get("examples") or ([] if "nextPageLink" not in name else [None])
        judged = checked(field)
        if not examples or not all(judged.is_valid(example) for example in examples):
            wrong.append(name)

    assert wrong == []


@loops.every(OPERATIONS)
def test_examples_of_bodies_and_answers_fit_their_schemas(name):
    described = OPERATIONS[name]
    bodies = [described.get("requestBody", {}), *described["responses"].values()]

    for body in bodies:
        for content in body.get("content", {}).values():
            if "example" in content:
                checked(answers.strict(content["schema"])).validate(content["example"])


def test_every_schema_is_described():
    assert [name for name, schema in DOCUMENT["components"]["schemas"].items() if not schema.get("description")] == []


def test_every_schema_is_used_and_every_reference_is_there():
    schemas = set(DOCUMENT["components"]["schemas"])

    assert reference_names(DOCUMENT) == schemas


@loops.every(OPERATIONS)
def test_errors_are_those_of_the_table_with_code_and_sentence(name):
    described = OPERATIONS[name]
    declared = {each.name: each for each in reference.every_operation()}[
        re.sub(r"\.\d+$", "", described["operationId"])
    ]

    for refusal in openapi.refusals(declared):
        status, code = errors.ANSWERS[refusal.kind]
        if status not in declared.also:
            line = f"| {code} | `{refusal.code}` | {openapi.first_sentence(refusal.__doc__)} |"
            assert line in described["responses"][str(status)]["description"]
    if isinstance(declared.access, Action):
        assert {"401", "403"} <= described["responses"].keys()
    assert bool(described["security"]) is (declared.access not in (Gate.ANYONE, Gate.MACHINE))


def test_who_may_call_is_the_row_of_the_permissions():
    assert openapi.who(Action.VEHICLE_DELETE) == (
        f"- `COMPANY_ADMIN`: {access.Reach.OWN_COMPANY.value}\n- `DIRECTOR`: {access.Reach.MANAGED.value}"
    )
    assert openapi.who(Gate.ANYONE) == "- anyone; no token needed"


def test_machine_local_operations_are_marked():
    marked = {name for name, described in OPERATIONS.items() if described.get("x-machine-local")}

    assert marked == {"GET /health/live", "GET /health/ready", "GET /metrics"}
