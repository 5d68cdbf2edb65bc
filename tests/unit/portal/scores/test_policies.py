"""Pages of scoring policies: in words, previewed, chosen from a day on, rescored and followed; and by whom."""

from typing import Any

import pytest
from tests.support import rest
from tests.support.portal import HTMX, Browser, Page
from tests.unit.api import test_trip_drivers as trips

from tripline.domain.access import Authority
from tripline.domain.trends import text
from tripline.scoring.rules import Harsh, Rules, Scoring
from tripline.store.scores import policies

TODAY = text(rest.NOW_MS // 86_400_000)
MILD = Rules(scoring=Scoring(harsh_weight=0.1, overspeed_weight=0.01), harsh=Harsh(standing_kmh=4.0))
"""Policy 4."""


@pytest.fixture
async def own(app: rest.Rest) -> Any:
    """Two scored trips, three policies, and the path of the company's page."""
    made = await trips.cast(app)  # type: ignore[no-untyped-call]
    await app.store.write(lambda tx: policies.keep(tx, MILD, now_ms=1))
    made.path = f"/scores/companies/{made.admin.company_id}/policy"
    made.browser = Browser(app, made.admin)
    made.rest = f"/api/tre/v1_3/company/{made.admin.company_id}/scoring"
    return made


async def opened(own: Any, address: str, **headers: str) -> Page:
    answer = await own.browser.get(address, **headers)
    assert answer.status_code == 200, answer.text
    return Page(answer.text)


async def applied(own: Any, chosen: str, day: str, **more: str) -> Any:
    """Send the form of the preview's page."""
    shown = await opened(own, f"{own.path}?policy={chosen}&from={day}")
    (state,) = set(shown.hidden(own.path)["shown"])
    return await own.browser.post(own.path, {"policy": chosen, "from": day, "shown": state, **more})


async def test_policies_are_told_in_words_with_the_one_in_force(own: Any) -> None:
    shown, korean = await opened(own, own.path), await opened(own, "/scores/policies", **{"Accept-Language": "ko"})

    assert "One harsh start, acceleration, braking or stop in each kilometre leaves 64 of 100 points." in shown.text
    assert "leaves 90 of 100 points." in shown.text
    assert "One corner at 0.3 g in each kilometre leaves 82 of 100 points." in shown.text
    assert "10 seconds more than 35% over the limit in each kilometre leave 20 of 100 points." in shown.text
    assert "everyone, in the settings of the server" in shown.text
    assert "100점 중 64점이 남습니다" in korean.text


async def test_preview_shows_what_rest_answers_and_what_differs(own: Any) -> None:
    told = (await own.app.call(own.admin, "POST", f"{own.rest}/preview", {"policy": 4})).json()
    page = await opened(own, f"{own.path}?policy=4&from={TODAY}")
    part = await opened(own, f"{own.path}/preview?policy=4&from={TODAY}", **HTMX)

    assert "They can be scored again now or later, which also tries trips without a score." in page.text
    assert (told["trips"], told["toScore"], len(told["movers"])) == (2, 2, 2)
    assert told["movers"][0]["tripId"]["id"] in (own.trip_id, own.first_id)
    for number in (told["meanBefore"], told["meanAfter"], told["movers"][0]["before"], told["movers"][0]["after"]):
        assert f"{number:.1f}" in part.text
    assert f"/trips/{own.trip_id}" in part.hrefs
    assert "3 numbers differ from the policy in force" in page.text
    assert "harsh.standing_kmh" in page.text.replace("\n", "")
    assert "Apply and score 2 trips again" in page.text


@pytest.mark.parametrize("rescored", [False, True])
async def test_policy_is_applied_from_a_day_on_and_its_rescoring_followed(own: Any, rescored: bool) -> None:
    answer = await applied(own, "4", TODAY, **({"rescore": "1"} if rescored else {}))
    kept = await own.app.get(own.admin, own.rest)
    shown = await opened(own, own.path)
    cancelled = None
    if rescored:
        (run,) = set(shown.hidden(f"{own.path}/cancel")["rescoringId"])
        cancelled = await own.browser.post(f"{own.path}/cancel", {"rescoringId": run})
    part = await opened(own, f"{own.path}/rescoring", **HTMX)

    assert answer.status_code == 303
    assert (kept["inForce"], kept["inForceBy"]) == (4, "COMPANY")
    assert (kept["rescoring"] is not None) is rescored
    assert "this company" in shown.text
    if rescored:
        assert kept["rescoring"]["fromTime"] == kept["inForceSince"]
        assert "Scoring trips again" in shown.text
        assert cancelled.status_code == 303
        assert "Cancelled" in part.text
    else:
        assert "2 trips since then have scores by another policy." in shown.text
        assert "Score 2 trips again" in shown.text


async def test_own_choice_is_ended_and_a_policy_tried_on_all_trips(own: Any) -> None:
    await applied(own, "4", TODAY)
    ended = await applied(own, "none", TODAY)
    tried = await own.browser.post(f"{own.path}/rescore", {"policy": "2"})
    again = await own.browser.post(f"{own.path}/rescore", {"policy": "2"})
    kept = await own.app.get(own.admin, own.rest)

    assert (ended.status_code, tried.status_code, again.status_code) == (303, 303, 409)
    assert (kept["inForceBy"], kept["choices"][-1]["policy"]) == ("SETTINGS", None)
    assert (kept["rescoring"]["dryRun"], kept["rescoring"]["policy"], kept["rescoring"]["all"]) == (True, 2, True)
    assert "under way" in Page(again.text).text


async def test_choice_of_another_person_meanwhile_is_shown_and_stays(own: Any) -> None:
    shown = await opened(own, f"{own.path}?policy=4")
    (state,) = set(shown.hidden(own.path)["shown"])
    await own.app.call(own.admin, "PUT", own.rest, {"policy": 2})
    late = await own.browser.post(own.path, {"policy": "4", "from": TODAY, "shown": state})
    kept = await own.app.get(own.admin, own.rest)

    assert late.status_code == 409
    assert "Another user saved this record" in Page(late.text).text
    assert kept["inForce"] == 2


@pytest.mark.parametrize(
    ("sent", "field"),
    [({"policy": "9"}, "policy"), ({"policy": "x"}, "policy"), ({"policy": "4", "from": "5"}, "from")],
)
async def test_wrong_choice_is_refused_and_changes_nothing(own: Any, sent: dict[str, str], field: str) -> None:
    answer, kept = await own.browser.post(own.path, sent), await own.app.get(own.admin, own.rest)

    assert answer.status_code == 400
    assert {"policy": "Scoring policy", "from": "For trips from"}[field] in Page(answer.text).text
    assert kept["choices"] == []


@pytest.mark.parametrize(
    ("who", "status"), [("admin", 200), ("root", 200), ("director", 403), ("driver", 403), ("stranger", 403)]
)
async def test_page_opens_to_those_who_may_choose(own: Any, who: str, status: int) -> None:
    _, own.stranger = await own.app.operator("other")
    own.root = await own.app.account("root@x.example", Authority.SYS_ADMIN)
    asked = Browser(own.app, getattr(own, who))
    score = await Browser(own.app, own.driver).get(f"/scores/people/{own.driver.user_id}")
    found, score = (
        [(await asked.get(own.path + end)).status_code for end in ("", "/preview?policy=4")],
        Page(score.text),
    )

    assert found == [status, status]
    # A driver reads what the own score weighs.
    assert "How the score is calculated" in score.text
    assert "Where the map gives no limit, 110 km/h counts as the limit." in score.text
