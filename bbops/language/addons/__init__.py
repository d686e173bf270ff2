"""Addons, one file each: what one is configured with, its steps, and what they give."""
