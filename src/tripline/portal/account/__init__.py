"""Pages of the visitor's own account: signing in and out, passwords, sessions, applying for an account."""
