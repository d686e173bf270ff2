"""Holds: reasons for which a commit waits for a decision before it goes live."""
