"""One file a step, in order of its number. A released step is never edited; a change is a new step."""
