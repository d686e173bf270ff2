"""Work outside of requests: events, jobs, their steps and ticks, kept in the project's database."""
