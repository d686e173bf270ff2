"""Tests of the pull requests of hosted repositories."""
