"""objectStorage, in the shapes of Amazon S3, which most vendors of storage speak."""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from urllib.parse import quote
from xml.etree import ElementTree as ET

from bbops.base.host import HttpResponse
from bbops.runtime.values.failures import FlowError
from bbops.runtime.values.file_types import HEAD_BYTES, content_type
from bbops.runtime.values.outside import Refusal
from bbops.runtime.vendors._credentials import Signer, query_of
from bbops.runtime.vendors._work import AddonFailure, Work

_LASTS_SECONDS: Final = 3_600
_MOST_RESULTS: Final = 1_000
_MOST_KEY: Final = 1_024
_BUCKET: Final = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]").fullmatch
_PAGE: Final = (b"<html", b"<!doctype html")
_INVALID: Final = "the storage returned an invalid list"
_SPACE: Final = re.compile(r"\{[^}]*\}")
_names: Final = mimetypes.MimeTypes()


async def upload_file(work: Work, given: Mapping[str, Any]) -> Any:
    """Store a file of the run under a key."""
    data = await work.read(given["filePath"])
    key, bucket = given["key"], _bucket(work, given)
    declared = given.get("contentType") or content_type(
        data[:HEAD_BYTES], _names.guess_type(key)[0] or ""
    )
    answer = await _ask(work, "PUT", bucket, key, body=data, more={"content-type": declared})
    return {"key": key, "bucket": bucket, "etag": _etag(answer.headers.get("etag"))}


async def get_signed_url(work: Work, given: Mapping[str, Any]) -> Any:
    """Make an address under which anybody can read a file for a time."""
    url = _url(work, _bucket(work, given), given["key"])
    seconds = given.get("expiresIn", _LASTS_SECONDS)
    return _signer(work).address(url, seconds, work.host.clock.now())


async def delete_file(work: Work, given: Mapping[str, Any]) -> Any:
    """Delete a file."""
    bucket = _bucket(work, given)
    await _ask(work, "DELETE", bucket, given["key"])
    return {"key": given["key"], "bucket": bucket}


async def list_files(work: Work, given: Mapping[str, Any]) -> Any:
    """List the files whose keys begin with a text."""
    most = given.get("maxResults", _MOST_RESULTS)
    query = {"list-type": "2", "max-keys": str(most), "prefix": given.get("prefix", "")}
    answer = await _ask(work, "GET", _bucket(work, given), "", query=query)
    try:
        return [_file(one) for one in _read(answer.body).iter("Contents")]
    except ValueError:  # a size or a time
        raise AddonFailure("addon-answer", _INVALID) from None


async def _ask(
    work: Work, method: str, bucket: str, key: str, *, query: Mapping[str, str] | None = None,
    body: bytes = b"", more: Mapping[str, str] | None = None,
) -> HttpResponse:  # fmt: skip
    url, query = _url(work, bucket, key), query or {}
    now = work.host.clock.now()
    headers = _signer(work).headers(method, url, query, body, now, more or {})
    answer = await work.send(method, url + ("?" + query_of(query) if query else ""), headers, body)
    if not 200 <= answer.status <= 299:
        raise work.failure(url, answer, _refusal(answer.body))
    if answer.body[:100].lstrip().lower().startswith(_PAGE):
        raise AddonFailure("addon-answer", "the storage returned a page of HTML")
    return answer


def _signer(work: Work) -> Signer:
    return Signer(
        work.setting("accessKeyId"), work.setting("secretAccessKey"), work.setting("region")
    )


def _bucket(work: Work, given: Mapping[str, Any]) -> str:
    bucket: str = given.get("bucket") or work.setting("bucket")
    if not _BUCKET(bucket) or ".." in bucket:
        raise FlowError("the name of a bucket has 3 to 63 of a-z, 0-9, '.' and '-'")
    return bucket


def _url(work: Work, bucket: str, key: str) -> str:
    """Return where a file is: by the bucket's name at Amazon, by its path elsewhere."""
    parts = key.split("/")
    if len(key.encode()) > _MOST_KEY or {".", ".."} & set(parts) or (key and not parts[-1]):
        raise FlowError("a key has at most 1,024 bytes, and no part that is '.' or '..'")
    path = quote(key, safe="/~")
    endpoint = work.config.get("endpoint")
    if endpoint:
        return f"{endpoint.rstrip('/')}/{bucket}/{path}" if path else f"{endpoint}/{bucket}"
    host = f"s3.{work.setting('region')}.amazonaws.com"
    if "." in bucket:  # a certificate is good for one name before the host
        return f"https://{host}/{bucket}/{path}"
    return f"https://{bucket}.{host}/{path}"


def _read(body: bytes) -> ET.Element:
    """Return XML without the names of its name space."""
    if b"<!DOCTYPE" in body:
        raise AddonFailure("addon-answer", _INVALID)
    try:
        root = ET.fromstring(body)  # noqa: S314 - without a DTD nothing can be expanded
    except ET.ParseError:
        raise AddonFailure("addon-answer", _INVALID) from None
    for one in root.iter():
        one.tag = _SPACE.sub("", one.tag)
    return root


def _file(one: ET.Element) -> dict[str, Any]:
    return {
        "key": one.findtext("Key", ""), "size": int(one.findtext("Size", "0")),
        "lastModified": datetime.fromisoformat(one.findtext("LastModified", "")),
        "etag": _etag(one.findtext("ETag")),
    }  # fmt: skip


def _etag(text: str | None) -> str | None:
    return text.strip('"') if text else None


def _refusal(body: bytes) -> Refusal:
    """Return what an error says; never the signature that it may repeat."""
    try:
        found = _read(body[:20_000])
    except AddonFailure:
        return Refusal()
    return Refusal(found.findtext("Message", ""), found.findtext("Code"))


async def probe(work: Work) -> str:
    """List no file of the bucket."""
    await list_files(work, {"maxResults": 1})
    return work.setting("bucket")


STEPS: Final = {
    "uploadFile": upload_file,
    "getSignedUrl": get_signed_url,
    "deleteFile": delete_file,
    "listFiles": list_files,
}
PROBE: Final = probe
