"""Distributes types, styles, habits and manners over the vehicles of a simulated fleet."""

from collections.abc import Mapping, Sequence
from typing import Final, TypeVar

from tripline.simulator.habits import HABITS
from tripline.simulator.itinerary import Character

NONE: Final = "none"
ALL: Final = "all"
T = TypeVar("T")


class MixError(Exception):
    """A mix names something unknown or has no weight; the text is shown as one line."""


def mix(text: str, known: Sequence[str], what: str) -> dict[str, float]:
    """The weights in a text such as `GPS=3,OBD`; `all` gives all names the same weight. Raises `MixError`."""
    if text.strip().lower() == ALL:
        return dict.fromkeys(known, 1.0)
    folded = {name.lower(): name for name in known}
    weights: dict[str, float] = {}
    for part in text.split(","):
        name, _, weight = part.strip().partition("=")
        if name.lower() not in folded:
            raise MixError(f"{what} {name or '(empty)'} is not known; there are {', '.join(known)}.")
        try:
            weights[folded[name.lower()]] = float(weight or 1)
        except ValueError:
            raise MixError(f"The weight of {name} is no number: {weight}.") from None
    if min(weights.values()) < 0 or not 0 < sum(weights.values()) < float("inf"):
        raise MixError(f"The weights of {text} are not all 0 or more, with one above 0.")
    return weights


def shared_out(weights: Mapping[T, float], count: int) -> list[T]:
    """`count` names, mixed as evenly as their weights allow from the first on."""
    whole = sum(weights.values())
    given = dict.fromkeys(weights, 0)
    names = []
    for number in range(1, count + 1):
        name = max(weights, key=lambda each: weights[each] * number / whole - given[each])
        given[name] += 1
        names.append(name)
    return names


def characters(
    devices: Sequence[tuple[str, str]],
    *,
    styles: Mapping[str, float],
    habits: Mapping[str, float],
    packed_share: float = 0.0,
    seed: int = 0,
) -> list[Character]:
    """The vehicles of these types and number plates. Styles rotate within each type, so that every type is driven in
    every style; each vehicle gets the habit of its type that is rarest so far, by weight."""
    lists: dict[str, list[str]] = {}
    seen: dict[str, int] = {}
    given = dict.fromkeys(habits, 0)
    found = []
    for number, (device, plate) in enumerate(devices, start=1):
        if device not in lists:
            lists[device] = shared_out(styles, len(devices))
        place = seen[device] = seen.get(device, -1) + 1
        habit = _rarest(device, habits, given)
        found.append(
            Character(
                number=number,
                device=device,
                style=lists[device][place],
                plate=plate,
                habit=None if habit == NONE else habit,
                packed=int(number * packed_share) > int((number - 1) * packed_share),
                seed=seed,
            )
        )
    return found


def _rarest(device: str, habits: Mapping[str, float], given: dict[str, int]) -> str:
    """The possible habit of this type that is rarest so far, relative to its weight; counted in `given`."""
    fitting = [name for name in habits if habits[name] and (name == NONE or device in HABITS[name].types)]
    if not fitting:
        return NONE
    habit = min(fitting, key=lambda name: (given[name] + 1) / habits[name])
    given[habit] += 1
    return habit
