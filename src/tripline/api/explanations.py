"""Explanations of scores: the cost of each event in a trip's score, and of each trip in a vehicle's accumulated score.

An extension of ours, not part of the interface (spec/rest 10.1).
"""

import asyncio
from typing import TYPE_CHECKING, Final
from zoneinfo import ZoneInfo

from litestar.types import ASGIApp

from tripline.domain.access import Action
from tripline.domain.scores import WhyNot
from tripline.http import answers, parameters, permission
from tripline.http.context import Call, context_of, scores_of
from tripline.http.operations import operation
from tripline.later import Later
from tripline.ports.maps import RoadMatcher
from tripline.scoring.quality import LimitSource
from tripline.services.scores import reads, totals
from tripline.store.transactions import ReadTx
from tripline.wire.rest import disputes as rest_disputes
from tripline.wire.rest import quality as rest_quality
from tripline.wire.rest.base import Id
from tripline.wire.rest.explanations import (
    AccumulatedExplanation,
    DriveMeasures,
    HarshEvent,
    LimitStretch,
    OverspeedStretch,
    ScoreExplanation,
    StyleItem,
    TripCost,
)

if TYPE_CHECKING:
    from tripline.scoring import measures
    from tripline.services.scores import explanation, findings
else:
    # They import numpy, which is loaded on first use.
    measures = Later("tripline.scoring.measures")
    explanation = Later("tripline.services.scores.explanation")

_WAYS: Final = {
    LimitSource.TAGGED: "tagged",
    LimitSource.IMPLIED: "implied",
    LimitSource.ROAD_CLASS: "roadClass",
    LimitSource.DEFAULT: "default",
    LimitSource.NONE: "none",
}


@operation(
    "GET",
    "/api/tre/v1_3/trip/{tripId}/analytics/drivingScore/explanation",
    access=Action.DRIVING_READ,
    answer=ScoreExplanation,
    refuses=(reads.NoScoreYet, reads.TooLong),
)
async def trip_explanation(request: Call) -> ASGIApp:
    """Why the trip has its score, item by item, or why it has none."""

    def at_once(tx: ReadTx) -> reads.ScoreFacts | None:
        actor = permission.permitted_in(tx, request)
        return reads.to_explain_at_once(tx, actor=actor, of=parameters.path_id(request, "tripId"))

    def work(tx: ReadTx) -> reads.ScoreFacts:
        actor = permission.permitted_in(tx, request)
        return reads.to_explain(tx, actor=actor, of=parameters.path_id(request, "tripId"))

    context = context_of(request)
    short = await context.store.read_short(at_once)
    trip_id = parameters.path_id(request, "tripId")
    if short is not None:
        return answers.ok(explained(trip_id, short, context.time_zone))
    facts = await context.store.read(work)
    return answers.ok(await asyncio.to_thread(explained, trip_id, facts, context.time_zone, scores_of(request).roads))


def explained(
    trip_id: str, facts: reads.ScoreFacts, zone: ZoneInfo, roads: RoadMatcher | None = None
) -> ScoreExplanation:
    """The answer. `zone`: of the night; `roads`: what tells limits. Raises ValueError when packed samples are cut,
    `Outage`."""
    kept = facts.kept
    found = explanation.of_facts(facts, zone, roads)
    scored = kept.score is not None
    shown = scored or kept.not_scored == WhyNot.ANNULLED.value
    return ScoreExplanation(
        id=Id(trip_id),
        version=reads.version_text(kept),
        created_time=kept.judged_ms,
        score=kept.score,
        not_scored=kept.not_scored,
        duplicate_of=None if facts.counting is None else Id(facts.counting),
        policy=kept.policy,
        explained_by=facts.explained_by,
        explained_score=found.score if scored else None,
        dist=found.distance_m,
        harsh_events=[_harsh(each) for each in found.manoeuvres] if shown else [],
        overspeed=[_stretch(each) for each in found.stretches] if shown else [],
        braking=[_style(each) for each in found.brakings] if scored else [],
        corners=[_style(each) for each in found.corners] if scored else [],
        limits=[_limit(each) for each in found.limits],
        unexplained=[Id(each) for each in found.unexplained],
        disputes=[rest_disputes.dispute(each) for each in facts.disputes],
        limit_known=found.quality.limits.known,
        harsh_known=found.quality.harsh_known,
        measures=_measures(found.measures),
        quality=rest_quality.data_quality(found.quality),
    )


def _harsh(found: "findings.Manoeuvre") -> HarshEvent:
    return HarshEvent(
        id=None if found.event_id is None else Id(found.event_id),
        event_ty=int(found.type),
        event_ts=found.at_ms,
        begin_ts=found.begin_ms,
        end_ts=found.end_ms,
        pos_lat=found.lat,
        pos_lon=found.lon,
        speed=found.speed_kmh,
        begin_speed=found.begin_kmh,
        end_speed=found.end_kmh,
        rate=found.rate,
        threshold=found.threshold,
        threshold_name=found.threshold_name,
        annulled=None if found.annulled is None else Id(found.annulled),
        cost=found.cost,
        without_it=found.without_it,
    )


def _stretch(found: "findings.Stretch") -> OverspeedStretch:
    return OverspeedStretch(
        ids=[Id(each) for each in found.event_ids],
        begin_ts=found.begin_ms,
        end_ts=found.end_ms,
        pos_lat=found.lat,
        pos_lon=found.lon,
        max_speed=found.fastest_kmh,
        limit=found.limit_kmh,
        counted_above=found.counted_kmh,
        limit_source=_WAYS[found.limit_source],
        road=None if found.road is None else found.road.name,
        link=None if found.road is None else found.road.link,
        seconds=found.seconds,
        annulled=None if found.annulled is None else Id(found.annulled),
        cost=found.cost,
        without_it=found.without_it,
    )


def _limit(found: "findings.LimitRun") -> LimitStretch:
    return LimitStretch(
        begin_ts=found.begin_ms,
        end_ts=found.end_ms,
        limit=found.limit_kmh,
        limit_source=_WAYS[found.limit_source],
        road=None if found.road is None else found.road.name,
        link=None if found.road is None else found.road.link,
    )


def _style(found: "findings.Moment") -> StyleItem:
    return StyleItem(
        begin_ts=found.begin_ms,
        end_ts=found.end_ms,
        pos_lat=found.lat,
        pos_lon=found.lon,
        peak=found.peak,
        cost=found.cost,
        without_it=found.without_it,
    )


def _measures(found: "measures.Measures") -> DriveMeasures:
    return DriveMeasures(
        driving=found.driving_s,
        over_limit={
            str(round(100 * (band - 1))): seconds for band, seconds in zip(measures.BANDS, found.over_s, strict=True)
        },
        long_overspeed=found.long_over_s,
        cornering=found.cornering,
        cornering_seconds=found.cornering_s,
        idling=found.idle_s,
        night_share=found.night_share,
        longest_drive=found.longest_drive_s,
    )


@operation(
    "GET",
    "/api/tre/v1_3/vehicle/{vehicleId}/analytics/drivingScore/stat/explanation",
    access=Action.DRIVING_READ,
    answer=AccumulatedExplanation,
    refuses=(reads.NoScoreYet, reads.TooLong),
)
async def vehicle_explanation(request: Call) -> ASGIApp:
    """Which of its trips cost a vehicle's accumulated score how much, the dearest first."""

    def work(tx: ReadTx) -> totals.Explanation:
        actor = permission.permitted_in(tx, request)
        return totals.explained(tx, actor=actor, of=parameters.path_id(request, "vehicleId"))

    found = await context_of(request).store.read(work)
    return answers.ok(
        AccumulatedExplanation(
            id=Id(parameters.path_id(request, "vehicleId")),
            score=found.score,
            limit_known=found.limit_known,
            count=found.count,
            distance=found.distance_m,
            accumulate=found.how,
            trips=[_trip_cost(each) for each in found.dearest],
            others=found.others,
            others_cost=found.others_cost,
        )
    )


def _trip_cost(found: totals.TripCost) -> TripCost:
    return TripCost(
        trip_id=Id(found.trip_id),
        score=found.score,
        dist=found.distance_m,
        cost=found.cost,
        limit_known=found.quality.limits.known,
        harsh_known=found.quality.harsh_known,
        quality=rest_quality.data_quality(found.quality),
    )
