"""Pages of scores: of a vehicle, a person and a company."""
