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


def test_registration_of_an_operator_answers_the_published_record(tmp_path):
    sent, published = golden("company_operator")

    async def scenario(app):
        granted = await app.account("kim@ace.example", Authority.COMPANY_ADMIN)
        return await app.post(granted, "/company", sent)

    answer = rest.run(tmp_path, scenario)

    assert in_order(answer) == in_order(published)


def test_registration_of_a_partner_answers_the_published_record(tmp_path):
    sent, published = golden("company_partner")

    async def scenario(app):
        _, admin = await app.operator("ace-fleet")
        return await app.post(admin, "/company", sent)

    answer = rest.run(tmp_path, scenario)

    assert in_order(answer) == in_order(published)


@pytest.mark.parametrize("name", ["vehicle", "sensor", "director", "driver"])
def test_registration_answers_the_published_record(name, tmp_path):
    sent, published = golden(name)

    async def scenario(app):
        _, admin = await app.operator("ace-fleet")
        return await app.post(admin, f"/{name}", sent)

    answer = rest.run(tmp_path, scenario)

    assert in_order(answer) == in_order(published)


@pytest.mark.parametrize("name", ["vehicle", "sensor"])
def test_read_answers_the_record_of_the_registration(name, tmp_path):
    sent, published = golden(name)

    async def scenario(app):
        _, admin = await app.operator("ace-fleet")
        registered = await app.post(admin, f"/{name}", sent)
        return await app.get(admin, f"/{name}/{registered['id']['id']}")

    answer = rest.run(tmp_path, scenario)

    assert in_order(answer) == in_order(published)


@pytest.mark.parametrize("name", ["director", "driver"])
def test_read_of_a_driver_answers_the_record_of_directors_too(name, tmp_path):
    sent, published = golden(name)

    async def scenario(app):
        _, admin = await app.operator("ace-fleet")
        registered = await app.post(admin, f"/{name}", sent)
        return await app.get(admin, f"/driver/{registered['id']['id']}")

    answer = rest.run(tmp_path, scenario)

    assert in_order(answer) == in_order(published)


@pytest.mark.parametrize("name", ["company_operator", "company_partner"])
def test_read_of_my_company_has_the_token_prefix_and_no_password(name, tmp_path):
    sent, published = golden(name)

    async def scenario(app):
        if name == "company_operator":
            admin = await app.account("kim@ace.example", Authority.COMPANY_ADMIN)
            await app.post(admin, "/company", sent)
        else:
            _, operator = await app.operator("ace-fleet")
            _, admin = await app.partner(operator, sent["picEmail"], **sent)
        return await app.get(admin, "/company/me")

    answer = rest.run(tmp_path, scenario)

    prefix = answer.pop("tokenPrefix")
    assert len(prefix) == 5
    assert prefix.isalnum()
    expected = {key: value for key, value in published.items() if key != "picPasswd"}
    assert in_order(answer) == in_order(expected)
