"""Rows of the fleet: companies, people, vehicles, sensors, delegations, rights."""
