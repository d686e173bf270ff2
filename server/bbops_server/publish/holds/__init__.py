"""What keeps a commit from going live until somebody decides."""
