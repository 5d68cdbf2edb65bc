"""Pages of a sensor: how its last connection ended, in the reader's language."""

import pytest
from tests.support import rest
from tests.support.portal import Browser, Page

from tripline.domain.ids import RowNo
from tripline.language import catalogue
from tripline.language.catalogue import Language
from tripline.services.device_check import phrases
from tripline.store.devices import connections
from tripline.store.devices.connections import Change


def test_every_way_a_connection_ends_has_words() -> None:
    texts = catalogue.of_portal(Language.ENGLISH)
    beginning = "portal.sensors.lost."

    assert {key.removeprefix(beginning) for key in texts if key.startswith(beginning)} == set(phrases.ENDINGS)


@pytest.mark.parametrize(
    ("language", "reason", "told"),
    [
        ("en", "silent", "Nothing came for 1.5 times the keep-alive."),
        ("ko", "silent", "keep-alive 시간의 1.5배 동안 수신이 없었습니다."),
        ("ko", "of_another_version", "of_another_version"),
    ],
)
def test_page_says_how_the_last_connection_ended(tmp_path, language, reason, told):
    async def scenario(app):
        _, admin = await app.operator("ace")
        record = await app.post(admin, "/sensor", {"serialNo": "S", "type": "GPS", "credentialsId": "S" * 20})
        sensor_id, at_ms = record["id"]["id"], app.now_ms
        ended = Change(sensor_id, False, at_ms, at_ms, RowNo(1), at_ms, reason)
        await app.store.write(lambda tx: connections.write(tx, [ended], {sensor_id: False}, node_id=None))
        return await Browser(app, admin).get(f"/fleet/sensors/{sensor_id}", **{"Accept-Language": language})

    answer = rest.run(tmp_path, scenario)

    assert told in Page(answer.text).text
