"""The reading pages of a project, one module per panel of the side bar."""
