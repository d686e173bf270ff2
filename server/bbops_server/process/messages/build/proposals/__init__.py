"""What a change would do; nothing live changes."""
