"""Calls to devices: making them, taking in what the devices answer, ending those that stay unanswered."""
