"""Messages to customers' servers: what is put into the outbox (`notices`)."""
