"""Where proposals are kept, what they would do, and what it takes to merge one."""
