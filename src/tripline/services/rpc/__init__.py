"""Calls to devices: making them, storing devices' answers, ending unanswered calls."""
