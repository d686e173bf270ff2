"""Typed queries and the SQL text they become. Pure: no driver, no connection."""
