"""The tables of keys are those of spec/device-messages 5 and 6, with the names that real devices use."""

import json

import pytest
from tests.support.reference import ROOT

from tripline.wire.device import tables as device_tables

DOCUMENTED = json.loads((ROOT / "tests" / "golden" / "documented_keys.json").read_text("utf-8"))
"""Number of a message (`avn`: 114 in edition 2018) -> its numeric and its text keys, copied from the documents."""


@pytest.mark.parametrize("number", DOCUMENTED)
def test_table_holds_the_documented_keys_and_their_kinds(number):
    table = device_tables.AVN_EVENT if number == "avn" else device_tables.TABLES[int(number)]
    kept = {kind: {key for key, held in table.items() if held is kind} for kind in (True, False)}

    assert kept[device_tables.NUMERIC] == set(DOCUMENTED[number]["numeric"].split())
    assert kept[device_tables.TEXT] == set(DOCUMENTED[number]["text"].split())


def test_every_table_is_documented():
    assert {str(number) for number in device_tables.TABLES} | {"avn"} == DOCUMENTED.keys()
