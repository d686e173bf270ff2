"""The benchmark: ratios against the same work by hand, measured interleaved in one run."""
