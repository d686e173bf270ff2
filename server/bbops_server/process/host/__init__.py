"""Implementations of the interfaces in `bbops.base.host`, one file each."""
