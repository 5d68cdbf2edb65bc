"""Kept reasons: every sentence that the program keeps is known and said in the reader's language, and no other is."""

import ast
import errno
import os
from collections.abc import Iterator

import pytest
from tests.support import reference

from tripline.adapters.maps.files import LostAreaError
from tripline.language import catalogue, kept, phrases
from tripline.language.catalogue import Language
from tripline.ports import webhooks
from tripline.ports.outages import Fault
from tripline.services.push import attempts
from tripline.store.database import faults

TEXTS = {key: text for key, text in catalogue.of(Language.ENGLISH)["texts"].items() if key.startswith(kept.KEYS)}
MADE = {
    ("webhooks/", "mail/", "kafka/", "postgres"): ("WebhookFailedError", "LetterRefusedError", "Outage"),
    ("maps/osm_file", "maps/work", "maps.py"): ("MapFileError", "NoAreaError", "UnreadFileError"),
    ("maps/files",): ("LostAreaError",),
    ("maps/roads_valhalla", "readiness"): ("_AwayError", "RoadsOutage", "RoadServer"),
}
"""Errors, or states, whose text is kept with what was not sent or imported, or shown as what is wrong: by how the
files begin, in the folder of adapters or elsewhere."""


def literal(node: ast.expr) -> str:
    """The text that an expression makes, with something in place of each value."""
    if isinstance(node, ast.JoinedStr):
        return "".join(literal(part) for part in node.values)
    return str(node.value) if isinstance(node, ast.Constant) else "The mail server h:25" if named(node) else "some"


def named(node: ast.expr) -> bool:
    return isinstance(node, ast.FormattedValue) and ast.unparse(node.value) == "server"


def sentences() -> Iterator[str]:
    """What the senders of pushes and mails, stores, buses and imports say went wrong; wrong settings end a start."""
    root = reference.source_root()
    elsewhere = [
        root / "store" / "database" / "postgres_threads.py",
        root / "maintenance" / "maps.py",
        root / "services" / "readiness.py",
    ]
    adapters = root / "adapters"
    for path in sorted([*adapters.rglob("*.py"), *elsewhere]):
        name = str(path.relative_to(adapters)) if path.is_relative_to(adapters) else path.name
        made = next((errors for begins, errors in MADE.items() if name.startswith(begins)), ())
        if made and "options" not in path.name:
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Call) and ast.unparse(node.func) in made and node.args:
                    if "_AwayError" in made and not isinstance(node.args[0], ast.JoinedStr | ast.Constant):
                        continue  # it hands on what another said
                    yield literal(node.args[-1] if "LostAreaError" in made else node.args[0])


def said(text: str, language: Language) -> str:
    return phrases.said((kept.phrase_of(text),), language)


def test_kept_sentences_are_those_that_the_program_makes() -> None:
    system = (errno.ECONNREFUSED, errno.ECONNRESET, errno.ENETUNREACH, errno.EHOSTUNREACH)
    made = [*sentences(), webhooks.UNANSWERED, attempts.NO_ADDRESS, attempts.EARLY, "HTTP status 410."]
    made += ["TLS failed: WRONG_VERSION_NUMBER.", str(LostAreaError("area", "some"))]
    made += ["PBF error: unexpected EOF"]  # of the library that reads maps
    made += [str(faults.outage(each, "some")) for each in Fault]
    made += [f"The connection failed: {os.strerror(each)}." for each in system]

    found = {kept.phrase_of(each).name: each for each in made}

    # That of `mail.ca` ends a start, and is never kept.
    assert "mail.ca" in found.pop("verbatim")
    assert found.keys() == TEXTS.keys()


@pytest.mark.parametrize(
    ("text", "korean"),
    [
        ("HTTP status 410.", "서버의 응답은 HTTP 410입니다."),
        (f"The connection failed: {os.strerror(111)}.", "서버가 연결을 거부했습니다."),
        ("The connection failed: Broken pipe.", "연결하지 못했습니다: Broken pipe."),
        (
            "The mail server mx.example:25 rejected the mail: 550 no such\nuser",
            "메일 서버(mx.example:25)가 메일을 거절했습니다: 550 no such\nuser",
        ),
        (
            str(LostAreaError("area", "its folder /m/area.1 is gone")),
            "지도(area)를 읽을 수 없습니다. 사유: /m/area.1 폴더가 없습니다.",
        ),
        (
            "its folder /m/area.1 cannot be read (Permission denied)",
            "/m/area.1 폴더를 읽을 수 없습니다(Permission denied)",
        ),
        ("550 no such user", "550 no such user"),
        ("It is {reason}.", "It is {reason}."),
    ],
)
def test_kept_sentence_is_said_in_the_readers_language(text: str, korean: str) -> None:
    assert said(text, Language.ENGLISH) == text
    assert said(text, Language.KOREAN) == korean
