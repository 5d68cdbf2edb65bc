"""Sentences of refusals in each language."""

import pytest

from tripline.domain import access, lines, sensors
from tripline.domain.refusals import BadParameter, Forbidden, NotFound, class_of
from tripline.language import catalogue
from tripline.language.catalogue import Language


@pytest.mark.parametrize(
    ("refusal", "english", "korean"),
    [
        (
            BadParameter.missing("vehicleNo"),
            "Parameter 'vehicleNo' can't be empty!",
            "매개변수 'vehicleNo': 값을 입력해야 합니다.",
        ),
        (
            NotFound("id", thing=access.Thing.VEHICLE),
            "There is no vehicle with this id.",
            "해당 ID의 차량 정보가 없습니다.",
        ),
        (
            Forbidden("role", role="DRIVER"),
            "An account with the role DRIVER may not do this.",
            "DRIVER 역할의 계정은 이 작업을 할 수 없습니다.",
        ),
        (
            lines.WrongState("needs", status="01", event=lines.LineEvent.UNPAUSE, possible=("02", "03")),
            "The line has nwStatus 01; unpause needs 02 or 03.",
            "회선의 nwStatus 값이 01입니다. 필요한 nwStatus 값: 02 또는 03(작업: 일시 정지 해제).",
        ),
    ],
)
def test_refusal_is_told_in_both_languages(refusal, english, korean):
    assert catalogue.sentence(refusal) == english
    assert catalogue.sentence(refusal, Language.KOREAN) == korean


def test_label_of_a_form_stands_for_the_parameter():
    missing = BadParameter.missing("password")

    assert catalogue.sentence(missing, label="The password") == "The password is missing."
    assert catalogue.sentence(missing, Language.KOREAN, label="비밀번호") == "비밀번호: 필수 항목입니다."


def test_form_says_of_nought_what_is_wrong_and_rest_what_is_published():
    nought = BadParameter("zero", field="mileage")

    assert catalogue.sentence(nought) == "Parameter 'mileage' can't be empty!"
    assert catalogue.sentence(nought, label="Mileage") == "Mileage must be more than 0."


def test_values_from_outside_are_told_as_they_are():
    taken = sensors.serial_taken("{thing} {0.__class__} %s")

    assert "serial number {thing} {0.__class__} %s is already" in catalogue.sentence(taken)
    assert "일련번호 {thing} {0.__class__} %s 센서" in catalogue.sentence(taken, Language.KOREAN)


def test_log_of_a_refusal_names_its_case_and_field_and_no_value():
    assert (
        str(BadParameter("repeated", field="vehicleNo", row=7, secret="kim@x.example")) == "('repeated', 'vehicleNo')"
    )


def test_class_is_found_by_its_code():
    assert class_of("sensor.serial_taken") is sensors.SerialTaken
    assert class_of("sensor.unheard_of") is None


@pytest.mark.parametrize("language", Language)
def test_portal_repeats_no_sentence_of_a_refusal(language):
    sentences = set(catalogue.of(language)["refusals"].values())

    repeated = {
        name
        for name, text in catalogue.of_portal(language).items()
        if text in sentences and not name.startswith("portal.refusal.")
    }

    assert repeated == set()
