"""The language server as an editor meets it: a process, spoken to over stdin and stdout."""
