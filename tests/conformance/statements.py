"""Statements of MQTT 3.1.1 (OASIS standard, appendix B) that the code cites, and the tests that hold it to them.

The sentences are ours, shortened. Statements about bytes that no packet may have are named by the tests themselves:
the table of `tests/unit/mqtt/test_packets_bytes.py`.
"""

from typing import Final, NamedTuple


class Statement(NamedTuple):
    """What is demanded, and where it is tested: functions, by file."""

    says: str
    tests: dict[str, tuple[str, ...]]


SESSION: Final = "tests/unit/mqtt/test_session.py"
BYTES: Final = "tests/unit/mqtt/test_packets_bytes.py"
ROSTER: Final = "tests/unit/gateway/test_roster.py"
DEVICES: Final = "tests/system/test_devices.py"
SERVER: Final = "tests/conformance/test_foreign_clients_server.py"

STATEMENTS: Final[dict[str, Statement]] = {
    "MQTT-1.5.3-1": Statement(
        "Text that is no well-formed UTF-8, or holds surrogates, closes the connection.",
        {BYTES: ("test_forbidden_bytes_name_the_broken_rule",)},
    ),
    "MQTT-2.3.1-4": Statement(
        "The server gives a message at QoS 1 or 2 a packet id that is not in use.",
        {
            SESSION: ("test_messages_under_way_are_bounded_and_ids_in_use_are_not_used_again",),
            "tests/unit/mqtt/test_outbound.py": ("test_packet_ids_begin_again_behind_65535",),
        },
    ),
    "MQTT-3.1.2-2": Statement(
        "Another protocol level is answered with code 1, then the connection is closed.",
        {
            SESSION: ("test_connect_that_no_one_need_be_asked_about_is_refused",),
            BYTES: ("test_connect_of_another_version_is_told_apart",),
        },
    ),
    "MQTT-3.1.2-24": Statement(
        "Silence of one and a half keep-alives ends the connection.",
        {
            SESSION: ("test_silence_of_one_and_a_half_keep_alives_is_too_long", "test_half_a_packet_is_silence"),
            DEVICES: ("test_half_open_connection_is_closed_after_one_and_a_half_keep_alives",),
        },
    ),
    "MQTT-3.1.3-1": Statement(
        "The fields of CONNECT come as client identifier, will topic, will message, user name, password.",
        {BYTES: ("test_packet_becomes_the_standards_bytes_and_back",)},
    ),
    "MQTT-3.1.3-8": Statement(
        "An empty client identifier without clean session is answered with code 2, then the connection is closed.",
        {SESSION: ("test_connect_that_no_one_need_be_asked_about_is_refused",)},
    ),
    "MQTT-3.1.4-2": Statement(
        "A second connection of a client ends the first.",
        {
            ROSTER: ("test_newer_session_ends_the_older_of_the_same_sensor_only",),
            DEVICES: ("test_second_connection_of_a_sensor_takes_over_and_the_first_is_closed",),
        },
    ),
    "MQTT-3.1.4-5": Statement(
        "What came behind a CONNECT that is refused is not acted on.",
        {
            SESSION: (
                "test_packets_behind_connect_wait_and_come_with_admission",
                "test_refused_client_gets_its_code_and_is_not_heard_again",
            )
        },
    ),
    "MQTT-3.2.2-3": Statement(
        "Where no session is kept, CONNACK says so.",
        {SESSION: ("test_admitted_client_gets_code_0_and_no_session_present",)},
    ),
    "MQTT-3.2.2-5": Statement(
        "A return code other than 0 is followed by the end of the connection.",
        {
            SESSION: ("test_refused_client_gets_its_code_and_is_not_heard_again",),
            SERVER: ("test_mosquitto_is_refused_with_the_right_code",),
        },
    ),
    "MQTT-3.8.4-3": Statement(
        "A filter asked for again replaces the subscription it made before.",
        {SESSION: ("test_session_holds_sixteen_filters_and_fails_more",)},
    ),
    "MQTT-3.9.3-1": Statement(
        "SUBACK has a code for each filter, in their order.",
        {SESSION: ("test_request_filter_is_granted_at_qos_1_at_most_and_others_fail",)},
    ),
    "MQTT-3.10.4-2": Statement(
        "Nothing more is delivered for a filter that was taken back.",
        {SESSION: ("test_unsubscribe_is_always_answered_and_ends_delivery",)},
    ),
    "MQTT-3.10.4-5": Statement(
        "UNSUBSCRIBE is answered even when it took nothing back.",
        {SESSION: ("test_unsubscribe_is_always_answered_and_ends_delivery",)},
    ),
    "MQTT-3.12.4-1": Statement(
        "A ping is answered.",
        {SESSION: ("test_ping_is_answered_and_disconnect_ends",)},
    ),
    "MQTT-4.3.3-2": Statement(
        "A QoS 2 publish is taken once for its packet id until PUBREL, and each is answered.",
        {
            SESSION: (
                "test_qos_2_sent_again_after_its_pubrec_is_answered_again_and_not_taken",
                "test_qos_2_id_is_free_after_pubrel",
                "test_pubrel_of_an_unknown_id_is_answered",
            ),
            SERVER: ("test_microtrips_of_a_foreign_client_are_read_back_once_each",),
        },
    ),
    "MQTT-4.6.0-2": Statement(
        "PUBACKs go out in the order in which the publishes came.",
        {SESSION: ("test_acknowledgements_keep_the_order_given",)},
    ),
}
