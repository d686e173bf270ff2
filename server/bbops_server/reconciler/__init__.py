"""What makes a commit live, and tells how far it got."""
