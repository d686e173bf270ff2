"""The language server behind `bbops lsp`: one file for each feature of an editor."""
