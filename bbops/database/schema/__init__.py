"""Tables as frozen values, and where a project's data is."""
