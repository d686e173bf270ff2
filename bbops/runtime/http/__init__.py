"""Requests and responses: routes, bodies, headers, files, caching, idempotency."""
