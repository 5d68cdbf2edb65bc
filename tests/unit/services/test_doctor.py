"""The doctor's verdicts."""

import dataclasses

import pytest

from tripline.services import doctor

NOW_MS = 1_790_000_000_000
DAY_MS = 86_400_000
WELL = doctor.Surroundings(
    schema="0001", newest_schema="0001", damage=[], free_bytes=2**40, certificate_end_ms=NOW_MS + 100 * DAY_MS
)


def verdicts(**changed) -> list[tuple[str, bool]]:
    seen = dataclasses.replace(WELL, **changed)
    return [(finding.subject, finding.well) for finding in doctor.about(seen, now_ms=NOW_MS)]


def verdict(subject: str, **changed) -> bool:
    return dict(verdicts(**changed))[subject]


def test_sound_installation_is_well():
    assert verdicts() == [("schema", True), ("database", True), ("disk", True), ("certificate", True)]


@pytest.mark.parametrize("schema", [None, "0000"])
def test_other_schema_is_wrong(schema):
    assert verdict("schema", schema=schema) is False


def test_damage_is_wrong():
    assert verdict("database", damage=["page 3 is never used"]) is False


@pytest.mark.parametrize(
    ("free", "well"),
    [(doctor.LEAST_FREE_BYTES - 1, False), (doctor.LEAST_FREE_BYTES, True), (doctor.LEAST_FREE_BYTES + 1, True)],
)
def test_little_disk_space_is_wrong(free, well):
    assert verdict("disk", free_bytes=free) is well


@pytest.mark.parametrize(("days", "well"), [(-1, False), (13, False), (14, True), (15, True)])
def test_certificate_near_its_end_is_wrong(days, well):
    assert verdict("certificate", certificate_end_ms=NOW_MS + days * DAY_MS) is well


def test_installation_without_certificate_yet_is_well():
    assert verdict("certificate", certificate_end_ms=None) is True
