"""objectStorage against a stand-in of S3 that checks signatures, and its vendor's own client."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from botocore.auth import S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from hypothesis import given
from hypothesis import strategies as st

from bbops.runtime.vendors._credentials import Signer
from tests.vendors.asking import Asked
from tests.vendors.faults import FAULTS
from tests.vendors.scenario import CANARY
from tests.vendors.stand_in import Answer, StandIn
from tests.vendors.storage import REGION, Storage

UPLOAD = """steps:
  - objectStorage.uploadFile: { filePath: "${ input.file.path }", key: KEY }
    as: stored
  - return: { value: "${ vars.stored }" }
"""
KEYS = ["a.txt", "a b/ü&=+?#'(1)*~.txt", "reports/2026/11/x.bin", "%2e%2e/y"]


def asked(storage: Storage, box: Path, steps: str, more: str = "", **env: str) -> Asked:
    return Asked(
        box, "objectStorage", storage.config, steps, env=storage.env | env, more=more
    )  # fmt: skip


def taking(step: str) -> str:
    return f"input: {{ it: string }}\nsteps:\n  - objectStorage.{step}\n"


def returning(step: str) -> str:
    return f"steps:\n  - {step}\n    as: it\n  - return: {{ value: '${{ vars.it }}' }}\n"


@pytest.mark.parametrize("key", KEYS)
def test_a_file_of_a_request_is_stored_under_its_key(
    storage: Storage, tmp_path: Path, key: str
) -> None:
    quoted = "'" + key.replace("'", "''") + "'"
    one = asked(
        storage, tmp_path, UPLOAD.replace("KEY", quoted), "files: { file: { maxSize: 1MB } }\n"
    )
    reply = one.send(b"hello", "text/plain")
    assert reply.status == 200, reply.body
    assert reply.json == {"key": key, "bucket": "files", "etag": "5d41402abc4b2a76b9719d911017c592"}
    assert storage.client().get_object(Bucket="files", Key=key)["Body"].read() == b"hello"


def test_files_are_listed_and_deleted(storage: Storage, tmp_path: Path) -> None:
    for name in ("1", "2", "3"):
        storage.client().put_object(Bucket="files", Key=f"list/{name}", Body=b"x" * int(name))
    steps = returning("objectStorage.listFiles: { prefix: list/, maxResults: 2 }")
    found = asked(storage, tmp_path, steps).ask().json
    assert [(one["key"], one["size"]) for one in found] == [("list/1", 1), ("list/2", 2)]
    assert datetime.fromisoformat(found[0]["lastModified"]).tzinfo is not None
    steps = returning("objectStorage.deleteFile: { key: list/1 }")
    deleting = asked(storage, tmp_path, steps)
    for _ in range(2):  # one that is not there is fine
        assert deleting.ask().json == {"key": "list/1", "bucket": "files"}
    listed = storage.client().list_objects_v2(Bucket="files", Prefix="list/")["Contents"]
    assert [one["Key"] for one in listed] == ["list/2", "list/3"]


def test_an_address_is_signed_as_the_vendors_own_client_signs_it(
    storage: Storage, tmp_path: Path
) -> None:
    steps = returning("objectStorage.getSignedUrl: { key: a b.txt, expiresIn: 60 }")
    project, vendor = asked(storage, tmp_path, steps), partial(_address, storage)
    before, url = vendor(), project.ask().json
    while (after := vendor()) != before:  # both hold the second in which they were made
        before, url = after, project.ask().json
    assert url == after


def _address(storage: Storage) -> str:
    """Return what botocore makes; it takes the time itself."""
    request = AWSRequest("GET", f"{storage.url}/files/a%20b.txt")
    credentials = Credentials(storage.key_id, storage.secret)
    S3SigV4QueryAuth(credentials, "s3", REGION, 60).add_auth(request)
    return str(request.url)


@given(st.text(st.characters(codec="utf-8", exclude_characters="\r\n\t"), min_size=1, max_size=40))
def test_any_key_is_signed_as_the_vendors_own_client_does(key: str) -> None:
    request = AWSRequest(
        "GET", f"https://files.s3.eu-central-1.amazonaws.com/{quote(key, safe='/~')}"
    )
    S3SigV4QueryAuth(Credentials("id", "secret"), "s3", "eu-central-1", 60).add_auth(request)
    stamp = parse_qs(urlsplit(request.url).query)["X-Amz-Date"][0]
    at = datetime.strptime(stamp, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    ours = Signer("id", "secret", "eu-central-1").address(request.url.partition("?")[0], 60, at)
    assert parse_qs(urlsplit(ours).query) == parse_qs(urlsplit(request.url).query)


def failure(reply: Any) -> str:
    assert (reply.status, reply.json["error"]["code"]) == (500, "serverError")
    return str(reply.json["error"]["detail"])


def test_a_wrong_secret_fails_in_the_vendors_words_without_the_secret(
    storage: Storage, tmp_path: Path
) -> None:
    steps = returning("objectStorage.listFiles: {}")
    detail = failure(asked(storage, tmp_path, steps, STORAGE_SECRET="not-the-secret").ask())
    assert "answered 403: The request signature we calculated does not match" in detail
    assert "not-the-secret" not in detail


@pytest.mark.parametrize("key", ["../other", "a/../b", "./a", "a/", "x" * 1_025])
def test_a_key_that_a_client_would_rewrite_is_refused(
    storage: Storage, tmp_path: Path, key: str
) -> None:
    steps = taking("getSignedUrl: { key: '${ input.it }' }")
    assert "a key has at most 1,024 bytes" in failure(
        asked(storage, tmp_path, steps).ask({"it": key})
    )


@pytest.mark.parametrize("bucket", ["a", "Files", "../x", "a..b", "files/x", "files?x"])
def test_what_is_no_name_of_a_bucket_is_refused(
    storage: Storage, tmp_path: Path, bucket: str
) -> None:
    steps = (
        'input: { b: string }\nsteps:\n  - objectStorage.listFiles: { bucket: "${ input.b }" }\n'
    )
    assert "the name of a bucket" in failure(asked(storage, tmp_path, steps).ask({"b": bucket}))


# ---- faults
CALLS = {
    "uploadFile": '{ filePath: "${ input.file.path }", key: a.txt }',
    "deleteFile": "{ key: a.txt }",
    "listFiles": "{}",
}
FILES = "files: { file: { maxSize: 1MB } }\n"


def failed(box: Path, url: str, step: str, timeout: str = "20s") -> tuple[Any, str]:
    """Return (code, status, message) of a step with three attempts, and the log."""
    steps = f"""steps:
  - try:
      - objectStorage.{step}: {CALLS[step]}
        retry: {{ attempts: 3, backoff: 1ms }}
        timeout: {timeout}
    catch:
      - log: {{ message: "${{ error.message }}" }}
      - return: {{ value: ['${{ error.code }}', '${{ error.status }}', '${{ error.message }}'] }}
  - return: {{ value: [none, 200, ''] }}
"""
    storage = Storage(url, CANARY, CANARY)
    project = asked(storage, box, steps, FILES)
    reply = project.send(b"hello", "text/plain")
    return reply.json, project.log


@pytest.mark.parametrize("step", CALLS)
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_the_storage_fails_the_step(tmp_path: Path, name: str, step: str) -> None:
    fault = FAULTS[name]
    with StandIn(fault.answer) as stand_in:
        timeout = "300ms" if name == "silent" else "20s"
        (code, status, message), log = failed(tmp_path, stand_in.url, step, timeout)
    expected = 6 if name == "moved" and step == "listFiles" else fault.asked[0]
    assert (f"{code} {status}", len(stand_in.asked)) == (fault.code, expected), message
    assert CANARY not in f"{message}{log}"
    assert "key=x" not in message


@pytest.mark.parametrize("body", [
    "", "{}", "<!DOCTYPE a><a/>", "<a>", "<a><Contents><Size>x</Size></Contents></a>",
    "<a><Contents><Size>1</Size><LastModified>noon</LastModified></Contents></a>",
])  # fmt: skip
def test_an_invalid_list_is_an_error(tmp_path: Path, body: str) -> None:
    answer = Answer(200, body, {"content-type": "application/xml"})
    with StandIn(answer) as stand_in:
        (code, _, message), _ = failed(tmp_path, stand_in.url, "listFiles")
    assert (code, message) == ("addon-answer", "the storage returned an invalid list")
