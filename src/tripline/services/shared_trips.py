"""The track and times of a trip as the page of a share link shows them."""

from tripline.domain import positions
from tripline.domain.positions import Moment
from tripline.services.live import trail
from tripline.services.scores import track


def shown(packed: bytes, *, whole: bool, until_ms: int) -> list[Moment]:
    """Return the shown part of a trip's packed samples, at most `trail.POINTS`, by time; empty if too little is left.

    `until_ms`: when the link was made. A trip that goes on after that shows nothing of where the vehicle is now.
    Raises ValueError when packed samples are truncated.
    """
    found = track.of_packed(packed, most=len(packed))
    moments = list(map(Moment._make, zip(found.time_ms, found.lat, found.lon, strict=True)))
    moments = [each for each in moments if each.time_ms <= until_ms]
    return trail.thinned(moments if whole else positions.without_ends(moments))
