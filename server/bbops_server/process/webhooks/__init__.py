"""Tell other servers what happens to projects."""
