"""Two who edit one record: nobody overwrites unseen, nobody loses what he typed."""

from tripline.portal.frame import digests
from tripline.portal.frame.digests import Clash, Theirs

BEFORE = {"vendor": "Kia", "model": "Ray", "note": "one\ntwo"}


def clash(now, typed):
    return digests.clash(digests.of(BEFORE), now={**BEFORE, **now}, typed={**BEFORE, **typed})


def test_record_that_nobody_touched_clashes_with_nothing():
    assert clash({}, {"vendor": "Hyundai"}) is None


def test_ends_of_lines_are_no_change():
    assert digests.clash(digests.of(BEFORE), now={**BEFORE, "note": "one\r\ntwo"}, typed=BEFORE) is None


def test_field_that_only_the_other_one_changed_takes_the_newer_text():
    assert clash({"model": "Morning"}, {"vendor": "Hyundai"}) == Clash(
        (Theirs("model", "Morning", "Ray"),), {"vendor": "Hyundai", "model": "Morning", "note": "one\ntwo"}
    )


def test_field_that_both_changed_keeps_what_was_typed():
    assert clash({"vendor": "Renault"}, {"vendor": "Hyundai"}) == Clash(
        (Theirs("vendor", "Renault", "Hyundai"),), {**BEFORE, "vendor": "Hyundai"}
    )


def test_field_that_was_emptied_meanwhile_counts_as_changed():
    assert clash({"vendor": ""}, {}) == Clash((Theirs("vendor", "", "Kia"),), {**BEFORE, "vendor": ""})


def test_same_change_of_both_is_no_clash():
    assert clash({"vendor": "Hyundai"}, {"vendor": "Hyundai"}) is None


def test_second_try_after_a_clash_saves():
    now = {**BEFORE, "vendor": "Renault"}

    found = clash({"vendor": "Renault"}, {"vendor": "Hyundai"})

    assert found is not None
    assert digests.clash(digests.of(now), now=now, typed=found.texts) is None


def test_digest_of_other_fields_tells_every_difference_and_keeps_what_was_typed():
    found = digests.clash("0123", now=BEFORE, typed={**BEFORE, "model": "Morning"})

    assert found == Clash((Theirs("model", "Ray", "Morning"),), {**BEFORE, "model": "Morning"})


def test_missing_digest_and_form_that_says_what_the_record_says_clash_with_nothing():
    assert digests.clash("", now=BEFORE, typed=BEFORE) is None
