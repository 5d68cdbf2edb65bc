"""Plots as SVG: lines over sampling intervals, and bars side by side. They stand in the page itself."""

from collections.abc import Mapping, Sequence
from html import escape
from types import MappingProxyType
from typing import Final

GATE_COLOUR: Final = "#111827"
COLOURS: Final = ("#1d4ed8", "#b45309", "#6b7280", "#047857")
WIDTH: Final = 340
HEIGHT: Final = 220
LEFT: Final = 44
BOTTOM: Final = 34
TOP: Final = 26
ASIDE: Final = 8
"""From the points of one line to those of the next."""


def lines(
    title: str,
    series: Mapping[str, Sequence[tuple[float, float]]],
    *,
    x: str,
    y: tuple[float, float],
    gate: float | None = None,
) -> str:
    """Each series as a line with its points; `y`: the least and greatest value of the axis; `gate`: a dashed line."""
    places = sorted({at for points in series.values() for at, _ in points}) or [0.0]
    span = max(places[-1] - places[0], 1)

    def px(at: float) -> float:
        return LEFT + 14 + (at - places[0]) / span * (WIDTH - LEFT - 34)

    def py(value: float) -> float:
        within = min(max(value, y[0]), y[1])
        return TOP + (y[1] - within) / (y[1] - y[0]) * (HEIGHT - TOP - BOTTOM)

    parts = [_text(WIDTH / 2, 15, title, weight="600", anchor="middle")]
    for step in range(5):
        value = y[0] + (y[1] - y[0]) * step / 4
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - 8}" y1="{py(value):.1f}" y2="{py(value):.1f}" stroke="#e5e7eb"/>')
        parts.append(_text(LEFT - 6, py(value) + 4, f"{value:g}", anchor="end"))
    if gate is not None:
        parts.append(
            f'<line x1="{LEFT}" x2="{WIDTH - 8}" y1="{py(gate):.1f}" y2="{py(gate):.1f}" stroke="{GATE_COLOUR}"'
            ' stroke-dasharray="5 4"/>'
        )
    parts += [_text(px(at), HEIGHT - 18, f"{at:g}", anchor="middle") for at in places]
    parts.append(_text(WIDTH / 2, HEIGHT - 3, x, anchor="middle"))
    for number, (colour, (_, points)) in enumerate(zip(COLOURS * 9, series.items(), strict=False)):
        # Side by side, or equal lines would hide each other.
        aside = (number - (len(series) - 1) / 2) * ASIDE
        places_of = [(px(at) + aside, py(value)) for at, value in points]
        path = " ".join(f"{x_at:.1f},{y_at:.1f}" for x_at, y_at in places_of)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        parts += [f'<circle cx="{x_at:.1f}" cy="{y_at:.1f}" r="3.5" fill="{colour}"/>' for x_at, y_at in places_of]
    return _svg(WIDTH, HEIGHT, title, parts)


def bars(
    title: str,
    rows: Mapping[str, Sequence[float]],
    *,
    most: float,
    label: int = 230,
    marks: Mapping[str, Sequence[float]] = MappingProxyType({}),
) -> str:
    """Each row: its name and a bar for each of its values, one below the other, up to `most`.

    `marks`: for some rows a gate across each of the bars.
    """
    width, high, digits = 760, 13, 2 if most == 1 else 1
    parts = [_text(width / 2, 15, title, weight="600", anchor="middle")]
    top = TOP
    for name, values in rows.items():
        parts.append(_text(label - 8, top + high * len(values) / 2 + 4, name, anchor="end"))
        for number, (colour, value) in enumerate(zip(COLOURS, values, strict=False)):
            long = min(value, most) / most * (width - label - 60)
            parts.append(
                f'<rect x="{label}" y="{top}" width="{max(long, 1):.1f}" height="{high - 2}" fill="{colour}"/>'
            )
            parts.append(
                _text(label + long + 5, top + high - 3, f"{value:.{digits}f}" if value >= most / 2_000 else "0")
            )
            if name in marks:
                at = label + marks[name][number] / most * (width - label - 60)
                parts.append(f'<rect x="{at:.1f}" y="{top - 1}" width="2" height="{high}" fill="{GATE_COLOUR}"/>')
            top += high
        top += 6
    return _svg(width, top + 4, title, parts)


def legend(names: Sequence[str]) -> str:
    """The colours of the series."""
    parts = [
        f'<span class="key"><i style="background:{colour}"></i>{escape(name)}</span>'
        for colour, name in zip(COLOURS, names, strict=False)
    ]
    return f'<p class="legend">{"".join(parts)}</p>'


def _text(x: float, y: float, text: str, *, anchor: str = "start", weight: str = "400") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}">{escape(text)}</text>'


def _svg(width: float, height: float, title: str, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img"'
        f' aria-label="{escape(title)}">{"".join(parts)}</svg>'
    )
