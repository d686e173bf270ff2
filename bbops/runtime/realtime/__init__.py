"""Topics of a release: who may subscribe to them, and what their messages look like."""
