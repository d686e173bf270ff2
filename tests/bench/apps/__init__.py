"""The same API written by hand: what bbops is compared with."""
