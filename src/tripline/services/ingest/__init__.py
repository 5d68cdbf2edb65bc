"""The pipeline: decode, check, place, keep, acknowledge."""
