"""Pages of trips: the list, a vehicle's day, and a trip."""
