"""Settings of the bus: what they say together, and what refuses to start, naming the setting and the way out."""

import pytest

from tripline import config
from tripline.config import bus as config_bus
from tripline.config import files as config_files
from tripline.config.bus import BusSettingError, Carried

COMPANY = "a1f0e7c0-c801-11ef-9d5c-6b1f6f2a4c11"
OTHER = "d6022b90-c801-11ef-9d5c-6b1f6f2a4c11"
LOCAL = "kafka://127.0.0.1:9092"
FAR = "kafka://kafka.example:9093"


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("kafka://127.0.0.1:9092", ["127.0.0.1:9092"]),
        ("kafka://a.example:1,b.example:65535/", ["a.example:1", "b.example:65535"]),
        ("kafka://[::1]:9092", ["[::1]:9092"]),
    ],
)
def test_brokers_are_the_addresses_of_the_url(url, found):
    assert config_bus.brokers(config.Bus(url=url)) == found


@pytest.mark.parametrize(
    "url",
    [
        "127.0.0.1:9092",
        "http://127.0.0.1:9092",
        "kafka://",
        "kafka://host",
        "kafka://host:0",
        "kafka://host:65536",
        "kafka://a:1,",
        "kafka://a:1,b",
        "kafka://a:1/topic",
        "kafka://user:hidden@host:9092",
    ],
)
def test_url_that_is_none_is_refused_without_its_secrets(url):
    with pytest.raises(BusSettingError, match=r"bus\.url") as refused:
        config_bus.verify(config.Bus(url=url))
    assert "hidden" not in str(refused.value)


def test_topics_without_companies_are_the_three_of_anybody():
    assert config_bus.topics(config.Bus()) == {
        "sf-microtrip": Carried("microtrip", None),
        "sf-trip": Carried("trip", None),
        "sf-event": Carried("event", None),
    }


def test_topics_of_companies_have_their_prefix_and_no_other_is_read():
    settings = config.Bus(companies=(f"acme.={COMPANY}", f" b-={OTHER.upper()} ", ""))

    assert config_bus.topics(settings) == {
        "acme.sf-microtrip": Carried("microtrip", COMPANY),
        "acme.sf-trip": Carried("trip", COMPANY),
        "acme.sf-event": Carried("event", COMPANY),
        "b-sf-microtrip": Carried("microtrip", OTHER),
        "b-sf-trip": Carried("trip", OTHER),
        "b-sf-event": Carried("event", OTHER),
    }


def test_one_topic_may_carry_all_three_kinds():
    settings = config.Bus(microtrips="all", trips="all", events="all")

    assert config_bus.topics(settings) == {"all": Carried("microtrip", None)}


def test_companies_come_from_a_variable_with_commas():
    variables = {"TRIPLINE_BUS_COMPANIES": f"acme.={COMPANY},b-={OTHER}"}

    loaded = config_files.load(file=None, variables=variables, flags={})

    assert config_bus.companies(loaded.bus) == {"acme.": COMPANY, "b-": OTHER}


@pytest.mark.parametrize(
    ("changed", "names"),
    [
        ({"companies": ("acme",)}, "bus.companies"),
        ({"companies": (f"={COMPANY}",)}, "bus.companies"),
        ({"companies": ("acme.=nobody",)}, "bus.companies"),
        ({"companies": (f"a={COMPANY}", f"a={OTHER}")}, "bus.companies"),
        ({"companies": (f"a b={COMPANY}",)}, "bus.companies"),
        ({"companies": (f"x={COMPANY}", f"xx={OTHER}"), "microtrips": "xm", "trips": "m"}, "bus.companies"),
        ({"microtrips": "sf microtrip"}, "bus.microtrips"),
        ({"trips": "t" * 250}, "bus.trips"),
        ({"dead_letters": ".."}, "bus.dead_letters"),
        ({"dead_letters": "sf-trip"}, "bus.dead_letters"),
        ({"buffer_topic": "sf-event"}, "bus.buffer_topic"),
        ({"buffer_topic": "x", "dead_letters": "x"}, "bus.dead_letters"),
        ({"url": "", "buffer_devices": True}, "bus.url"),
        ({"security": "sasl_ssl"}, "bus.user"),
        ({"user": "u", "password": "p"}, "bus.security"),
        ({"security": "sasl_ssl", "user": "u"}, "bus.password"),
        ({"security": "ssl", "password": "p"}, "bus.password"),
        ({"security": "ssl", "cert": "c.pem"}, "bus.key"),
        ({"security": "ssl", "key": "k.pem"}, "bus.cert"),
        ({"ca": "ca.pem"}, "bus.ca"),
        ({"cert": "c.pem", "key": "k.pem"}, "bus.cert"),
        ({"url": FAR}, "bus.trusted_network"),
        ({"url": f"{LOCAL},kafka.example:1"}, "bus.trusted_network"),
        ({"url": FAR, "security": "sasl_plaintext", "user": "u", "password": "p"}, "bus.trusted_network"),
        (
            {
                "url": FAR,
                "security": "sasl_plaintext",
                "user": "u",
                "password": "p",
                "mechanism": "PLAIN",
                "trusted_network": True,
            },
            "bus.mechanism",
        ),
    ],
)
def test_settings_that_contradict_refuse_with_the_setting_that_is_to_be_changed(changed, names):
    with pytest.raises(BusSettingError) as refused:
        config_bus.verify(config.Bus(**({"url": LOCAL} | changed)))

    assert names in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"url": "kafka://localhost:9092,[::1]:9093"},
        {"dead_letters": ""},
        {"trips": "t" * 249},
        {"url": FAR, "trusted_network": True},
        {"url": FAR, "security": "ssl"},
        {"url": FAR, "security": "ssl", "ca": "ca.pem", "cert": "c.pem", "key": "k.pem"},
        {"url": FAR, "security": "sasl_ssl", "user": "u", "password": "p", "mechanism": "PLAIN"},
        {"security": "sasl_plaintext", "user": "u", "password": "p", "mechanism": "PLAIN"},
        {"url": "", "companies": ("nonsense",)},
    ],
)
def test_settings_that_go_together_are_taken(changed):
    config_bus.verify(config.Bus(**({"url": LOCAL} | changed)))


@pytest.mark.parametrize(("timeout_s", "good"), [(0.9, False), (1.0, True), (300.0, True), (301.0, False)])
def test_bounds_of_the_longest_wait(timeout_s, good):
    flags = {"bus.timeout_s": timeout_s}

    if good:
        assert config_files.load(file=None, variables={}, flags=flags).bus.timeout_s == timeout_s
    else:
        with pytest.raises(config_files.WrongSettingError, match=r"bus\.timeout-s"):
            config_files.load(file=None, variables={}, flags=flags)
