"""Numbers of the messages that devices send (spec/device-messages 3)."""

from typing import Final

TRIP_NUMBERS: Final = range(1, 13)
"""Trips, and microtrips at even numbers."""
EVENT_NUMBERS: Final = range(101, 117)
EVENTS_IN_WORDS: Final = f"{EVENT_NUMBERS[0]} to {EVENT_NUMBERS[-1]}"
