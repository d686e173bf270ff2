"""Reviews on a hosted forge: which pull requests brought new commits, and who approved them."""
