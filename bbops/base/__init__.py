"""What every room stands on: errors, diagnostics, names, and the doors to this machine."""
