"""Step kinds, one file each: its fields, its check, its code, an example. Read `log.py` first."""
