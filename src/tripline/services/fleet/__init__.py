"""Use cases of the fleet: companies, vehicles, sensors, people, and the trips that are read back."""
