"""Processes for unreviewed code: forked from a warm process, limited, and killed when needed."""
