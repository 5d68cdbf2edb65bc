"""A fleet that is not there: an outsider that knows Tripline only by its wire."""
