"""Pages of delegation: candidates, delegating many vehicles at once, the chain of one vehicle."""
