"""What compiled steps call at run time, one file per step."""
