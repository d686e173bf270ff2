"""The same API written by hand: what bbops is compared with."""

DATABASE = "BENCH_DATABASE"
"""The variable of the environment that says where an app's tables are."""
