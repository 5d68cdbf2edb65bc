"""The page for accounts without a company, in place of pages about one."""

from litestar.response import Response

from tripline.http.context import Call
from tripline.portal.frame import views
from tripline.portal.frame.visitors import Visitor


def shown(request: Call, visitor: Visitor, *, title: str) -> Response[bytes]:
    """The page, under the title of the page that it replaces."""
    return views.show(request, visitor, "without_company.html", title=title)
