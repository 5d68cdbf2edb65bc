"""The documents match the program: generated pages, names in use."""

import ast
import re

from tests.support import loops, reference

from tripline import observe
from tripline.api import families
from tripline.domain import access
from tripline.http import application, operations
from tripline.portal import families as pages
from tripline.services import device_check

REASON = re.compile(r'reason="([a-z_]+)"')
LOGGING = re.compile(r"\b_?log\.|(?:failed|outage)=")
"""A module without it logs nothing and need not be parsed."""


def sources() -> list[tuple[str, str]]:
    root = reference.source_root()
    return [(str(path), (root / path).read_text("utf-8")) for path in reference.modules()]


@loops.every(reference.PAGES)
def test_page_is_what_the_program_says(path):
    assert path.read_text("utf-8") == reference.PAGES[path](), "run `make docs`"


def test_log_events_in_use_are_the_catalogue():
    used = set()
    for text in (text for _, text in sources() if LOGGING.search(text)):
        for node in ast.walk(reference.parsed(text)):
            match node:
                case ast.Call(
                    func=ast.Attribute(
                        value=ast.Name(id="_log" | "log"), attr="debug" | "info" | "warning" | "error" | "exception"
                    ),
                    args=[ast.Constant(value=str(name)), *_],
                ):
                    used.add(name)
                # Of `services/poll_loop.py`.
                case ast.keyword(arg="failed" | "outage", value=ast.Constant(value=str(name))):
                    used.add(name)

    assert sorted(used - set(observe.EVENTS)) == []
    assert sorted(set(observe.EVENTS) - used) == []


def test_metrics_are_declared_in_the_catalogue_only():
    declaring = [name for name, text in sources() if re.search(r"= (Counter|Gauge|Histogram|Summary)\(", text)]

    assert declaring == ["metrics.py"]


def test_reasons_of_rejected_messages_are_documented():
    used = {reason for _, text in sources() for reason in REASON.findall(text)}

    assert sorted((used | set(device_check.REFUSED)) - set(reference.REASONS)) == []


def test_every_command_is_documented_with_an_example():
    page = reference.commands()

    for words, command in reference.command_tree():
        if words and command.default_command is not None:
            assert f"## tripline {' '.join(words)}\n" in page
            assert reference.example(command)


def test_refusal_codes_are_unique():
    codes = [refusal.code for refusal in reference.refusal_classes()]

    assert sorted(codes) == sorted(set(codes))


def test_every_route_is_a_declared_operation_and_every_operation_is_routed():
    both = (*families.FAMILIES, *pages.FAMILIES)
    routed = application.routed_app(both, {})
    served = {
        (path.path_format, method)
        for path in routed.routes
        for method in path.methods
        if method not in ("HEAD", "OPTIONS")
    }
    declared = [
        (path.replace(":str", ""), operations.of_handler(handler).method)
        for handler in operations.handlers_of(both)
        for path in handler.paths
    ]

    assert sorted(declared) == sorted(served)


def test_every_action_has_a_row_and_every_row_a_role():
    assert set(access.RULES) == set(access.Action)
    assert [action for action, row in access.RULES.items() if not row] == []
