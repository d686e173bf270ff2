"""The files of a project at one moment: paths, blob ids, bytes. Nothing is interpreted here.

`FolderTree` reads a folder; `bbops.git.tree` reads a commit.
"""
