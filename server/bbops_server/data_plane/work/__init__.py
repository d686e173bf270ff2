"""The process that does what runs outside of requests."""
