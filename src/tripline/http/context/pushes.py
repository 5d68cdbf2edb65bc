"""Pushes."""

from tripline.http.context.base import Call
from tripline.services.push.trials import Trials


def trials_of(request: Call) -> Trials:
    """Return the sender of test messages."""
    trials: Trials = request.app.state["trials"]
    return trials
