"""Requests as curl, TypeScript and Python: they run, and hold no secrets."""

from __future__ import annotations

import ast
import json
import shlex
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bbops.review.contract.form_requests import Credential, FormPart, OutgoingRequest
from bbops.review.contract.snippets import (
    without_secrets,
    write_curl,
    write_python,
    write_typescript,
)

URL = "http://127.0.0.1:8000"
MEAN = 'it\'s "$HOME" `id` $(id) \\ \n ! é'
JSON = ("content-type", "application/json")


def request(body: str = "", **more: object) -> OutgoingRequest:
    return OutgoingRequest("POST", "/notes", body=body.encode(), headers=(JSON,), **more)  # type: ignore[arg-type]


def words(command: str) -> list[str]:
    """Return the arguments as a POSIX shell passes them."""
    shown = subprocess.run(
        ["sh", "-c", f"curl() {{ printf '%s\\0' \"$@\"; }}\n{command}"],
        capture_output=True, check=True, env={"TOKEN": "t0", "HOME": "/nowhere"},
    )  # fmt: skip
    return shown.stdout.decode().split("\0")[:-1]


def test_shell_passes_arguments_as_they_are() -> None:
    command = write_curl(request(MEAN, query=(("q", MEAN),)), URL)
    arguments = words(command)
    assert arguments[-2:] == ["--data-raw", MEAN]
    assert arguments[:3] == ["-X", "POST", f"{URL}{request(query=(('q', MEAN),)).target}"]


@given(st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1))
def test_curl_quotes_every_body(text: str) -> None:
    assert shlex.split(write_curl(request(text), URL).replace("\\\n", ""))[-1] == text


@given(st.text(st.characters(codec="utf-8"), min_size=1))
def test_python_is_valid_for_every_body(text: str) -> None:
    tree = ast.parse(write_python(request(text), URL))
    assert text in [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]


def test_credential_is_a_variable() -> None:
    credential = Credential("header", "authorization", "Bearer s3cr3t-token")
    shown = without_secrets(request("{}"), credential)
    curl, script, python = (
        write(shown, URL) for write in (write_curl, write_typescript, write_python)
    )
    assert "authorization: Bearer t0" in words(curl)
    assert '"authorization": "Bearer " + process.env.TOKEN' in script
    assert "'Bearer ' + os.environ[\"TOKEN\"]" in python
    assert "s3cr3t" not in curl + script + python


@pytest.mark.parametrize("place", ["query", "cookie"])
def test_credential_elsewhere_is_a_variable_too(place: str) -> None:
    credential = Credential(place, "api_key", "s3cr3t-token")  # type: ignore[arg-type]
    curl = write_curl(without_secrets(request(), credential), URL)
    assert "s3cr3t" not in curl
    assert any("api_key=t0" in argument for argument in words(curl))


def test_typed_secrets_are_masked() -> None:
    body = json.dumps({"email": "a@b.co", "password": "s3cr3t", "inner": {"apiKey": "s3cr3t"}})
    headers = (JSON, ("x-api-key", "s3cr3t"))
    shown = without_secrets(
        OutgoingRequest("POST", "/in", (("token", "s3cr3t"),), headers, body.encode()), None
    )
    text = "".join(write(shown, URL) for write in (write_curl, write_typescript, write_python))
    assert "s3cr3t" not in text
    assert "a@b.co" in text


def test_files_are_named_but_not_shown() -> None:
    parts = (FormPart("title", b"Milk"), FormPart("photo", b"\x89PNG", 'a "b";c.png', "image/png"))
    sent = OutgoingRequest("POST", "/photos", body=b"...", parts=parts)
    arguments = words(write_curl(without_secrets(sent, None), URL))
    assert arguments[-4:] == [
        "--form-string", "title=Milk", "-F", 'photo=@"a \\"b\\";c.png"',
    ]  # fmt: skip
    ast.parse(write_python(without_secrets(sent, None), URL))
