"""Pages become PDF files: one process of a server keeps one browser, and prints for the others."""
