"""Implementations of `bbops.base.doors`: the files of projects, on disk or in a bucket."""
