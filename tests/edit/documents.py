"""Documents of APIs: small ones in the shapes of four vendors, and hostile ones."""

from __future__ import annotations

import json
from typing import Any

INFO = {"title": "x", "version": "1"}


def document(**more: Any) -> dict[str, Any]:
    """Return a document with one operation, `POST /things`."""
    found: dict[str, Any] = {
        "openapi": "3.1.0", "info": INFO, "servers": [{"url": "https://api.example.com"}],
        "paths": {"/things": {"post": operation()}},
    }  # fmt: skip
    return {**found, **more}


def operation(body: Any = None, gives: Any = None, **more: Any) -> dict[str, Any]:
    """Return an operation that takes and gives JSON of these schemas."""
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    return {
        "requestBody": {"content": {"application/json": {"schema": body or schema}}},
        "responses": {"200": {"content": {"application/json": {"schema": gives or schema}}}},
        **more,
    }  # fmt: skip


def posting(body: Any = None, gives: Any = None, **more: Any) -> bytes:
    """Return a document whose operation takes or gives a schema."""
    paths = {"/things": {"post": operation(body, gives)}}
    return json.dumps(document(paths=paths, **more)).encode()


def schemas(**named: Any) -> dict[str, Any]:
    """Return components with these schemas."""
    return {"schemas": named}


def ref(name: str) -> dict[str, str]:
    """Return a reference to a schema."""
    return {"$ref": f"#/components/schemas/{name}"}


def nested(depth: int) -> str:
    """Return lists in lists, as JSON."""
    return "[" * depth + "]" * depth


def with_path(path: str, **more: Any) -> bytes:
    """Return a document with one path."""
    one = operation(operationId="makeThing", **more)
    return json.dumps(document(paths={path: {"post": one}})).encode()


def with_parameter(one: Any) -> bytes:
    """Return a document whose operation has a parameter."""
    paths = {"/things": {"post": operation(parameters=[one])}}
    return json.dumps(document(paths=paths)).encode()


def with_server(url: Any, **more: Any) -> bytes:
    """Return a document of a server."""
    return json.dumps(document(servers=[{"url": url, **more}])).encode()


YAML = "openapi: 3.0.0\ninfo: {title: x, version: '1'}\nservers: [{url: https://a.example.com}]\n"
A_TO_B = {"A": ref("B"), "B": ref("A")}
HOSTILE: dict[str, tuple[bytes, str]] = {
    "no bytes": (b"", "not a map"),
    "text": (b"hello", "not a map"),
    "a list": (b"[1, 2]", "not a map"),
    "cut JSON": (b'{"openapi": "3.0.0", "paths": {', "cannot be read as JSON"),
    "no UTF-8": (b'{"openapi": "\xff\xfe"}', "cannot be read as JSON"),
    "UTF-16": ("openapi: 3.0.0".encode("utf-16"), "UTF-16"),
    "a zip": (b"PK\x03\x04" + bytes(50), "cannot be read"),
    "HTML": (b"<html><body>not found</body></html>", "not a map"),
    "too large": (b"{" + b" " * 20_000_001, "20,000,002"),
    "large YAML": (YAML.encode() + b"# x\n" * 300_000, "1,048,576"),
    "Swagger 2": (b'{"swagger": "2.0", "paths": {}}', "3.0 to 3.2"),
    "OpenAPI 4": (b'{"openapi": "4.0.0"}', "3.0 to 3.2"),
    "a version that is a number": (b'{"openapi": 3.1}', "3.0 to 3.2"),
    "deep JSON": (b'{"openapi": "3.0.0", "paths": ' + nested(100_000).encode() + b"}", "deep"),
    "deep JSON in a schema": (
        b'{"openapi": "3.0.0", "servers": [{"url": "https://a.example.com"}], "paths": {"/things":'
        b' {"post": {"requestBody": ' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"}}}}", "deep",
    ),
    "YAML aliases": (YAML.encode() + b"a: &a [1]\nb: [*a, *a]\n", "anchor"),
    "a YAML bomb": (YAML.encode() + b"a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\n", "anchor"),
    "a YAML tag that is code": (YAML.encode() + b"a: !!python/object:os.system x\n", "tag"),
    "deep YAML": (YAML.encode() + b"a: " + nested(5_000).encode(), "nested"),
    "a YAML key twice": (YAML.encode() + b"paths: {}\npaths: {}\n", "twice"),
    "two YAML documents": (YAML.encode() + b"---\nopenapi: 3.0.0\n", "document"),
    "no paths": (json.dumps(document(paths={})).encode(), "no operation"),
    "paths that are a list": (json.dumps(document(paths=[1])).encode(), "no operation"),
    "another operation": (
        json.dumps(document(paths={"/others": {"post": operation()}})).encode(), "no operation",
    ),
    "an operation that is text": (
        json.dumps(document(paths={"/things": {"post": "run"}})).encode(), "no operation",
    ),
    "a remote reference": (posting({"$ref": "https://evil.com/a.json"}), "another document"),
    "a file reference": (posting({"$ref": "file:///etc/passwd"}), "another document"),
    "a file beside": (posting({"$ref": "../../secrets.yaml#/a"}), "another document"),
    "a reference to nothing": (posting(ref("None")), "is not there"),
    "a reference out of a list": (posting({"$ref": "#/servers/99"}), "is not there"),
    "a reference to itself": (posting(ref("A"), components=schemas(A=ref("A"))), "in a circle"),
    "references in a circle": (posting(ref("A"), components=schemas(**A_TO_B)), "in a circle"),
    "allOf in a circle": (
        posting(ref("A"), components=schemas(A={"allOf": [ref("A"), {"type": "object"}]})),
        "circle",
    ),
    "a path in a circle": (
        json.dumps(document(paths={"/things": {"$ref": "#/paths/~1things"}})).encode(), "circle",
    ),
    "a path of two dots": (with_path("/a/../b"), "is not a path"),
    "a path with a query": (with_path("/a?b=c"), "is not a path"),
    "a path to another host": (with_path("@evil.example.com/a"), "is not a path"),
    "a path with an expression": (with_path("/a/${ env.KEY }"), "is not a path"),
    "a path with a line break": (with_path("/a\r\nHost: evil"), "is not a path"),
    "a server of a file": (with_server("file:///etc/passwd"), "where the API is"),
    "a server with a password": (with_server("https://me:secret@a.example.com"), "not the address"),
    "a server with an expression": (with_server("https://$env.example.com"), "not the address"),
    "a server with a query": (with_server("https://a.example.com/?x=1"), "not the address"),
    "a server without default": (with_server("https://{region}.example.com"), "without a default"),
    "a server whose variable is code": (
        with_server("https://{r}.example.com", variables={"r": {"default": "a/../../@evil.com?"}}),
        "not the address",
    ),
    "no server": (json.dumps(document(servers=[])).encode(), "where the API is"),
    "a server that is a number": (with_server(7), "where the API is"),
    "a body of files only": (
        json.dumps(document(paths={"/things": {"post": {"requestBody": {
            "required": True, "content": {"multipart/form-data": {}}}}}})).encode(), "only",
    ),
    "a parameter without a name": (with_parameter({"in": "query"}), "without a name"),
    "a parameter in nowhere": (with_parameter({"name": "x", "in": "moon"}), "without a name"),
    "a cookie that is needed": (
        with_parameter({"name": "x", "in": "cookie", "required": True}), "no step can send",
    ),
    "a header that is code": (
        with_parameter({"name": "x\r\nHost: y", "in": "header", "required": True}), "no step can",
    ),
}  # fmt: skip
"""By what is wrong: (document, words of the refusal)."""

BENT: dict[str, bytes] = {
    "a bomb of properties": posting(ref("A0"), ref("A0"), components=schemas(**{
        f"A{at}": {"type": "object", "properties": {f"p{n}": ref(f"A{at + 1}") for n in range(60)}}
        for at in range(9)
    }, A9={"type": "string"})),
    "a bomb of alternatives": posting(None, ref("A0"), components=schemas(**{
        f"A{at}": {"oneOf": [ref(f"A{at + 1}")] * 8} for at in range(12)
    }, A12={"type": "string"})),
    "a bomb of allOf": posting(None, ref("A0"), components=schemas(**{
        f"A{at}": {"allOf": [ref(f"A{at + 1}")] * 3} for at in range(8)
    }, A8={"properties": {"a": {"type": "string"}}})),
    "a tree of itself": posting(None, ref("Tree"), components=schemas(
        Tree={"type": "object", "properties": {"left": ref("Tree"), "right": ref("Tree")}}
    )),
    "names that are code": posting({"type": "object", "properties": {
        name: {"type": "string"} for name in
        ("__class__", "import os", "${ env.KEY }", "a'); drop", "class", "from", "None", "a.b", "")
    }}),
    "a title that is YAML": with_path(
        "/things", summary="x: y\n- evil: ${ env.KEY }\n\u202e# *a &b !!python"
    ),
    "null everywhere": posting(None, {"type": ["null"], "enum": [None], "properties": None}),
    "schemas that are numbers": posting({"type": 7, "properties": {"a": 1, "b": []}}),
    "rules that are text": posting({"type": "object", "properties": {
        "a": {"type": "string", "minLength": "5", "maxLength": -1, "pattern": "(", "enum": "x"},
        "b": {"type": "integer", "minimum": 10**400, "maximum": 5},
        "c": {"type": "number", "minimum": 9, "maximum": 1},
    }}),
}  # fmt: skip
"""Documents that are odd and small enough: what cannot be said becomes `json`."""
