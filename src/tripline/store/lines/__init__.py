"""Rows of carrier lines and of the actions of carriers on them."""
