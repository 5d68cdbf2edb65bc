"""A simulated fleet: an outsider that knows Tripline only by its protocols."""
