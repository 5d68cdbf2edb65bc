"""The examples of the carrier's page, sent in their order to a server."""

import json
import re
from pathlib import Path

from tests.support import lines, rest
from tests.support.lines import ACTIONS

PAGE = Path(__file__).parents[2] / "docs/carrier.md"


async def test_examples_of_the_page_are_done_as_it_says(app: rest.Rest):
    examples = [json.loads(text) for text in re.findall(r"```json\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)]

    scene = await lines.scene(app)
    await app.operator("taxi")
    done = {}
    for example in examples:
        if example["type"] == "TERMINATION":  # the owner change before it freed the number
            again = {**examples[0], "actionId": "again", "mdn": example["mdn"]}
            await app.post(scene.carrier, ACTIONS, again)
        (outcome,) = (await app.post(scene.carrier, ACTIONS, example))["outcomes"]
        done[example["type"]] = (outcome["outcome"], outcome["nwStatus"])

    assert done == {
        "OPENING": ("DONE", "01"),
        "DEVICE_CHANGE": ("DONE", "01"),
        "NUMBER_CHANGE": ("DONE", "01"),
        "SIM_CHANGE": ("DONE", "01"),
        "PLAN_CHANGE": ("DONE", "01"),
        "SUSPENSION": ("DONE", "02"),
        "OWNER_CHANGE": ("DONE", "00"),
        "TERMINATION": ("DONE", "06"),
    }
