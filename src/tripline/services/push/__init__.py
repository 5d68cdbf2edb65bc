"""Messages to customers' servers: putting them into the outbox, sending and signing them, what was given up."""
