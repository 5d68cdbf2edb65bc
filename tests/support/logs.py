"""The place of log lines while tests run."""

from typing import Any, NoReturn, TextIO

import structlog

from tripline import observe


def plain(stream: TextIO | None = None) -> None:
    """Write plain lines to the stream (default: standard output, which pytest shows of tests that fail).

    Plain, for a painted traceback takes longer than most tests; not cached in the loggers, so that a test may look.
    """
    observe.set_up_before_a_line(None)
    structlog.reset_defaults()  # a command or a test may have set a level
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(default=repr),
        ],
        logger_factory=structlog.PrintLoggerFactory(stream),
        cache_logger_on_first_use=False,
    )


def none() -> None:
    """Write no line at all: a fuzzer causes them by the page."""
    observe.set_up_before_a_line(None)
    structlog.configure(processors=[_drop], cache_logger_on_first_use=False)


def _drop(*_: Any) -> NoReturn:
    raise structlog.DropEvent
