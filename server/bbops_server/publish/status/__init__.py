"""The status of projects: conditions, events, publications."""
