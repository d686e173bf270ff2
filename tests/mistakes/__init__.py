"""Mistakes that people make in projects, planted one at a time, and what the checker says."""
