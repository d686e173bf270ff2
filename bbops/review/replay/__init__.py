"""Ask again what was asked before, and see which answers would be others."""
