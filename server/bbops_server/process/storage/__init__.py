"""Implementations of `bbops.base.storage`: the files of projects, on disk or in a bucket."""
