"""Messages to customers' servers: queueing them in the outbox, signing and sending them, and parked ones."""
