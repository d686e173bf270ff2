"""What compiled code and a request need. No framework, no model, no YAML is imported here."""
