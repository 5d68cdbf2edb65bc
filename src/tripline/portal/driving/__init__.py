"""Pages for people who drive: their own trips and scores, taking a vehicle and giving it back, the code in its cab."""
