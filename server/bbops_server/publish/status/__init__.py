"""What is said of projects: conditions, events, publications."""
