"""JSON of scoring policies: their contents, the choices of a company, and previews. An addition to the interface."""

from typing import Annotated

import msgspec
from msgspec import Meta

from tripline.domain.policies import Source
from tripline.wire.rest.base import Id
from tripline.wire.rest.rescorings import Rescoring

Section = dict[str, float | str | list[float]]
"""Numbers by name: one, or one each for car, bus and truck; a choice is a text."""
_COMPANY: list[object] = [{"id": "b37c5a20-c801-11ef-9d5c-6b1f6f2a4c11"}]
_TRIP: list[object] = [{"id": "0d1b7c50-c802-11ef-9d5c-6b1f6f2a4c11"}]
_ACCOUNT: list[object] = [{"id": "6c9ba3d0-c801-11ef-9d5c-6b1f6f2a4c11"}]


class ScoringPolicy(msgspec.Struct, frozen=True, rename="camel"):
    """Every number that a score depends on, by the names of the settings."""

    policy: Annotated[int, Meta(description="its number", examples=[1])]
    scoring: Annotated[Section, Meta(description="section `scoring`", examples=[{"harsh_weight": 0.45}])]
    harsh: Annotated[Section, Meta(description="section `harsh`", examples=[{"start": [10.0, 8.0, 6.0]}])]
    guards: Annotated[Section, Meta(description="section `guards`", examples=[{"gap_ms": 30000}])]
    style: Annotated[Section, Meta(description="section `style`", examples=[{"braking_weight": 0.0}])]


class PolicyChoiceFor(msgspec.Struct, frozen=True, rename="camel"):
    """The policy of a company or a service type from a date on."""

    company_id: Annotated[Id | None, Meta(description="null: for a service type", examples=_COMPANY)]
    company_name: Annotated[str | None, Meta(description="null: for a service type", examples=["Han River Taxi"])]
    service_type: Annotated[str | None, Meta(description="null: for a company", examples=[None])]
    policy: Annotated[int | None, Meta(description="its number; null: the choice ends", examples=[2])]
    from_time: Annotated[int, Meta(description="for trips that begin then or later, epoch ms", examples=[0])]


class ScoringPolicies(msgspec.Struct, frozen=True, rename="camel"):
    """The stored policies."""

    data: Annotated[list[ScoringPolicy], Meta(description="the first one first", examples=[[]])]
    choices: Annotated[
        list[PolicyChoiceFor],
        Meta(
            description="the 100 latest choices for companies whose policy the caller may choose, and for their service"
            " types; the latest date first",
            examples=[[]],
        ),
    ]


class PolicyChoice(msgspec.Struct, frozen=True, rename="camel"):
    """The policy of a company from a date on."""

    policy: Annotated[int | None, Meta(description="its number; null: none of its own any more", examples=[2])]
    from_time: Annotated[
        int,
        Meta(
            description="for trips that begin then or later, until the next choice, epoch ms", examples=[1735689600000]
        ),
    ]
    chosen_time: Annotated[int, Meta(description="when it was chosen, epoch ms", examples=[1735689600000])]
    chosen_by: Annotated[
        Id | None, Meta(description="who chose it; null: the operator of the machine", examples=_ACCOUNT)
    ]


class CompanyScoring(msgspec.Struct, frozen=True, rename="camel"):
    """The policies that score a company's trips."""

    in_force: Annotated[
        int | None,
        Meta(description="the policy of a trip that begins now; null: nothing was scored yet", examples=[1]),
    ]
    in_force_by: Annotated[
        Source,
        Meta(description="by choice for the COMPANY or SERVICE_TYPE, or by the SETTINGS", examples=["COMPANY"]),
    ]
    in_force_since: Annotated[
        int | None,
        Meta(description="from when the choice holds, epoch ms; null: that of the settings", examples=[1735689600000]),
    ]
    choices: Annotated[list[PolicyChoice], Meta(description="the earliest first", examples=[[]])]
    rescoring: Annotated[
        Rescoring | None,
        Meta(description="the newest rescoring of the company's stored trips; null: none", examples=[None]),
    ]


class ChoosePolicy(msgspec.Struct, rename="camel", kw_only=True):
    """The policy to choose."""

    policy: Annotated[
        int | None, Meta(description="its number; null: that of the service type or the settings", examples=[2])
    ] = None
    from_time: Annotated[
        int | None,
        Meta(description="for trips that begin then or later, epoch ms; without it: now", examples=[1735689600000]),
    ] = None
    rescore: Annotated[
        bool | None,
        Meta(
            description="true: also begin a rescoring of the stored trips that began at `fromTime` or later",
            examples=[False],
        ),
    ] = None


class TryPolicy(msgspec.Struct, rename="camel", kw_only=True):
    """The policy to try."""

    policy: Annotated[int | None, Meta(description="its number", examples=[2])] = None
    from_time: Annotated[
        int | None,
        Meta(description="date for `toScore`, epoch ms; without it: now", examples=[1735689600000]),
    ] = None


class PolicyMover(msgspec.Struct, frozen=True, rename="camel"):
    """A trip whose score would change."""

    trip_id: Annotated[Id, Meta(description="the trip", examples=_TRIP)]
    start_time: Annotated[int | None, Meta(description="when it began, epoch ms", examples=[1735689600000])]
    before: Annotated[float, Meta(description="its score now", examples=[93.1])]
    after: Annotated[float, Meta(description="its score by the policy", examples=[81.3])]


class PolicyPreview(msgspec.Struct, frozen=True, rename="camel"):
    """The effect of a policy on the newest scored trips."""

    trips: Annotated[int, Meta(description="trips that were judged", examples=[500])]
    same: Annotated[int, Meta(description="scores that would stay", examples=[460])]
    moved: Annotated[int, Meta(description="scores that would move", examples=[38])]
    lost: Annotated[int, Meta(description="trips that would have no score any more", examples=[2])]
    mean_change: Annotated[
        float, Meta(description="how far scores would move on average, points without sign", examples=[2.4])
    ]
    greatest_change: Annotated[float, Meta(description="how far at most", examples=[11.8])]
    reasons: Annotated[
        dict[str, int], Meta(description="why trips would have no score, and how many", examples=[{"too_short": 2}])
    ]
    mean_before: Annotated[
        float | None,
        Meta(description="mean score now, of the trips that keep a score; null: there are none", examples=[91.4]),
    ]
    mean_after: Annotated[float | None, Meta(description="their mean score by the policy", examples=[88.9])]
    movers: Annotated[list[PolicyMover], Meta(description="the five largest changes, the largest first", examples=[[]])]
    to_score: Annotated[
        int,
        Meta(
            description="stored scores by another policy of trips that began on the day of `fromTime` (service time"
            " zone) or later: `rescore` replaces them, and also tries trips without a score",
            examples=[1200],
        ),
    ]
