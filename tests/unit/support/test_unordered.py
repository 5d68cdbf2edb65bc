"""The rule that finds what relies on an order that no statement names."""

from sqlalchemy import insert, select
from tests.support import rows, unordered

from tripline.store.tables import secret
from tripline.store.transactions import Hot


def test_rows_come_in_reverse_unless_their_statement_names_an_order() -> None:
    names = select(secret.c.name)
    ordered = names.order_by(secret.c.name)
    with rows.memory() as tx:
        tx.run(insert(secret), [{"name": name, "value": b""} for name in ("a", "b", "c")])
        usual = tx.all(names), tx.hot(Hot(names))
        with unordered.reversed_rows():
            found = [tx.all(names), tx.hot(Hot(names)), tx.all(ordered), tx.hot(Hot(ordered))]

    assert found[:2] == [usual[0][::-1], usual[1][::-1]]
    assert [[name for (name,) in each] for each in found[2:]] == [["a", "b", "c"]] * 2
