"""The operations of GitHub, in parts."""
