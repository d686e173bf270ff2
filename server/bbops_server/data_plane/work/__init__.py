"""The work process: runs the jobs of live projects outside of requests."""
