"""Live positions of vehicles: written by the processes that ingest data, read by users who may see the vehicle."""
