"""The published records, key by key and in the published order (spec/interface, Resources and fields)."""

import json
from pathlib import Path

import pytest
from tests.support import rest

from tripline.domain.access import Authority

GOLDEN = Path(__file__).parents[2] / "golden" / "rest"


def golden(name):
    case = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
    return case["request"], case["answer"]


def in_order(record):
    return json.dumps(record, ensure_ascii=False, indent=1)


async def test_registration_of_an_operator_answers_the_published_record(app: rest.Rest):
    sent, published = golden("company_operator")

    granted = await app.account("kim@ace.example", Authority.COMPANY_ADMIN)
    answer = await app.post(granted, "/company", sent)

    assert in_order(answer) == in_order(published)


async def test_registration_of_a_partner_answers_the_published_record(app: rest.Rest):
    sent, published = golden("company_partner")

    _, admin = await app.operator("ace-fleet")
    answer = await app.post(admin, "/company", sent)

    assert in_order(answer) == in_order(published)


@pytest.mark.parametrize("name", ["vehicle", "sensor", "director", "driver"])
async def test_registration_answers_the_published_record(name, app: rest.Rest):
    sent, published = golden(name)

    _, admin = await app.operator("ace-fleet")
    answer = await app.post(admin, f"/{name}", sent)

    assert in_order(answer) == in_order(published)


@pytest.mark.parametrize("name", ["vehicle", "sensor"])
async def test_read_answers_the_record_of_the_registration(name, app: rest.Rest):
    sent, published = golden(name)

    _, admin = await app.operator("ace-fleet")
    registered = await app.post(admin, f"/{name}", sent)
    answer = await app.get(admin, f"/{name}/{registered['id']['id']}")

    assert in_order(answer) == in_order(published)


@pytest.mark.parametrize("name", ["director", "driver"])
async def test_read_of_a_driver_answers_the_record_of_directors_too(name, app: rest.Rest):
    sent, published = golden(name)

    _, admin = await app.operator("ace-fleet")
    registered = await app.post(admin, f"/{name}", sent)
    answer = await app.get(admin, f"/driver/{registered['id']['id']}")

    assert in_order(answer) == in_order(published)


@pytest.mark.parametrize("name", ["company_operator", "company_partner"])
async def test_read_of_my_company_has_the_token_prefix_and_no_password(name, app: rest.Rest):
    sent, published = golden(name)

    if name == "company_operator":
        admin = await app.account("kim@ace.example", Authority.COMPANY_ADMIN)
        await app.post(admin, "/company", sent)
    else:
        _, operator = await app.operator("ace-fleet")
        _, admin = await app.partner(operator, sent["picEmail"], **sent)
    answer = await app.get(admin, "/company/me")

    prefix = answer.pop("tokenPrefix")
    assert len(prefix) == 5
    assert prefix.isalnum()
    expected = {key: value for key, value in published.items() if key != "picPasswd"}
    assert in_order(answer) == in_order(expected)
