"""Values of a flow: their types, formats, operators and filters, and how they fail."""
