"""What is live: the release that answers, and the processes it lives in."""
