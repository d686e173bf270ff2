"""The language server behind `bbops lsp`: one file per thing that an editor asks for."""
