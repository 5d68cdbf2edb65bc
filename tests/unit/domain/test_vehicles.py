"""The bounds of a vehicle's registration."""

import pytest
from tests.support.refused import refused

from tripline.domain import fields, vehicles
from tripline.domain.refusals import BadParameter


def test_registration_with_required_fields_alone_has_the_defaults():
    assert vehicles.registration(vehicle_no="12가3456", mileage=0.1) == vehicles.Registration(
        vehicle_no="12가3456",
        vendor=None,
        model_code=None,
        model_name=None,
        model_year=None,
        mission_type=None,
        fuel_type=None,
        mileage=0.1,
        category=None,
        usage=None,
        displacement=0,
        additional_info=None,
    )


@pytest.mark.parametrize("mileage", [None, 0, 0.0, -0.0])
def test_rule_4_mileage_missing_or_0_has_the_published_sentence(mileage):
    with refused(BadParameter, match=r"^Parameter 'mileage' can't be empty!$"):
        vehicles.registration(vehicle_no="1", mileage=mileage)


@pytest.mark.parametrize(
    ("mileage", "rule"),
    [
        (-1, "more than 0"),
        (float("-inf"), "more than 0"),
        (100_000_000.1, "between 0 and 100,000,000"),
        (4.5e11, "between 0 and 100,000,000"),
        (1e308, "between 0 and 100,000,000"),
        (float("inf"), "between 0 and 100,000,000"),
        (float("nan"), "between 0 and 100,000,000"),
    ],
)
def test_g5_mileage_beyond_its_range_is_refused(mileage, rule):
    with refused(fields.OutOfRange, match=rf"^Parameter 'mileage' must be {rule}\.$"):
        vehicles.registration(vehicle_no="1", mileage=mileage)


@pytest.mark.parametrize("vehicle_no", [None, "", "  "])
def test_vehicle_no_missing_is_refused(vehicle_no):
    with refused(BadParameter, match="'vehicleNo' can't be empty!"):
        vehicles.registration(vehicle_no=vehicle_no, mileage=1)


@pytest.mark.parametrize(
    ("sent", "year"), [(None, None), ("", None), (1900, 1900), (2100.0, 2100), ("1900", 1900), ("2100", 2100)]
)
def test_g5_model_year_as_number_or_numeric_text_is_accepted(sent, year):
    assert vehicles.registration(vehicle_no="1", mileage=1, model_year=sent).model_year == year


@pytest.mark.parametrize("sent", [1899, 2101, "1899", "2101", -2018, 1e300])
def test_g5_model_year_outside_1900_to_2100_is_out_of_range(sent):
    with refused(fields.OutOfRange, match="'modelYear' must be between 1900 and 2100"):
        vehicles.registration(vehicle_no="1", mileage=1, model_year=sent)


@pytest.mark.parametrize("sent", ["MMXX", "20 18", "２０１８", "2018.0", "-2018", 2018.5, "02018"])
def test_g5_model_year_that_is_no_year_is_refused(sent):
    with refused(fields.WrongForm, match="'modelYear'"):
        vehicles.registration(vehicle_no="1", mileage=1, model_year=sent)


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("mission_type", ("AUTO", "MANUAL")),
        ("fuel_type", ("DIESEL", "GASOLINE", "LPG")),
        ("category", ("TRUCK", "BUS", "TAXI", "PERSONAL", "ETC")),
    ],
)
def test_listed_words_are_accepted_and_others_refused(field, words):
    for word in words:
        assert getattr(vehicles.registration(vehicle_no="1", mileage=1, **{field: word}), field) == word

    with pytest.raises(fields.NotAllowed):
        vehicles.registration(vehicle_no="1", mileage=1, **{field: words[0].lower()})


@pytest.mark.parametrize("field", ["vehicle_no", "vendor", "model_code", "model_name", "usage"])
def test_g5_texts_hold_255_characters(field):
    sent = {"vehicle_no": "1", "mileage": 1}

    assert getattr(vehicles.registration(**{**sent, field: "가" * 255}), field) == "가" * 255
    with pytest.raises(fields.TooLong):
        vehicles.registration(**{**sent, field: "가" * 256})


def test_g5_additional_info_holds_4096_characters():
    assert vehicles.registration(vehicle_no="1", mileage=1, additional_info="x" * 4096).additional_info == "x" * 4096
    with pytest.raises(fields.TooLong):
        vehicles.registration(vehicle_no="1", mileage=1, additional_info="x" * 4097)
