"""What every process is asked."""
