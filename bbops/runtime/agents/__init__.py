"""Agents of projects: conversations of a model with the functions that are its tools."""
