"""Drafts, as data processes let people into them."""
