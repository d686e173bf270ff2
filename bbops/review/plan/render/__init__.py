"""Plans for readers: `text` for a terminal, `markdown` for the comment of a proposal."""
