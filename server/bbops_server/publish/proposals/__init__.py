"""The proposals of a repository: records, merge status, tests and merges."""
