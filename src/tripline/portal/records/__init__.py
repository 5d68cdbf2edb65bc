"""Pages of single records: vehicles, sensors, people, companies, lines, drivers of trips."""
