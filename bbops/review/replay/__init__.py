"""Send recorded requests again, and compare the responses."""
