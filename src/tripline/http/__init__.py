"""Requests and answers over HTTP, whatever family of routes asks: authentication, permission, parameters, errors."""
