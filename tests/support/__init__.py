"""Builders, fakes and server starters: plain functions, no surprises."""
