"""localStorage: files on the server, below one folder."""

from __future__ import annotations

from bbops.base.model import Model
from bbops.language.addons._base import Action, AddonKind, Setting, may, need
from bbops.language.expressions.types import ANY, BOOLEAN, INTEGER, TEXT, list_of, map_of

_ENCODING = may(
    "encoding", "text", "utf8 if left out", options=("utf8", "base64", "binary", "buffer")
)


class Config(Model):
    """Paths of the steps are below this folder, and may not leave it."""

    base_directory: Setting = "./storage"


ADDON = AddonKind(
    "Local Storage",
    "Files on the server, below one folder.",
    Config,
    {
        "saveFile": Action(
            "Save File",
            "Write a file, with the folders it lies in.",
            (
                need("path"),
                need("content", "text binary"),
                _ENCODING,
            ),
            map_of({"path": TEXT, "size": INTEGER}, "the file"),
            "- localStorage.saveFile: { path: notes/hello.txt, content: Hello }",
        ),
        "readFile": Action(
            "Read File",
            "Read a file as text, or as bytes.",
            (
                need("path"),
                _ENCODING,
            ),
            ANY,
            "- localStorage.readFile: { path: notes/hello.txt }\n"
            "  as: content\n"
            "- return:\n"
            "    value: ${ vars.content }",
        ),
        "deleteFile": Action(
            "Delete File",
            "Delete a file; one that is not there is fine.",
            (need("path"),),
            map_of({"path": TEXT}, "the file"),
            "- localStorage.deleteFile: { path: notes/hello.txt }",
        ),
        "listFiles": Action(
            "List Files",
            "List the files of a folder.",
            (
                may("directory", "text", "The whole base directory if left out"),
                may("recursive", "boolean", "false if left out"),
            ),
            list_of(
                map_of(
                    {"path": TEXT, "name": TEXT, "size": INTEGER, "isDirectory": BOOLEAN}, "a file"
                )
            ),
            "- localStorage.listFiles: { directory: notes }\n"
            "  as: files\n"
            "- return:\n"
            "    value: ${ vars.files | pluck('name') }",
        ),
        "fileExists": Action(
            "File Exists",
            "Say whether a file is there.",
            (need("path"),),
            BOOLEAN,
            "- localStorage.fileExists: { path: notes/hello.txt }\n"
            "  as: isThere\n"
            "- return:\n"
            "    value: ${ vars.isThere }",
        ),
    },
    config_example="baseDirectory: ./storage",
)
