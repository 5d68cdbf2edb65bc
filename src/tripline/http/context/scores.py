"""Scores: policies, disputes, rankings."""

import msgspec

from tripline.http.context.base import Call
from tripline.ports.maps import RoadMatcher
from tripline.services.scores.disputes import DisputeService
from tripline.services.scores.policy_service import PolicyService
from tripline.services.scores.standings import Standings


class Scores(msgspec.Struct, frozen=True, kw_only=True):
    """The parts for scores."""

    policies: PolicyService
    """Tries and chooses scoring policies."""
    disputes: DisputeService
    """Opens and decides disputes of scores."""
    roads: RoadMatcher | None = None
    """The matcher of roads; None: trips are judged without roads."""
    standings: Standings = msgspec.field(default_factory=Standings)
    """Rankings, at most a minute old."""


def scores_of(request: Call) -> Scores:
    """Return the parts for scores."""
    scores: Scores = request.app.state["scores"]
    return scores
