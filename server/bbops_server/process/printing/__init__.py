"""Printing of pages to PDF files: one process of a server keeps a browser for all others."""
