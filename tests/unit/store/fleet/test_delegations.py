"""Pages of delegated vehicles: found in two ways, the same both times. Over REST: unit/api/test_delegations.py."""

import pytest
from sqlalchemy import insert
from tests.support import fleet_rows, rows

from tripline.domain.access import Scope
from tripline.domain.ids import CompanyId, RecordId, VehicleId
from tripline.store.fleet import delegations, vehicles
from tripline.store.lists import Window
from tripline.store.tables import company, vehicle

OWNER, RECEIVER, ANOTHER = (CompanyId(name) for name in ("owner", "receiver", "another"))
EVERYTHING = Scope.everything("see both ways of finding")


def fill(tx, count):
    """`count` vehicles delegated to the receiver, every third also to another; and one delegated to nobody."""
    for key in (OWNER, RECEIVER, ANOTHER):
        row = {"id": key, "created_ms": 1, "name": key, "service_type": "taxi", "token_prefix": key[:5]}
        tx.run(insert(company), {**row, "master": False, "master_id": OWNER})
    for number in range(count + 1):
        # Numbers descend while ids ascend, so that neither order is the other's by chance.
        row = fleet_rows.vehicle(f"v{number:05d}", OWNER, vehicle_no=f"{count - number:05d}")
        tx.run(insert(vehicle), row)
        for to in () if number == count else (RECEIVER, ANOTHER) if number % 3 == 0 else (RECEIVER,):
            delegations.insert_new(
                tx,
                delegation_id=RecordId(f"{number} {to}"),
                vehicle_id=VehicleId(row["id"]),
                from_company_id=OWNER,
                to_company_id=to,
                automatic=False,
                now_ms=1,
            )


@pytest.mark.parametrize(
    ("count", "many"), [(delegations.MANY - 1, False), (delegations.MANY, False), (delegations.MANY + 1, True)]
)
def test_more_than_many_delegations_are_walked_along_the_numbers(count, many):
    with rows.memory() as tx:
        fill(tx, count)

        assert delegations.are_many(tx, RECEIVER, received=True) is many
        assert delegations.are_many(tx, OWNER, received=False) is True
        assert delegations.are_many(tx, OWNER, received=True) is False


@pytest.mark.parametrize("count", [0, 1, 3, delegations.MANY + 3])
@pytest.mark.parametrize(("who", "received", "every"), [(RECEIVER, True, 1), (ANOTHER, True, 3), (OWNER, False, 1)])
def test_page_holds_each_delegated_vehicle_once_in_the_order_of_numbers(count, who, received, every):
    with rows.memory() as tx:
        fill(tx, count)

        def page(**window):
            found = vehicles.delegated(tx, EVERYTHING, who, Window(**window), received=received)
            return [each.vehicle_no for each in found]

        numbers = sorted(f"{count - number:05d}" for number in range(0, count, every))
        assert page(limit=5_000) == numbers
        assert page(limit=2) == numbers[:2]
        assert page(limit=5_000, search="0000") == [number for number in numbers if number.startswith("0000")]
        if numbers:
            last = f"v{count - int(numbers[0]):05d}"
            assert page(limit=2, id_offset=last) == numbers[1:3]
            assert page(limit=2, text_offset=numbers[0], id_offset=last) == numbers[1:3]


@pytest.mark.sqlite("how SQLite finds rows")
@pytest.mark.parametrize("many", [False, True])
def test_page_costs_no_sorting_of_what_is_many(many):
    count = delegations.MANY + 1 if many else 3
    with rows.memory() as tx:
        fill(tx, count)
        with rows.statements(tx) as seen:
            vehicles.delegated(tx, EVERYTHING, RECEIVER, Window(limit=2), received=True)
        steps = [detail for *_, detail in rows.plan(tx, seen[-1])]

    assert len(seen) == 2
    assert any("TEMP B-TREE FOR ORDER BY" in step for step in steps) is not many
