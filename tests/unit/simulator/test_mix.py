"""The vehicles of a fleet: mixes, evenly shared out; the books of what each sent."""

from collections import Counter
from pathlib import Path

import pytest

from tripline.simulator import fleet, mix
from tripline.simulator.books import Ledger
from tripline.simulator.drafts import Kind, Message
from tripline.simulator.habits import HABITS
from tripline.simulator.mix import MixError
from tripline.simulator.office import OfficeError
from tripline.simulator.payloads import TYPES
from tripline.simulator.styles import STYLES


def test_mix_reads_weights_in_any_letter_case_and_all_for_alike() -> None:
    assert mix.mix("gps=3, OBD", TYPES, "The type") == {"GPS": 3.0, "OBD": 1.0}
    assert mix.mix("all", TYPES, "The type") == dict.fromkeys(TYPES, 1.0)


@pytest.mark.parametrize("text", ["", "GPS,", "LIDAR", "GPS=x", "GPS=-1,OBD=2", "GPS=0", "GPS=nan", "GPS=inf"])
def test_mix_of_nothing_known_is_refused(text: str) -> None:
    with pytest.raises(MixError):
        mix.mix(text, TYPES, "The type")


@pytest.mark.parametrize("count", [1, 3, 4, 5, 1_000])
def test_names_are_shared_out_by_their_weights_from_the_first_on(count: int) -> None:
    names = Counter(mix.shared_out({"a": 3.0, "b": 1.0}, count))

    assert abs(names["a"] - count * 0.75) <= 1
    assert names.total() == count


def test_each_type_is_driven_in_every_style_and_has_only_habits_that_it_can_have() -> None:
    devices = [(kind, f"SIM-{number}") for number, kind in enumerate(TYPES * 60)]

    found = mix.characters(
        devices, styles=dict.fromkeys(STYLES, 1.0), habits=dict.fromkeys(HABITS, 1.0), packed_share=0.25
    )

    assert {(each.device, each.style) for each in found} == {(kind, style) for kind in TYPES for style in STYLES}
    assert {each.habit for each in found} == set(HABITS)
    assert all(each.habit is not None and each.device in HABITS[each.habit].types for each in found)
    assert sum(each.packed for each in found) == len(found) // 4


@pytest.mark.parametrize("spare", [0, 3])
def test_every_habit_is_there_as_soon_as_there_are_vehicles_enough(spare: int) -> None:
    devices = [
        (kind, f"SIM-{number}") for number, kind in enumerate(mix.shared_out(dict.fromkeys(TYPES, 1.0), 60 + spare))
    ]

    found = mix.characters(devices, styles={"calm": 1.0}, habits=dict.fromkeys(HABITS, 1.0))

    assert {each.habit for each in found} == set(HABITS)


def test_habits_are_as_frequent_as_their_weights() -> None:
    devices = [("OBD", f"SIM-{number}") for number in range(60)]

    found = Counter(
        each.habit
        for each in mix.characters(devices, styles={"calm": 1.0}, habits={"none": 4.0, "twice": 2.0, "em-zero": 0.0})
    )

    assert found == {None: 40, "twice": 20}


def test_type_that_can_have_no_wanted_habit_has_none() -> None:
    [gps] = mix.characters([("GPS", "SIM-1")], styles={"calm": 1.0}, habits={"em-zero": 1.0})

    assert gps.habit is None


def test_tokens_are_read_with_their_types(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text("aaaaaaaaaaaaaaaaaaaa\n\nbbbbbbbbbbbbbbbbbbbb, obd\n")

    assert fleet.tokens(file) == [("aaaaaaaaaaaaaaaaaaaa", "GPS"), ("bbbbbbbbbbbbbbbbbbbb", "OBD")]
    with pytest.raises(OfficeError, match="cannot be read"):
        fleet.tokens(tmp_path)


def message(kind: Kind = Kind.MICROTRIP, **more: object) -> Message:
    return Message(due_s=0, kind=kind, topic="t", body=b"", **more)  # type: ignore[arg-type]


def stored(count: int) -> dict[Kind, int]:
    return {Kind.MICROTRIP: count, Kind.TRIP: 0, Kind.EVENT: 0}


def test_acknowledged_message_must_be_stored_once() -> None:
    ledger = Ledger()
    one = message()

    ledger.sent(one)
    ledger.acknowledged(one)

    assert [ledger.agrees_with(stored(count)) for count in (0, 1, 2)] == [False, True, False]


def test_message_that_makes_no_record_must_not_be_stored() -> None:
    ledger = Ledger()
    redelivery = message(kept=0)

    ledger.sent(redelivery)
    ledger.acknowledged(redelivery)

    assert [ledger.agrees_with(stored(count)) for count in (0, 1)] == [True, False]


def test_message_that_nobody_acknowledged_may_be_stored() -> None:
    ledger = Ledger()
    lost, at_most_once = message(), message(qos=0)

    for one in (lost, at_most_once):
        ledger.sent(one)
    ledger.left(lost)

    assert [ledger.agrees_with(stored(count)) for count in (0, 1, 2, 3)] == [True, True, True, False]


def test_message_without_any_time_that_was_sent_again_may_be_stored_twice() -> None:
    ledger = Ledger()
    untimed = message(recognised=False)

    ledger.sent(untimed)
    untimed.written = True
    ledger.sent(untimed)
    ledger.acknowledged(untimed)

    assert ledger.rows[Kind.MICROTRIP].resent == 1
    assert [ledger.agrees_with(stored(count)) for count in (0, 1, 2, 3)] == [False, True, True, False]
