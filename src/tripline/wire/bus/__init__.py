"""Messages on the bus of a customer's own collecting system."""
