"""The ingest pipeline: decode, check, place, store, acknowledge."""
