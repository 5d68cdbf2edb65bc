"""The history of a line: each change in its place, whoever numbers them."""

from tests.support import rows

from tripline.domain.ids import RowNo, SensorId
from tripline.domain.lines import Change, NwStatus
from tripline.store.lines import lines

SENSOR = SensorId("22222222-2222-1222-8222-222222222222")
OTHER = SensorId("33333333-3333-1333-8333-333333333333")


def change(no, said):
    return Change(no=RowNo(no), type=said, nw_status=NwStatus.NORMAL, occurred_ms=1)


def kept(tx, sensor_id, *, before=None):
    return [(each.no, each.type) for each in lines.of_sensor(tx, sensor_id, before=before, limit=10)]


def test_changes_that_programs_number_alike_are_kept_in_the_order_in_which_they_came():
    with rows.memory() as tx:
        for no, said in ((50, "FIRST"), (50, "SECOND"), (20, "THIRD"), (90, "FOURTH")):
            lines.add(tx, SENSOR, change(no, said))
        every, older = kept(tx, SENSOR), kept(tx, SENSOR, before=RowNo(52))

    assert every == [(90, "FOURTH"), (52, "THIRD"), (51, "SECOND"), (50, "FIRST")]
    assert older == [(51, "SECOND"), (50, "FIRST")]


def test_a_change_is_numbered_behind_those_of_its_own_line_only():
    with rows.memory() as tx:
        lines.add(tx, SENSOR, change(50, "FIRST"))
        lines.add(tx, OTHER, change(20, "FIRST"))
        found = kept(tx, OTHER)

    assert found == [(20, "FIRST")]
