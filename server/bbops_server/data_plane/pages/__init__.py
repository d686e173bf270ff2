"""Files of frontends, and pages where a project has none."""
