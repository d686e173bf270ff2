"""SQLite: the driver, its limits and writers, and its live tables."""
