"""JSON of scoring policies: their contents, the choices of a company, and previews. An addition to the interface."""

from typing import Annotated

import msgspec

from tripline.domain.scores import Source
from tripline.wire.described import about
from tripline.wire.rest import examples
from tripline.wire.rest.base import Id
from tripline.wire.rest.rescorings import Rescoring

Section = dict[str, float | str | list[float]]
"""Numbers by name: one, or one each for car, bus and truck; a choice is a text."""


class ScoringPolicy(msgspec.Struct, frozen=True, rename="camel"):
    """Every number that a score depends on, by the names of the settings."""

    policy: Annotated[int, about("its number", 1)]
    scoring: Annotated[Section, about("section `scoring`", {"harsh_weight": 0.45})]
    harsh: Annotated[Section, about("section `harsh`", {"start": [10.0, 8.0, 6.0]})]
    guards: Annotated[Section, about("section `guards`", {"gap_ms": 30000})]
    style: Annotated[Section, about("section `style`", {"braking_weight": 0.0})]


class PolicyChoiceFor(msgspec.Struct, frozen=True, rename="camel"):
    """The policy of a company or a service type from a date on."""

    company_id: Annotated[Id | None, about("null: for a service type", examples.COMPANY)]
    company_name: Annotated[str | None, about("null: for a service type", "Han River Taxi")]
    service_type: Annotated[str | None, about("null: for a company", None)]
    policy: Annotated[int | None, about("its number; null: the choice ends", 2)]
    from_time: Annotated[int, about("for trips that begin then or later, epoch ms", 0)]


class ScoringPolicies(msgspec.Struct, frozen=True, rename="camel"):
    """The stored policies."""

    data: Annotated[list[ScoringPolicy], about("the first one first", [])]
    choices: Annotated[
        list[PolicyChoiceFor],
        about(
            "the 100 latest choices for companies whose policy the caller may choose, and for their service"
            " types; the latest date first",
            [],
        ),
    ]


class PolicyChoice(msgspec.Struct, frozen=True, rename="camel"):
    """The policy of a company from a date on."""

    policy: Annotated[int | None, about("its number; null: none of its own any more", 2)]
    from_time: Annotated[
        int, about("for trips that begin then or later, until the next choice, epoch ms", 1735689600000)
    ]
    chosen_time: Annotated[int, about("when it was chosen, epoch ms", 1735689600000)]
    chosen_by: Annotated[Id | None, about("who chose it; null: the operator of the machine", examples.PERSON)]


class CompanyScoring(msgspec.Struct, frozen=True, rename="camel"):
    """The policies that score a company's trips."""

    in_force: Annotated[int | None, about("the policy of a trip that begins now; null: nothing was scored yet", 1)]
    in_force_by: Annotated[Source, about("by choice for the COMPANY or SERVICE_TYPE, or by the SETTINGS", "COMPANY")]
    in_force_since: Annotated[
        int | None, about("from when the choice holds, epoch ms; null: that of the settings", 1735689600000)
    ]
    choices: Annotated[list[PolicyChoice], about("the earliest first", [])]
    rescoring: Annotated[
        Rescoring | None, about("the newest rescoring of the company's stored trips; null: none", None)
    ]


class ChoosePolicy(msgspec.Struct, rename="camel", kw_only=True):
    """The policy to choose."""

    policy: Annotated[int | None, about("its number; null: that of the service type or the settings", 2)] = None
    from_time: Annotated[
        int | None, about("for trips that begin then or later, epoch ms; without it: now", 1735689600000)
    ] = None
    rescore: Annotated[
        bool | None, about("true: also begin a rescoring of the stored trips that began at `fromTime` or later", False)
    ] = None


class TryPolicy(msgspec.Struct, rename="camel", kw_only=True):
    """The policy to try."""

    policy: Annotated[int | None, about("its number", 2)] = None
    from_time: Annotated[int | None, about("date for `toScore`, epoch ms; without it: now", 1735689600000)] = None


class PolicyMover(msgspec.Struct, frozen=True, rename="camel"):
    """A trip whose score would change."""

    trip_id: Annotated[Id, about("the trip", examples.TRIP)]
    start_time: Annotated[int | None, about("when it began, epoch ms", 1735689600000)]
    before: Annotated[float, about("its score now", 93.1)]
    after: Annotated[float, about("its score by the policy", 81.3)]


class PolicyPreview(msgspec.Struct, frozen=True, rename="camel"):
    """The effect of a policy on the newest scored trips."""

    trips: Annotated[int, about("trips that were judged", 500)]
    same: Annotated[int, about("scores that would stay", 460)]
    moved: Annotated[int, about("scores that would move", 38)]
    lost: Annotated[int, about("trips that would have no score any more", 2)]
    mean_change: Annotated[float, about("how far scores would move on average, points without sign", 2.4)]
    greatest_change: Annotated[float, about("how far at most", 11.8)]
    reasons: Annotated[dict[str, int], about("why trips would have no score, and how many", {"too_short": 2})]
    mean_before: Annotated[
        float | None, about("mean score now, of the trips that keep a score; null: there are none", 91.4)
    ]
    mean_after: Annotated[float | None, about("their mean score by the policy", 88.9)]
    movers: Annotated[list[PolicyMover], about("the five largest changes, the largest first", [])]
    to_score: Annotated[
        int,
        about(
            "stored scores by another policy of trips that began on the day of `fromTime` (service time"
            " zone) or later: `rescore` replaces them, and also tries trips without a score",
            1200,
        ),
    ]
