"""Take live tables to the declared ones, a phase at a time, or refuse."""
