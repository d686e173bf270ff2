"""localStorage: files on the server, below one folder."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from bbops.base.model import Model
from bbops.base.names import env_name
from bbops.language.addons._base import AddonAction, AddonKind, Setting, may, need
from bbops.language.expressions.types import ANY, BOOLEAN, INTEGER, TEXT, list_of, map_of
from bbops.runtime.vendors._parts import read_base, read_path

_PATH = need("path", "text", "Below the base directory, such as photos/1.jpg", read=read_path)
_ENCODING = may(
    "encoding", "text", "utf8 if left out", options=("utf8", "base64", "binary", "buffer")
)


def check_base(text: str) -> str:
    """Return a base directory unchanged; refuse a path that leads outside."""
    if not env_name(text):
        try:
            read_base(text)
        except ValueError as error:
            raise PydanticCustomError("bad_value", "{message}", {"message": str(error)}) from None
    return text


class Config(Model):
    """Paths of the steps are below this folder, and may not leave it.

    `bbops dev` keeps it in the project's folder, ignored by git; a server in its state folder, or
    in a bucket; a draft has its own.
    """

    base_directory: Annotated[Setting, AfterValidator(check_base)] = Field(
        default="./storage", description="The folder of the files, relative to the project."
    )


ADDON = AddonKind(
    "Local Storage",
    "Files on the server, below one folder.",
    Config,
    {
        "saveFile": AddonAction(
            "Save File",
            "Write a file, with the folders it lies in, in the place of one that is there.",
            (
                _PATH,
                need(
                    "content",
                    "text binary map",
                    "Text in the encoding, bytes, or a file of this run such as an upload",
                    is_content=True,
                ),
                _ENCODING,
            ),
            map_of({"path": TEXT, "size": INTEGER}, "the file"),
            "- localStorage.saveFile: { path: notes/hello.txt, content: Hello }",
            repeat="safe",
        ),
        "readFile": AddonAction(
            "Read File",
            "Read a file as text, or as bytes.",
            (
                _PATH,
                _ENCODING,
            ),
            ANY,
            "- localStorage.readFile: { path: notes/hello.txt }\n"
            "  as: content\n"
            "- return:\n"
            "    value: ${ vars.content }",
            writes=False,
        ),
        "deleteFile": AddonAction(
            "Delete File",
            "Delete a file; one that is not there is fine.",
            (_PATH,),
            map_of({"path": TEXT}, "the file"),
            "- localStorage.deleteFile: { path: notes/hello.txt }",
        ),
        "listFiles": AddonAction(
            "List Files",
            "List the files of a folder.",
            (
                may(
                    "directory",
                    "text",
                    "The whole base directory if left out",
                    read=partial(read_path, is_folder=True),
                ),
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
            writes=False,
        ),
        "fileExists": AddonAction(
            "File Exists",
            "Say whether a file is there.",
            (_PATH,),
            BOOLEAN,
            "- localStorage.fileExists: { path: notes/hello.txt }\n"
            "  as: isThere\n"
            "- return:\n"
            "    value: ${ vars.isThere }",
            writes=False,
        ),
    },
    config_example="baseDirectory: ./storage",
)
