"""Pages of pushes: a company's receivers and their messages."""
