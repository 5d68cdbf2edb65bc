"""A short run of the fuzzer that makes requests from the published document, and proof that it can fail."""

import os
import random
from typing import Any

import pytest
from tests.support import answers

from tripline.api.families import FAMILIES
from tripline.domain import access
from tripline.domain.access import Action, Authority, Reach
from tripline.domain.refusals import Kind
from tripline.http import errors, operations

SEED = os.environ.get("TRIPLINE_TESTS_SEED") or random.randrange(10**6)
pytestmark = [pytest.mark.deep, pytest.mark.once("what the published document says")]


@pytest.fixture(scope="module")
def fuzz_schema() -> Any:
    """Loaded by who runs it: schemathesis takes a second, and every process of a run collects this file."""
    from tests.fuzz import fuzz_schema

    return fuzz_schema


def is_drawn(method: str, path: str) -> bool:
    """Every operation that reads, and half of the others of a run."""
    return method == "get" or random.Random(f"{SEED} {method} {path}").random() < 0.5


@pytest.mark.slow
def test_requests_made_from_the_document_are_answered_as_it_says(tmp_path, fuzz_schema):
    print(f"TRIPLINE_TESTS_SEED={SEED}")
    seen = fuzz_schema.run(tmp_path, seed=1, examples=6, chosen=is_drawn)

    # Every sort of answer occurs, or the requests are not what they should be. What reads is asked first, and the same
    # in each run, so that some 90 answers with 200 do not depend on the draw.
    assert seen.keys() >= {200, 400, 401, 403, 404}
    assert seen[200] > 85
    assert seen.keys() & {500, 503} == set()


@pytest.mark.slow
@pytest.mark.parametrize("action", [Action.VEHICLE_READ, Action.DRIVING_READ, Action.COMPANY_READ])
def test_fuzzer_notices_a_permission_that_reaches_too_far(tmp_path, monkeypatch, fuzz_schema, action):
    monkeypatch.setitem(access.RULES[action], Authority.COMPANY_ADMIN, frozenset({Reach.ANY}))
    asking = {(each.method.lower(), each.path) for each in operations.declared(FAMILIES) if each.access is action}

    with pytest.raises(fuzz_schema.Leak, match=r"holds \{'mark<"):
        fuzz_schema.run(
            tmp_path,
            seed=1,
            examples=12,
            role="admin",
            methods=("get",),
            chosen=lambda method, path: (method, path) in asking,
        )


@pytest.mark.slow
def test_fuzzer_notices_a_status_that_is_not_documented(tmp_path, monkeypatch, fuzz_schema):
    answers.document()  # made and kept before the table is changed
    monkeypatch.setitem(errors.ANSWERS, Kind.NOT_FOUND, (410, errors.NOT_FOUND))

    with pytest.raises(answers.OutsideTheSchema, match="the status is not documented"):
        fuzz_schema.run(tmp_path, seed=1, examples=12, methods=("get",))
