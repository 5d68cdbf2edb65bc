"""Any split of the bytes gives the same events; prefixes are incomplete; no bytes crash anything."""

import contextlib
import itertools

from hypothesis import given
from hypothesis import strategies as st
from tests.support.open_namespace import OpenSession
from tests.support.persistent_sessions import Lasting

from tripline.mqtt import decode, encode, events, packets
from tripline.mqtt.events import PUBACK_TOKEN
from tripline.mqtt.packets import Connect, ProtocolError, Publish, Will
from tripline.mqtt.session import Rules, ServerSession

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)
TOPIC = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00+#"), min_size=1, max_size=20)
ID = st.integers(1, 65_535)
BODY = st.binary(max_size=40) | st.integers(0, 6_000).map(bytes)
WILL = st.builds(Will, TOPIC, st.binary(max_size=9), st.integers(0, 2), st.booleans())
QOS_0 = st.builds(Publish, TOPIC, BODY, st.just(0), st.just(0), st.booleans(), st.just(False))
QOS_1_2 = st.builds(Publish, TOPIC, BODY, st.integers(1, 2), ID, st.booleans(), st.booleans())
LEVEL = st.sampled_from(["+", "", "a", "$b", "한"])
FILTER = st.builds(
    lambda levels, end: "/".join([*levels, end]), st.lists(LEVEL, max_size=3), LEVEL.filter(bool) | st.just("#")
)
CONNECT = st.builds(
    Connect, TEXT, st.booleans(), st.integers(0, 65_535), TEXT, st.none() | st.binary(max_size=9), st.none() | WILL
)
FROM_CLIENT = st.one_of(
    QOS_0,
    QOS_1_2,
    st.builds(packets.Puback, ID),
    st.builds(packets.Pubrel, ID),
    st.builds(packets.Puback, st.integers(1, 3)),
    st.builds(packets.Pubrec, st.integers(1, 3)),
    st.builds(packets.Pubcomp, st.integers(1, 3)),
    st.builds(packets.Subscribe, ID, st.lists(st.tuples(FILTER, st.integers(0, 2)), min_size=1, max_size=3).map(tuple)),
    st.builds(packets.Unsubscribe, ID, st.lists(FILTER, min_size=1, max_size=3).map(tuple)),
    st.just(packets.Pingreq()),
    st.just(packets.Disconnect()),
)
FROM_SERVER = st.one_of(
    st.builds(packets.Connack, st.integers(0, 5), st.booleans()),
    st.builds(packets.Pubrec, ID),
    st.builds(packets.Pubcomp, ID),
    st.builds(packets.Suback, ID, st.lists(st.sampled_from([0, 1, 2, 0x80]), max_size=3).map(tuple)),
    st.builds(packets.Unsuback, ID),
    st.just(packets.Pingresp()),
)
ANY = FROM_CLIENT | FROM_SERVER | CONNECT
CUTS = st.lists(st.integers(0, 4_000), max_size=12)


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    """The bytes cut at those places."""
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[start:end] for start, end in itertools.pairwise(edges)]


def played(chunks: list[bytes], *, routed: bool = False) -> tuple[list[object], bytes]:
    """Events (frames one by one) and answers of a session that admits at once.

    Where topics are routed its session has three messages for the client under way.
    """
    rules = Rules(2_000, may_subscribe=lambda wanted: len(wanted) % 2 == 0)
    session = ServerSession(rules)
    if routed:
        lasting = Lasting(limit=2)
        for qos in (2, 1, 2):
            lasting.keep(Publish("t", b"x", qos))
        session = OpenSession(lambda _: lasting, rules=rules, routes=lambda topic: len(topic) % 2 == 0)
    seen: list[object] = []
    for chunk in chunks:
        found = session.receive(chunk)
        while found:
            event = found.pop(0)
            seen.extend(event if isinstance(event, list) else [event])
            if isinstance(event, events.ConnectRequest):
                found += session.admit()
    return seen, session.take_output()


@given(ANY)
def test_decoding_what_was_encoded_gives_the_packet_back(packet):
    assert decode.PacketReader().receive(encode.packet(packet)) == [packet]


@given(ANY)
def test_every_proper_prefix_is_incomplete(packet):
    data = encode.packet(packet)
    step = max(1, len(data) // 50)

    assert all(decode.PacketReader().receive(data[:end]) == [] for end in range(0, len(data), step))


@given(st.lists(ANY, max_size=5), CUTS)
def test_reader_gives_the_same_packets_however_the_bytes_are_cut(some, cuts):
    reader = decode.PacketReader()
    data = b"".join(map(encode.packet, some))

    assert [packet for piece in pieces(data, cuts) for packet in reader.receive(piece)] == some


@given(CONNECT, st.lists(FROM_CLIENT, max_size=8), CUTS)
def test_session_gives_the_same_events_and_answers_however_the_bytes_are_cut(connect, some, cuts):
    data = encode.packet(connect) + b"".join(map(encode.packet, some))

    assert played(pieces(data, cuts)) == played([data])


@given(CONNECT, st.lists(FROM_CLIENT, max_size=8), CUTS)
def test_session_with_routed_topics_gives_the_same_however_the_bytes_are_cut(connect, some, cuts):
    data = encode.packet(connect) + b"".join(map(encode.packet, some))

    assert played(pieces(data, cuts), routed=True) == played([data], routed=True)


@given(CONNECT, st.lists(FROM_CLIENT, max_size=4), st.binary(max_size=40), CUTS)
def test_session_ends_the_same_way_however_broken_bytes_are_cut(connect, some, junk, cuts):
    data = encode.packet(connect) + b"".join(map(encode.packet, some)) + junk

    assert played(pieces(data, cuts)) == played([data])


@given(st.lists(QOS_0 | QOS_1_2.filter(lambda publish: publish.qos == 1), min_size=1, max_size=8))
def test_fast_loop_agrees_with_the_careful_decoder(some):
    data = b"".join(map(encode.packet, some))
    session = ServerSession(Rules(max_body=10_000, may_subscribe=lambda _: False))
    session.receive(encode.packet(Connect("c", user_name="u")))
    session.admit()
    session.receive(data)

    found = session.receive(data)

    expected = [(each.topic, each.body, PUBACK_TOKEN | each.packet_id if each.qos else 0) for each in some]
    assert [frame for run in found for frame in run] == expected


@given(st.binary(max_size=300))
def test_random_bytes_raise_nothing_but_protocol_errors(data):
    with contextlib.suppress(ProtocolError, packets.UnsupportedProtocol):
        decode.PacketReader().receive(data)

    seen, _ = played([encode.packet(Connect("c", user_name="u")), data])

    ends = [event for event in seen if isinstance(event, events.Ended)]
    assert len(ends) <= 1
    assert not ends or seen[-1] == ends[0]
