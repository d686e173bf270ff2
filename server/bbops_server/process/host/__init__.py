"""The real doors of `bbops.base.host`, one file each."""
