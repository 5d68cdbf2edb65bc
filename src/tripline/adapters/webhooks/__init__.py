"""Requests to customers' servers, with the guard of their addresses."""
