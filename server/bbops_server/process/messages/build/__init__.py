"""What the build processes are asked: of what is live, and of drafts."""
