"""Requests and answers over HTTP, for every family of routes: authentication, permission, parameters, errors."""
