"""Where bytes come from: a folder or a commit, and YAML that knows its places."""
