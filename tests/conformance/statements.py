"""The normative statements of MQTT 3.1.1 (OASIS standard, appendix B), each with the tests that hold the server to it.

The sentences are ours, shortened. A row has tests, or says why it asks nothing of this server; a row with neither is
open, and `test_statements.py` fails. The tests named `exchange` and `open` use a namespace whose topics are routed
between clients: the code can do it, the namespace of the product does not grant it (`docs/decisions/102`, `106`).
"""

from typing import Final, NamedTuple


class Statement(NamedTuple):
    """What is demanded; where it is tested (`file:function`, files by their names below), or why nowhere."""

    says: str
    tests: str = ""
    why: str = ""


FILES: Final = {
    "bytes": "tests/unit/mqtt/test_packets_bytes.py",
    "session": "tests/unit/mqtt/test_session.py",
    "outbound": "tests/unit/mqtt/test_outbound.py",
    "exchange": "tests/unit/mqtt/test_exchange.py",
    "any": "tests/properties/test_mqtt_bytes.py",
    "gateway": "tests/integration/test_gateway.py",
    "roster": "tests/integration/test_roster.py",
    "tls": "tests/unit/gateway/test_tls.py",
    "open": "tests/conformance/test_open_namespace.py",
    "clients": "tests/conformance/test_foreign_clients_gateway.py",
    "server": "tests/conformance/test_foreign_clients_server.py",
    "devices": "tests/system/test_devices.py",
}
ROUTED: Final = {"exchange", "open"}
"""Files whose tests need a namespace that routes."""

CLIENT: Final = "asks it of clients"
WEBSOCKET: Final = "the device listener speaks TLS over TCP (spec/interface, Device channel), not WebSocket"
_FORBIDDEN: Final = "bytes:test_forbidden_bytes_name_the_broken_rule"
_FORMS: Final = "bytes:test_packet_becomes_the_standards_bytes_and_back"
_REFUSED: Final = "session:test_connect_that_no_one_need_be_asked_about_is_refused"
_AGAIN: Final = "exchange:test_unanswered_messages_are_sent_again_with_dup_and_their_ids_in_order"
_LEFT: Final = "exchange:test_session_that_was_left_is_present_and_keeps_its_subscriptions"
_WILL: Final = "exchange:test_will_is_published_when_the_connection_is_lost"
_NO_WILL: Final = "exchange:test_will_is_not_published_after_disconnect_nor_without_one"
_FOUR: Final = "exchange:test_message_at_qos_2_to_a_client_goes_through_all_four_packets"
_KEPT_ORDER: Final = "session:test_acknowledgements_keep_the_order_given"
_IN_PLACE: Final = "open:test_routed_publish_is_acknowledged_in_its_place_between_durable_ones"
_TAKEN_BACK: Final = "session:test_unsubscribe_is_always_answered_and_ends_delivery"
_GRANTED: Final = "session:test_c9_request_filter_is_granted_at_qos_1_at_most_and_others_fail"
_RETAINED: Final = (
    "exchange:test_retained_message_is_sent_to_a_new_subscription_with_the_flag_and_to_an_old_one_without"
)

STATEMENTS: Final[dict[str, Statement]] = {
    "MQTT-1.5.3-1": Statement(
        "Text that is not well-formed UTF-8, or holds surrogates, closes the connection.", _FORBIDDEN
    ),
    "MQTT-1.5.3-2": Statement("Text with U+0000 closes the connection.", _FORBIDDEN),
    "MQTT-1.5.3-3": Statement(
        "The bytes EF BB BF are U+FEFF and stay where they are.", "bytes:test_topic_is_taken_as_it_is"
    ),
    "MQTT-2.2.2-1": Statement("Reserved flags have the values of table 2.2.", _FORMS),
    "MQTT-2.2.2-2": Statement("Other flags close the connection.", _FORBIDDEN),
    "MQTT-2.3.1-1": Statement(
        "SUBSCRIBE, UNSUBSCRIBE and PUBLISH above QoS 0 carry a packet id that is not 0.", _FORBIDDEN
    ),
    "MQTT-2.3.1-2": Statement("A client takes a packet id that is not in use.", why=CLIENT),
    "MQTT-2.3.1-3": Statement("A client sends a packet again with its id, free after the answer.", why=CLIENT),
    "MQTT-2.3.1-4": Statement(
        "The server gives a message at QoS 1 or 2 a packet id that is not in use, and the same when it sends it again.",
        f"session:test_messages_under_way_are_bounded_and_the_oldest_is_given_up "
        f"outbound:test_packet_ids_begin_again_behind_65535 {_AGAIN}",
    ),
    "MQTT-2.3.1-5": Statement("PUBLISH at QoS 0 has no packet id.", _FORMS),
    "MQTT-2.3.1-6": Statement(
        "PUBACK, PUBREC and PUBREL carry the id of their PUBLISH.",
        f"session:test_publishes_become_frames_whose_token_is_the_answer {_FOUR}",
    ),
    "MQTT-2.3.1-7": Statement(
        "SUBACK and UNSUBACK carry the id of the packet that they answer.", f"{_GRANTED} {_TAKEN_BACK}"
    ),
    "MQTT-3.1.0-1": Statement(
        "The first packet of a client is CONNECT.",
        "session:test_publish_before_connect_closes_connection "
        "session:test_first_byte_of_another_protocol_closes_connection_without_waiting_for_its_length",
    ),
    "MQTT-3.1.0-2": Statement(
        "A second CONNECT closes the connection.", "session:test_second_connect_closes_connection"
    ),
    "MQTT-3.1.2-1": Statement("Another protocol name is not treated as this protocol.", _FORBIDDEN),
    "MQTT-3.1.2-2": Statement(
        "Another protocol level is answered with code 1, then the connection is closed.",
        f"{_REFUSED} bytes:test_connect_of_another_version_is_told_apart",
    ),
    "MQTT-3.1.2-3": Statement("The reserved flag of CONNECT has to be 0; else the connection is closed.", _FORBIDDEN),
    "MQTT-3.1.2-4": Statement(
        "Without clean session the client's session is resumed, or begun, and outlives the connection.",
        f"{_LEFT} exchange:test_session_is_kept_after_an_orderly_disconnect_too "
        "open:test_paho_resumes_its_session_and_is_sent_again_what_it_did_not_acknowledge",
    ),
    "MQTT-3.1.2-5": Statement(
        "Messages at QoS 1 and 2 are stored for a client that left such a session.",
        "exchange:test_messages_wait_for_an_absent_client_in_order_at_qos_1_and_2 "
        "open:test_mosquitto_sub_gets_in_a_kept_session_what_came_meanwhile",
    ),
    "MQTT-3.1.2-6": Statement(
        "A clean session ends the one before and is not used again.",
        "exchange:test_clean_session_ends_the_one_that_was_left_and_leaves_none",
    ),
    "MQTT-3.1.2-7": Statement(
        "Retained messages are not part of a session and outlive it.",
        "exchange:test_retained_message_outlives_the_session_of_its_sender",
    ),
    "MQTT-3.1.2-8": Statement(
        "A Will is published when the connection ends, unless DISCONNECT took it back.",
        f"{_WILL} open:test_will_is_published_however_the_connection_is_lost_and_not_after_disconnect",
    ),
    "MQTT-3.1.2-9": Statement("With the Will flag CONNECT has a Will topic and message.", f"{_FORMS} {_FORBIDDEN}"),
    "MQTT-3.1.2-10": Statement(
        "A Will is forgotten once published, and at DISCONNECT.",
        f"{_WILL} exchange:test_will_taken_back_by_disconnect_is_not_published_by_a_later_connection",
    ),
    "MQTT-3.1.2-11": Statement("Without the Will flag the Will has no QoS, retain, topic or message.", _FORBIDDEN),
    "MQTT-3.1.2-12": Statement("Without a Will none is published.", _NO_WILL),
    "MQTT-3.1.2-13": Statement("Without the Will flag the Will QoS is 0.", _FORBIDDEN),
    "MQTT-3.1.2-14": Statement("The Will QoS is not 3.", _FORBIDDEN),
    "MQTT-3.1.2-15": Statement("Without the Will flag Will retain is 0.", _FORBIDDEN),
    "MQTT-3.1.2-16": Statement("A Will without retain is not retained.", _WILL),
    "MQTT-3.1.2-17": Statement(
        "A Will with retain is retained.", f"{_WILL} open:test_paho_gets_retained_messages_and_a_will"
    ),
    "MQTT-3.1.2-18": Statement("Without its flag the user name is absent.", _FORBIDDEN),
    "MQTT-3.1.2-19": Statement("With its flag there is a user name.", f"{_FORMS} {_FORBIDDEN}"),
    "MQTT-3.1.2-20": Statement("Without its flag the password is absent.", _FORBIDDEN),
    "MQTT-3.1.2-21": Statement("With its flag there is a password.", f"{_FORMS} {_FORBIDDEN}"),
    "MQTT-3.1.2-22": Statement("A password needs a user name.", _FORBIDDEN),
    "MQTT-3.1.2-23": Statement("A client is not silent longer than its keep-alive.", why=CLIENT),
    "MQTT-3.1.2-24": Statement(
        "Silence of one and a half keep-alives ends the connection.",
        "session:test_silence_of_one_and_a_half_keep_alives_is_too_long session:test_half_a_packet_is_silence "
        "devices:test_half_open_connection_is_closed_after_one_and_a_half_keep_alives",
    ),
    "MQTT-3.1.3-1": Statement(
        "The fields of CONNECT come as client identifier, Will topic, Will message, user name, password.", _FORMS
    ),
    "MQTT-3.1.3-2": Statement(
        "A session belongs to its client identifier (and here to its user as well).",
        "exchange:test_session_belongs_to_user_and_client_identifier",
    ),
    "MQTT-3.1.3-3": Statement("The client identifier is the first field of the payload.", _FORMS),
    "MQTT-3.1.3-4": Statement("The client identifier is UTF-8.", _FORBIDDEN),
    "MQTT-3.1.3-5": Statement(
        "Client identifiers of 1 to 23 letters and digits are allowed.",
        "session:test_client_identifier_of_any_form_is_accepted",
    ),
    "MQTT-3.1.3-6": Statement(
        "A client without identifier is taken as one of its own.",
        "session:test_empty_client_identifier_with_clean_session_is_accepted",
    ),
    "MQTT-3.1.3-7": Statement("A client without identifier asks for a clean session.", why=CLIENT),
    "MQTT-3.1.3-8": Statement(
        "An empty client identifier without clean session is answered with code 2, then the connection is closed.",
        _REFUSED,
    ),
    "MQTT-3.1.3-9": Statement(
        "A client identifier that is refused is answered with code 2, then the connection is closed.",
        "gateway:test_c4_connect_that_is_not_admitted_gets_its_code_and_is_closed",
    ),
    "MQTT-3.1.3-10": Statement("The Will topic is UTF-8.", _FORBIDDEN),
    "MQTT-3.1.3-11": Statement("The user name is UTF-8.", _FORBIDDEN),
    "MQTT-3.1.4-1": Statement(
        "A CONNECT that breaks the standard closes the connection without CONNACK.",
        "session:test_connect_that_breaks_the_standard_gets_no_connack",
    ),
    "MQTT-3.1.4-2": Statement(
        "A second connection of a client ends the first. Here a client is its user name: devices share identifiers.",
        "roster:test_take_over_tells_of_the_older_before_the_newer "
        "roster:test_two_connects_at_the_same_instant_leave_one_session "
        "roster:test_connection_that_asked_first_and_is_admitted_last_does_not_take_over "
        "devices:test_second_connection_of_a_sensor_takes_over_and_the_first_is_closed",
    ),
    "MQTT-3.1.4-3": Statement("Clean session is heeded as 3.1.2.4 says.", _LEFT),
    "MQTT-3.1.4-4": Statement(
        "A CONNECT that is accepted is answered with code 0.",
        "session:test_c7_admitted_client_gets_code_0_and_no_session_present",
    ),
    "MQTT-3.1.4-5": Statement(
        "Packets behind a refused CONNECT are ignored.",
        "session:test_packets_behind_connect_wait_and_come_with_admission "
        "session:test_refused_client_gets_its_code_and_is_not_heard_again",
    ),
    "MQTT-3.2.0-1": Statement(
        "The first packet of the server is CONNACK.", "session:test_packets_behind_connect_wait_and_come_with_admission"
    ),
    "MQTT-3.2.2-1": Statement(
        "A clean session is never announced as present.",
        "exchange:test_clean_session_ends_the_one_that_was_left_and_leaves_none",
    ),
    "MQTT-3.2.2-2": Statement("CONNACK says whether the requested session is present.", _LEFT),
    "MQTT-3.2.2-3": Statement(
        "Without a stored session, CONNACK says so.",
        f"session:test_c7_admitted_client_gets_code_0_and_no_session_present {_LEFT}",
    ),
    "MQTT-3.2.2-4": Statement(
        "A refusal never announces a session.", "session:test_refused_client_gets_its_code_and_is_not_heard_again"
    ),
    "MQTT-3.2.2-5": Statement(
        "A return code other than 0 is followed by the end of the connection.",
        "gateway:test_c4_connect_that_is_not_admitted_gets_its_code_and_is_closed "
        "server:test_mosquitto_is_refused_with_the_right_code",
    ),
    "MQTT-3.2.2-6": Statement(
        "Where no return code fits, the connection is closed without CONNACK.",
        "gateway:test_bug_in_admission_costs_one_connection_and_not_the_listener",
    ),
    "MQTT-3.3.1-1": Statement("A repetition has DUP.", _AGAIN),
    "MQTT-3.3.1-2": Statement("QoS 0 never has DUP.", f"{_FORBIDDEN} {_FORMS}"),
    "MQTT-3.3.1-3": Statement(
        "DUP is not handed on: it says only whether the server itself sends again.",
        "exchange:test_dup_of_the_sender_is_not_handed_on",
    ),
    "MQTT-3.3.1-4": Statement("Both QoS bits close the connection.", _FORBIDDEN),
    "MQTT-3.3.1-5": Statement("A message with RETAIN is stored with its QoS for later subscribers.", _RETAINED),
    "MQTT-3.3.1-6": Statement(
        "A new subscription gets the retained messages of its topics.",
        f"{_RETAINED} open:test_mosquitto_sub_gets_retained_and_live_messages_of_mosquitto_pub",
    ),
    "MQTT-3.3.1-7": Statement(
        "A retained message at QoS 0 takes the place of an older one.",
        "exchange:test_retained_message_at_qos_0_replaces_an_older_one",
    ),
    "MQTT-3.3.1-8": Statement("A message sent because of a new subscription has RETAIN.", _RETAINED),
    "MQTT-3.3.1-9": Statement("A message sent to an older subscription has none.", _RETAINED),
    "MQTT-3.3.1-10": Statement(
        "An empty message with RETAIN is delivered and deletes the retained message.",
        "exchange:test_empty_retained_message_deletes_and_is_delivered_like_any_other",
    ),
    "MQTT-3.3.1-11": Statement(
        "An empty message is not retained itself.",
        "exchange:test_empty_retained_message_deletes_and_is_delivered_like_any_other",
    ),
    "MQTT-3.3.1-12": Statement(
        "A message without RETAIN is not kept and replaces nothing.",
        "exchange:test_retained_message_is_replaced_by_the_next_and_kept_by_one_without_the_flag",
    ),
    "MQTT-3.3.2-1": Statement("The topic name is the first field of PUBLISH, in UTF-8.", f"{_FORMS} {_FORBIDDEN}"),
    "MQTT-3.3.2-2": Statement("The topic name of a PUBLISH has no wildcards.", _FORBIDDEN),
    "MQTT-3.3.2-3": Statement(
        "A subscriber gets messages with topics that its filter covers.",
        "outbound:test_filter_covers_topics_as_the_standard_says "
        "exchange:test_message_goes_to_those_who_asked_for_it_and_to_its_sender_too",
    ),
    "MQTT-3.3.4-1": Statement(
        "A PUBLISH is answered as its QoS asks.",
        "gateway:test_c1_every_qos_is_accepted server:test_microtrips_of_a_foreign_client_are_read_back_once_each",
    ),
    "MQTT-3.3.5-1": Statement(
        "Overlapping filters give a message at the highest QoS granted; here one message.",
        "exchange:test_overlapping_filters_give_one_message_at_the_highest_qos "
        "open:test_paho_to_paho_at_every_qos_with_overlapping_filters",
    ),
    "MQTT-3.3.5-2": Statement(
        "A PUBLISH that is not authorised is acknowledged, or the connection is closed; here acknowledged.",
        "gateway:test_c5_foreign_topic_is_offered_and_acknowledged",
    ),
    "MQTT-3.6.1-1": Statement("PUBREL has the flags 0010; others close the connection.", f"{_FORMS} {_FORBIDDEN}"),
    "MQTT-3.8.1-1": Statement("SUBSCRIBE has the flags 0010; others close the connection.", _FORBIDDEN),
    "MQTT-3.8.3-1": Statement("Filters of SUBSCRIBE are UTF-8.", _FORBIDDEN),
    "MQTT-3.8.3-2": Statement(
        "A server without wildcards refuses them; this one has them.",
        "outbound:test_filter_covers_topics_as_the_standard_says",
    ),
    "MQTT-3.8.3-3": Statement("SUBSCRIBE has a filter at least.", _FORBIDDEN),
    "MQTT-3-8.3-4": Statement("The QoS of a filter is 0, 1 or 2; else the connection is closed.", _FORBIDDEN),
    "MQTT-3.8.4-1": Statement("SUBSCRIBE is answered with SUBACK.", _GRANTED),
    "MQTT-3.8.4-2": Statement("SUBACK carries the id of its SUBSCRIBE.", _GRANTED),
    "MQTT-3.8.4-3": Statement(
        "A repeated filter replaces its former subscription, and retained messages are sent again.",
        "session:test_session_holds_sixteen_filters_and_fails_more "
        "exchange:test_same_filter_asked_for_again_sends_what_is_retained_again",
    ),
    "MQTT-3.8.4-4": Statement(
        "Several filters in a SUBSCRIBE are as several SUBSCRIBEs, with one answer.",
        "exchange:test_filters_of_one_packet_are_answered_in_order_in_one_suback",
    ),
    "MQTT-3.8.4-5": Statement("SUBACK has the QoS granted, or the failure, of each filter.", _GRANTED),
    "MQTT-3.8.4-6": Statement(
        "A message goes at the lower of its own QoS and the one granted.",
        "exchange:test_message_is_delivered_at_the_lower_of_both_qos "
        "session:test_message_to_the_client_goes_at_the_lower_qos_when_that_was_granted",
    ),
    "MQTT-3.9.3-1": Statement("SUBACK has its codes in the order of the filters.", _GRANTED),
    "MQTT-3.9.3-2": Statement("SUBACK has no other codes than 0, 1, 2 and 128.", f"{_FORBIDDEN} {_GRANTED}"),
    "MQTT-3.10.1-1": Statement("UNSUBSCRIBE has the flags 0010; others close the connection.", _FORBIDDEN),
    "MQTT-3.10.3-1": Statement("Filters of UNSUBSCRIBE are UTF-8.", _FORBIDDEN),
    "MQTT-3.10.3-2": Statement("UNSUBSCRIBE has a filter at least.", _FORBIDDEN),
    "MQTT-3.10.4-1": Statement(
        "A filter is taken back by the very same characters.",
        "exchange:test_unsubscribing_another_spelling_takes_nothing_back",
    ),
    "MQTT-3.10.4-2": Statement("Nothing more is delivered for a filter that was taken back.", _TAKEN_BACK),
    "MQTT-3.10.4-3": Statement(
        "Messages under way are completed.", "exchange:test_unsubscribed_client_still_completes_what_was_begun"
    ),
    "MQTT-3.10.4-4": Statement("UNSUBSCRIBE is answered with UNSUBACK and its id.", _TAKEN_BACK),
    "MQTT-3.10.4-5": Statement("UNSUBSCRIBE is answered even when it took nothing back.", _TAKEN_BACK),
    "MQTT-3.10.4-6": Statement("Several filters in an UNSUBSCRIBE have one answer.", _TAKEN_BACK),
    "MQTT-3.12.4-1": Statement("A ping is answered.", "session:test_ping_is_answered_and_disconnect_ends"),
    "MQTT-3.14.1-1": Statement("DISCONNECT with flags closes the connection.", _FORBIDDEN),
    "MQTT-3.14.4-1": Statement("A client closes the connection after DISCONNECT.", why=CLIENT),
    "MQTT-3.14.4-2": Statement("A client sends nothing after DISCONNECT.", why=CLIENT),
    "MQTT-3.14.4-3": Statement("DISCONNECT takes the Will back unpublished.", _NO_WILL),
    "MQTT-4.1.0-1": Statement("Client and server store the session for its whole life.", f"{_LEFT} {_AGAIN}"),
    "MQTT-4.1.0-2": Statement(
        "A session lasts at least for its connection.",
        "session:test_message_to_the_client_is_delivered_when_acknowledged",
    ),
    "MQTT-4.2.0-1": Statement(
        "The transport is ordered, without loss, both ways.",
        "gateway:test_publish_over_tls_reaches_the_intake_and_is_acknowledged "
        "tls:test_bytes_cut_anywhere_on_the_wire_reach_the_connection_in_order",
    ),
    "MQTT-4.3.1-1": Statement(
        "A sender at QoS 0 sends without DUP.", "exchange:test_message_is_delivered_at_the_lower_of_both_qos"
    ),
    "MQTT-4.3.2-1": Statement(
        "A sender at QoS 1 gives a new id, sends without DUP, and holds the message until PUBACK.",
        f"session:test_message_to_the_client_is_delivered_when_acknowledged {_AGAIN}",
    ),
    "MQTT-4.3.2-2": Statement(
        "A receiver at QoS 1 answers with PUBACK; behind it the same id is a new message.",
        "session:test_packet_id_is_free_again_once_its_publish_is_acknowledged",
    ),
    "MQTT-4.3.3-1": Statement(
        "A sender at QoS 2 holds the message until PUBREC, then PUBREL until PUBCOMP.",
        f"{_FOUR} {_AGAIN} open:test_message_goes_from_client_to_client_at_qos_2_on_both_ways",
    ),
    "MQTT-4.3.3-2": Statement(
        "A QoS 2 publish is taken once for its packet id until PUBREL, and each is answered.",
        "session:test_qos_2_sent_again_after_its_pubrec_is_answered_again_and_not_taken "
        "session:test_qos_2_id_is_free_after_pubrel session:test_pubrel_of_an_unknown_id_is_answered "
        "exchange:test_qos_2_id_of_a_client_is_held_over_connections "
        "server:test_microtrips_of_a_foreign_client_are_read_back_once_each",
    ),
    "MQTT-4.4.0-1": Statement(
        "When a session is resumed, unanswered PUBLISHes and PUBRELs are sent again with their ids.",
        f"{_AGAIN} open:test_session_left_is_present_again_and_its_messages_come_with_dup_or_anew",
    ),
    "MQTT-4.5.0-1": Statement(
        "A message taken from a client is put into the session of everybody who subscribed.",
        "exchange:test_message_goes_to_those_who_asked_for_it_and_to_its_sender_too "
        "exchange:test_messages_wait_for_an_absent_client_in_order_at_qos_1_and_2",
    ),
    "MQTT-4.5.0-2": Statement("A client acknowledges a message after any outcome.", why=CLIENT),
    "MQTT-4.6.0-1": Statement("PUBLISHes go again in the order in which they went first.", _AGAIN),
    "MQTT-4.6.0-2": Statement(
        "PUBACKs go out in the order in which the publishes came.",
        f"{_KEPT_ORDER} {_IN_PLACE} open:test_frames_that_settle_one_after_the_other_release_what_is_behind_each",
    ),
    "MQTT-4.6.0-3": Statement("PUBRECs go out in the order in which the publishes came.", f"{_KEPT_ORDER} {_IN_PLACE}"),
    "MQTT-4.6.0-4": Statement(
        "PUBRELs go out in the order of the PUBRECs.", "exchange:test_pubrels_go_again_in_the_order_of_the_pubrecs"
    ),
    "MQTT-4.6.0-5": Statement(
        "Every topic is ordered unless the operator says otherwise.",
        "exchange:test_messages_above_the_window_wait_in_order",
    ),
    "MQTT-4.6.0-6": Statement(
        "Messages of a topic and QoS reach a subscriber in the order in which they came.",
        "exchange:test_messages_above_the_window_wait_in_order "
        "open:test_paho_to_paho_at_every_qos_with_overlapping_filters",
    ),
    "MQTT-4.7.1-1": Statement("Topic names have no wildcards.", _FORBIDDEN),
    "MQTT-4.7.1-2": Statement(
        "The # of a filter is its whole last level.",
        f"outbound:test_ill_formed_filter_names_the_broken_rule {_FORBIDDEN}",
    ),
    "MQTT-4.7.1-3": Statement(
        "A + of a filter is a whole level.", f"outbound:test_ill_formed_filter_names_the_broken_rule {_FORBIDDEN}"
    ),
    "MQTT-4.7.2-1": Statement(
        "Filters that begin with a wildcard do not cover topics that begin with $.",
        "exchange:test_topics_that_begin_with_a_dollar_are_not_matched_by_leading_wildcards "
        "outbound:test_filter_covers_topics_as_the_standard_says",
    ),
    "MQTT-4.7.3-1": Statement("Topic names and filters have a character at least.", _FORBIDDEN),
    "MQTT-4.7.3-2": Statement("Topic names and filters do not hold U+0000.", _FORBIDDEN),
    "MQTT-4.7.3-3": Statement(
        "Topic names and filters have 65,535 bytes at most.",
        "bytes:test_topic_is_taken_as_it_is bytes:test_encoder_refuses_what_does_not_fit",
    ),
    "MQTT-4.7.3-4": Statement(
        "Topic names and filters are compared as they are, not normalised.",
        "bytes:test_topic_is_taken_as_it_is outbound:test_filter_covers_topics_as_the_standard_says",
    ),
    "MQTT-4.8.0-1": Statement(
        "A protocol error closes the connection.",
        f"{_FORBIDDEN} session:test_packet_that_no_client_sends_closes_connection "
        "session:test_protocol_error_comes_once_and_after_the_frames_before_it",
    ),
    "MQTT-4.8.0-2": Statement(
        "An error of ours while a packet is worked on closes its connection.",
        "gateway:test_outage_closes_the_connection_without_acknowledging "
        "gateway:test_bug_while_offering_costs_one_connection_and_not_the_listener",
    ),
    "MQTT-6.0.0-1": Statement("Over WebSocket, packets are in binary frames.", why=WEBSOCKET),
    "MQTT-6.0.0-2": Statement("Over WebSocket, packets may be cut across frames.", why=WEBSOCKET),
    "MQTT-6.0.0-3": Statement("Over WebSocket, the client offers the subprotocol mqtt.", why=WEBSOCKET),
    "MQTT-6.0.0-4": Statement("Over WebSocket, the server answers the subprotocol mqtt.", why=WEBSOCKET),
    "MQTT-7.0.0-1": Statement(
        "A server that connects to other servers conforms as a client too.", why="this server connects to no other"
    ),
    "MQTT-7.0.0-2": Statement(
        "No extension is needed to work with other implementations.",
        "clients:test_paho_publishes_at_every_qos server:test_microtrips_of_a_foreign_client_are_read_back_once_each",
    ),
    "MQTT-7.1.1-1": Statement(
        "A server supports a transport that is ordered and without loss.",
        "gateway:test_publish_over_tls_reaches_the_intake_and_is_acknowledged",
    ),
    "MQTT-7.1.2-1": Statement("A client supports such a transport.", why=CLIENT),
}
