"""Requests of hosted forges."""
