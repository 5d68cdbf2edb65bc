"""The health of the installation in words: each finding, its meaning, and the remedy."""

from collections.abc import Sequence
from typing import Any, Final

from litestar.response import Response
from msgspec.structs import replace

from tripline.domain.access import Action
from tripline.http.context import Call, context_of, process_of
from tripline.language import catalogue, phrases
from tripline.language.catalogue import Language
from tripline.language.phrases import Phrase
from tripline.portal.frame import views, words
from tripline.portal.frame.page import page
from tripline.portal.frame.visitors import Visitor, visitor_and
from tripline.services import doctor
from tripline.services.doctor import Finding

_SHORT: Final = {
    ("doctor.push.receiver", "notify"): "doctor.push.receiver.notify",
    ("doctor.push.receiver", "rpcNotify"): "doctor.push.receiver.rpcNotify",
}
"""The page's text for a receiver, by the text that commands use and the channel."""


@page("GET", "/admin/health", access=Action.INSTALLATION_READ)
async def show(request: Call) -> Response[bytes]:
    """The state of the installation, as seen by the answering process."""
    context = context_of(request)
    visitor, report = await visitor_and(
        request,
        lambda tx, visitor: doctor.examined(
            tx, actor=visitor.actor, ready=process_of(request).ready(), clock=context.clock
        ),
        short=False,
    )
    return views.show(
        request,
        "admin/health.html",
        title="portal.health.title",
        findings=[_line(visitor, each) for each in report.findings],
        wrong=sum(not each.well for each in report.findings),
        noted=sum(each.well and each.noted for each in report.findings),
        rejected=[
            # A reason recorded by an older version has no text.
            (reason, count, catalogue.of_portal(visitor.language).get("portal.health.rejection." + reason))
            for reason, count in sorted((report.rejected or {}).items(), key=lambda pair: -pair[1])
        ],
    )


def _line(visitor: Visitor, finding: Finding) -> dict[str, Any]:
    """A finding for the page, in sentences: commands print its phrases after a name and a colon."""
    return {
        "subject": finding.subject,
        "state": "bad" if not finding.well else "warning" if finding.noted else "good",
        "text": words.sentence(phrases.said(finding.said, visitor.language)),
        "remedy": finding.remedy and words.sentence(phrases.said((finding.remedy,), visitor.language)),
        "details": [_detail(visitor, each) for each in finding.details],
    }


def _detail(visitor: Visitor, told: Sequence[Phrase]) -> str:
    text = phrases.said(map(_short, told), visitor.language)
    # A Korean detail may begin with a name: keep its case.
    return words.sentence(text) if visitor.language is Language.ENGLISH else words.ended(text)


def _short(told: Phrase) -> Phrase:
    """Name a receiver by channel and company; commands name it by command-line argument."""
    return replace(told, name=_SHORT.get((told.name, str(told.values.get("channel"))), told.name))
