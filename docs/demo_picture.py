"""Draws `demo.svg`, the README's picture, from a run of the demo: `.venv/bin/python docs/demo_picture.py`."""

import asyncio
import io
import re
from pathlib import Path
from typing import Final

from rich.console import Console

from tripline import demo

_MAP: Final = Path(__file__).parents[1] / "evaluation" / "maps" / "liechtenstein.osm.pbf"


def main() -> None:
    """Run the demo and draw what it printed."""
    console = Console(record=True, width=116, file=io.StringIO(), force_terminal=True, highlight=False)
    asyncio.run(demo.run(demo.Plan(data=None, keep=False, map=_MAP), console))
    drawn = console.export_svg(title="tripline demo", unique_id="demo")
    # Without the fonts that rich would have the reader's browser fetch; any fixed-width one will do.
    drawn = re.sub(r"@font-face \{.*?\}\s*", "", drawn, flags=re.DOTALL)
    (Path(__file__).parent / "demo.svg").write_text(drawn)


if __name__ == "__main__":
    main()
