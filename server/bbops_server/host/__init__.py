"""The real doors of `bbops.host`, one file each."""
