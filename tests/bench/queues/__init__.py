"""Other queues on PostgreSQL: what the same jobs cost there, and what happens as a worker dies."""
