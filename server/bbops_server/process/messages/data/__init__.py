"""What the parent asks data processes and the processes of drafts."""
