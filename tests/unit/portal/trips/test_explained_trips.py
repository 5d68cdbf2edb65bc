"""The explanations in `docs/scoring.md` are those of the pages."""

from tests.support import explained_trips


def test_page_explains_five_trips_as_their_pages_do():
    (printed,) = explained_trips.SECTION.findall(explained_trips.PAGE.read_text("utf-8"))

    assert printed == explained_trips.section(), "run `make docs`"
