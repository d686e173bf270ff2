"""Run a project's functions with doors that tests can set: the same compiler, a still clock."""
