"""The doctor's verdicts."""

import pytest
from msgspec.structs import replace
from tests.support import outbox, rows
from tests.support import scores as score_rows
from tests.support.outbox import Waiting

from tripline.domain import ids
from tripline.domain.ids import CompanyId, RowNo, SensorId
from tripline.domain.pushes import Channel
from tripline.language import phrases
from tripline.language.catalogue import Language
from tripline.ports.maps import RoadServer
from tripline.scoring import quality
from tripline.services import doctor
from tripline.store.accounts import mail_outbox
from tripline.store.push import queue as push_queue
from tripline.store.push import receiver_state
from tripline.store.push.queue import Result

NOW_MS = 1_790_000_000_000
DAY_MS = 86_400_000
WELL = doctor.Surroundings(
    database="/srv/tripline/tripline.db",
    schema="0001",
    newest_schema="0001",
    damage=[],
    unwritable=None,
    read_only=False,
    free_bytes=2**40,
    reserve_bytes=512 * 2**20,
    certificate_end_ms=NOW_MS + 100 * DAY_MS,
)


def verdicts(**changed) -> list[tuple[str, bool]]:
    seen = replace(WELL, **changed)
    return [(finding.subject, finding.well) for finding in doctor.about(seen, now_ms=NOW_MS)]


def verdict(subject: str, **changed) -> bool:
    return dict(verdicts(**changed))[subject]


def test_sound_installation_is_well():
    assert verdicts() == [("schema", True), ("database", True), ("disk", True), ("certificate", True)]


def test_server_that_finds_roads_is_named_by_its_setting_with_what_follows_and_the_fix():
    (away,) = doctor.road_server(RoadServer("Valhalla cannot be reached: ConnectError."))
    (well,) = doctor.road_server(RoadServer())

    assert (away.subject, away.well, away.text) == (
        "roads",
        False,
        "Valhalla cannot be reached: ConnectError. Trips on imported maps wait up to ten minutes; then Tripline finds"
        " their roads without it. Start the Valhalla server that `map.valhalla_url` names, or correct that setting and"
        " restart.",
    )
    assert (well.well, well.text) == (True, "the Valhalla server of `map.valhalla_url` answers")
    assert doctor.road_server(None) == []


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        (None, "version none, not 0001; run `tripline migrate`"),
        ("0000", "version 0000, not 0001; run `tripline migrate`"),
        (
            "0038",
            "made by another version of Tripline (schema 0038, not 0001);"
            " use that version, or start with a new data folder or database",
        ),
    ],
)
def test_other_schema_is_wrong_and_told_with_what_helps(schema, text):
    (found,) = [each for each in doctor.about(replace(WELL, schema=schema), now_ms=NOW_MS) if not each.well]

    assert (found.subject, found.text) == ("schema", text)


def test_damage_is_wrong_and_names_file_and_remedy():
    seen = replace(WELL, damage=["page 3 is never used\nand more"], schema=None)
    (found,) = [each for each in doctor.about(seen, now_ms=NOW_MS) if not each.well]

    assert found.subject == "database"
    assert found.text.startswith(
        "/srv/tripline/tripline.db is damaged: page 3 is never used; stop the server, copy the"
    )
    assert "restore a backup" in found.text
    assert "more" not in found.text.replace("operating", "")


def test_database_that_cannot_be_written_is_wrong():
    assert verdict("database", unwritable="database is locked") is False


@pytest.mark.parametrize(
    ("free", "well"),
    [(WELL.reserve_bytes - 1, False), (WELL.reserve_bytes, True), (WELL.reserve_bytes + 1, True)],
)
def test_little_disk_space_is_wrong(free, well):
    assert verdict("disk", free_bytes=free) is well


@pytest.mark.parametrize(("days", "well"), [(-1, False), (13, False), (14, True), (15, True)])
def test_certificate_near_its_end_is_wrong(days, well):
    assert verdict("certificate", certificate_end_ms=NOW_MS + days * DAY_MS) is well


@pytest.mark.parametrize(("days", "wells"), [(730, []), (729, [True]), (90, [True]), (89, [False]), (-1, [False])])
def test_authority_near_its_end_is_told_and_then_wrong(days, wells):
    found = doctor.authority(NOW_MS + days * DAY_MS, now_ms=NOW_MS)

    assert [each.well for each in found] == wells


def test_authority_of_somebody_else_is_not_told_of():
    assert doctor.authority(None, now_ms=NOW_MS) == []


def test_installation_without_certificate_yet_is_well():
    assert verdict("certificate", certificate_end_ms=None) is True


def test_parked_mails_are_wrong_and_waiting_ones_are_not():
    with rows.memory() as tx:
        texts = [mail_finding(tx)]
        maker = ids.TimeIds(node=1)
        for _ in range(3):
            mail_outbox.add(tx, ids=maker, kind="password.reset", recipient="kim@fleet.example", now_ms=NOW_MS)
        texts.append(mail_finding(tx))
        first, *_ = mail_outbox.due(tx, now_ms=NOW_MS, limit=1)
        mail_outbox.postpone(tx, first, error="550 no such user", due_ms=mail_outbox.NEVER_MS)
        texts.append(mail_finding(tx))

    assert texts == [
        (True, "no mail is waiting"),
        (True, "3 mails are waiting"),
        (
            False,
            "2 mails are waiting, 1 parked; last error: 550 no such user; "
            "fix the cause and restart; the mails are then sent again",
        ),
    ]


def mail_finding(tx) -> tuple[bool, str]:
    report = doctor.reported(tx, [], now_ms=NOW_MS)
    return next((each.well, each.text) for each in report.findings if each.subject == "mail")


def push_finding(tx) -> doctor.Finding:
    report = doctor.reported(tx, [], now_ms=NOW_MS)
    return next(each for each in report.findings if each.subject == "push")


@pytest.mark.parametrize(("waited_s", "error", "named"), [(59, None, False), (60, None, True), (0, "HTTP 500.", True)])
def test_receivers_that_are_behind_or_fail_are_named(waited_s, error, named):
    no = RowNo(ids.first_no(NOW_MS - waited_s * 1_000))
    with rows.memory() as tx:
        outbox.add(tx, [Waiting(no, "id", CompanyId("c"), SensorId("s"), 2, b"{}", 0)])
        if error:
            push_queue.settle(tx, delivered=[], postponed=[Result(no, 1, 0, error)], parked=[])
        found = push_finding(tx)

    text = f"notify of a deleted company (c): 1 waiting, for {waited_s // 60} min"
    assert found.well
    assert found.lines == ((f"{text}; last error: {error}" if error else text,) if named else ())


def test_m3_receivers_that_never_answer_are_named():
    no = RowNo(ids.first_no(NOW_MS - 600_000))
    key = (CompanyId("c"), Channel.NOTIFY)
    with rows.memory() as tx:
        outbox.add(tx, [Waiting(no, "id", key[0], SensorId("s"), 2, b"{}", 0)])
        taken = [Result(no, 2, NOW_MS, "nothing")]
        push_queue.settle(tx, delivered=[], postponed=[], parked=[], unconfirmed=taken)
        receiver_state.silent(tx, key, since_ms=NOW_MS - 300_000, readdressed_ms=0)
        found = push_finding(tx)

    assert found.well
    assert found.text == "no message to a customer's server is waiting; 1 delivered, unconfirmed"
    assert found.lines == (
        "notify of a deleted company (c): accepts messages but has not answered for 5 min; 1 delivered, unconfirmed",
    )


def test_ten_receivers_are_named_at_most():
    first = ids.first_no(NOW_MS - DAY_MS)
    with rows.memory() as tx:
        outbox.add(
            tx, [Waiting(RowNo(first + n), f"{n}", CompanyId(f"c{n}"), SensorId("s"), 2, b"{}", 0) for n in range(12)]
        )
        details = push_finding(tx).lines

    assert len(details) == 11
    assert details[-1] == "and 2 more"


def test_devices_whose_speeds_fit_no_path_are_told_of_by_unit():
    ratios = [0.28, 0.28, 0.54, 1.4, None]
    with rows.memory() as tx:
        for number, ratio in enumerate(ratios):
            body = quality.written(quality.Quality(samples=9, period_ms=1_000, speed_ratio=ratio))
            score_rows.add_trip(tx, number, None, not_scored="speed_implausible", quality=body)
        score_rows.add_trip(tx, 9, None, not_scored="too_short")
        report = doctor.reported(tx, [], now_ms=NOW_MS)

    (found,) = [each for each in report.findings if each.noted]
    assert (found.subject, found.well, report.well) == ("scoring", True, True)
    assert found.text == "of the latest trips, 5 have speeds that do not fit their positions"
    assert found.lines == ("1 as if in knots", "2 as if in metres per second", "2 in an unknown unit")


def test_sentences_agree_with_the_number_one():
    with rows.memory() as tx:
        score_rows.add_trip(tx, 0, None, not_scored="too_short")
        mail_outbox.add(
            tx, ids=ids.TimeIds(node=1), kind="password.reset", recipient="kim@fleet.example", now_ms=NOW_MS
        )
        report = doctor.reported(tx, [], now_ms=NOW_MS)

    texts = {each.subject: each.text for each in report.findings}
    assert texts["scoring"] == "no job is waiting; 1 of the latest trips has no score"
    assert texts["mail"] == "1 mail is waiting"


def test_trips_without_a_score_are_counted_by_reason_in_both_languages():
    with rows.memory() as tx:
        kept = [*["too_short"] * 2, "sparse", "of_another_version", None]
        for number, reason in enumerate(kept):
            score_rows.add_trip(tx, number, None, not_scored=reason)
        report = doctor.reported(tx, [], now_ms=NOW_MS)

    (found,) = [each for each in report.findings if each.subject == "scoring"]
    assert (found.well, found.noted) == (True, False)
    assert found.text == "no job is waiting; 4 of the latest trips have no score"
    assert found.lines == (
        "for each of 2 trips: it is shorter than the minimum distance for scoring",
        "for 1 trip: of_another_version",
        "for 1 trip: its samples are too far apart",
    )
    assert phrases.said(found.details[0], Language.KOREAN) == "2건: 점수를 매기는 최소 거리보다 짧은 운행"


def test_doctor_says_nothing_of_speeds_where_all_fit():
    with rows.memory() as tx:
        score_rows.add_trip(tx, 1, None, not_scored="too_short")

        assert [each for each in doctor.reported(tx, [], now_ms=NOW_MS).findings if each.noted] == []
