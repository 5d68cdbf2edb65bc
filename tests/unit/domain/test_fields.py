"""Bounds of fields: at, below and above each one (G5)."""

import math

import pytest
from tests.support.refused import refused

from tripline.domain import fields
from tripline.domain.refusals import BadParameter


def test_checks_of_a_record_raise_the_first_refusal_with_those_of_the_other_fields():
    checked = fields.Checks()
    good = checked(fields.text, "vendor", "Kia")
    checked(fields.required, "vehicleNo", "")
    checked(fields.one_of, "category", "BOAT", ("BUS", "TAXI"))

    with pytest.raises(BadParameter) as caught:
        checked.end()

    assert good == "Kia"
    assert (caught.value.field, caught.value.case) == ("vehicleNo", "missing")
    assert [(each.field, each.code) for each in caught.value.others] == [("category", "parameter.not_allowed")]


def test_checks_that_refuse_nothing_end_in_silence():
    checked = fields.Checks()
    checked(fields.text, "vendor", "Kia")

    checked.end()


@pytest.mark.parametrize("value", [None, "", "a", "가" * 255, " blanks kept ", "<b>&'\";--", "\U0001f69a"])
def test_text_within_bounds_is_returned_as_sent(value):
    assert fields.text("vendor", value) == value


def test_text_of_256_characters_is_too_long():
    with refused(fields.TooLong, match=r"^Parameter 'vendor' must have at most 255 characters\.$"):
        fields.text("vendor", "가" * 256)


@pytest.mark.parametrize("character", ["\x00", "\x01", "\t", "\n", "\r", "\x1f", "\x7f", "\x80", "\x9f", "\ud800"])
def test_text_with_control_character_is_refused(character):
    with refused(fields.Unprintable, match="'vendor' must not contain control characters"):
        fields.text("vendor", f"a{character}b")


@pytest.mark.parametrize("value", [None, "", "x" * 4096, "line\r\nline\ttab"])
def test_long_text_within_bounds_is_returned_as_sent(value):
    assert fields.long_text("description", value) == value


def test_long_text_of_4097_characters_is_too_long():
    with refused(fields.TooLong, match="at most 4096 characters"):
        fields.long_text("description", "x" * 4097)


@pytest.mark.parametrize("character", ["\x00", "\x0b", "\x1b", "\x7f"])
def test_long_text_with_other_control_character_is_refused(character):
    with pytest.raises(fields.Unprintable):
        fields.long_text("description", f"a{character}b")


@pytest.mark.parametrize("value", [None, "", " ", "　"])
def test_required_missing_or_blank_has_the_published_sentence(value):
    with refused(BadParameter, match=r"^Parameter 'name' can't be empty!$"):
        fields.required("name", value)


@pytest.mark.parametrize("value", ["a@b", "김@example.kr", "a" * 253 + "@b"])
def test_email_with_text_on_both_sides_is_accepted(value):
    assert fields.email("email", value) == value


@pytest.mark.parametrize("value", ["a", "@", "a@", "@b", "a@b@c", "a b@c", "a@b c"])
def test_email_of_another_form_is_refused(value):
    with refused(fields.WrongForm, match="'email' must be an e-mail address"):
        fields.email("email", value)


@pytest.mark.parametrize("unseen", ["\u200b", "\u202e", "\u00ad", "\ufeff", "\u2060", "\u3164", "\ue000", "\U000e0041"])
def test_email_with_what_cannot_be_seen_is_refused(unseen):
    for value in (f"ki{unseen}m@b.example", f"kim@b{unseen}.example"):
        with refused(fields.WrongForm, match="'email' must be an e-mail address"):
            fields.email("email", value)


@pytest.mark.parametrize(("letters", "fits"), [(14, True), (15, False)])
def test_email_is_as_long_as_what_it_is_compared_by(letters, fits):
    value = "\ufdfa" * letters + "@b"  # each of them is eighteen letters, written in full

    if fits:
        assert fields.email("email", value) == value
    else:
        with refused(fields.TooLong, match="'email' must have at most 255 characters"):
            fields.email("email", value)


def test_email_of_256_characters_is_too_long():
    with pytest.raises(fields.TooLong):
        fields.email("email", "a" * 254 + "@b")


@pytest.mark.parametrize("value", [None, 1, 2, 65534, 65535])
def test_port_within_bounds_is_accepted(value):
    assert fields.port("rpcNotifyPort", value) == value


@pytest.mark.parametrize("value", [-1, 0, 65536, 10**30])
def test_port_outside_bounds_is_refused(value):
    with refused(fields.OutOfRange, match="'rpcNotifyPort' must be between 1 and 65535"):
        fields.port("rpcNotifyPort", value)


@pytest.mark.parametrize(("value", "amount"), [(None, 0.0), (0, 0), (0.5, 0.5), (5, 5)])
def test_amount_within_its_range_is_accepted(value, amount):
    assert fields.amount("displacement", value, 5) == amount


@pytest.mark.parametrize("value", [-1e-9, -1, 5.1, 1e308, math.inf, -math.inf, math.nan])
def test_amount_out_of_its_range_is_refused(value):
    with refused(fields.OutOfRange, match="'displacement' must be between 0 and 5"):
        fields.amount("displacement", value, 5)


def test_one_of_accepts_nothing_and_each_listed_word():
    assert [fields.one_of("x", word, ("A", "B")) for word in (None, "", "A", "B")] == [None, None, "A", "B"]


@pytest.mark.parametrize("word", [" ", "a", "C", "A "])
def test_one_of_refuses_other_words_and_names_the_allowed_ones(word):
    with refused(fields.NotAllowed, match=r"^Parameter 'x' must be one of A, B\.$"):
        fields.one_of("x", word, ("A", "B"))


@pytest.mark.parametrize(
    "address",
    [
        None,
        "",
        "203.0.113.10",
        "receiver.example:9090/noti",
        "localhost:9090",
        "[2001:db8::1]:80",
        "http://203.0.113.10:9090/noti",
        "HTTPS://receiver.example",
        "https://receiver.example?to=a",
    ],
)
def test_web_address_is_a_host_or_an_http_address(address):
    assert fields.web_address("notifyHost", address) == address


@pytest.mark.parametrize(
    "address",
    [
        "ftp://receiver.example",
        "file:///etc/passwd",
        "javascript:alert(1)",
        " javascript:alert(1)",
        "gopher:x",
        "http:receiver.example",
        "http:/receiver.example",
        "http://",
        "https:///noti",
        "http://receiver example/",
        "http://receiver.example/a b",
        " http://receiver.example",
    ],
)
def test_web_address_of_another_kind_is_refused(address):
    with refused(fields.WrongForm, match="must be an http or https address"):
        fields.web_address("notifyHost", address)


def test_g5_web_address_holds_255_characters():
    fields.web_address("notifyHost", "http://a/" + "b" * 246)

    with pytest.raises(fields.TooLong):
        fields.web_address("notifyHost", "http://a/" + "b" * 247)
