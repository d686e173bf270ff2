"""Recorded responses of gitlab.com can be read (source archive of PyPI's `ogr`)."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
import yaml

from bbops_server.forges.on_gitlab.rights import GitLabAccess
from bbops_server.forges.on_gitlab.shapes import GitLabNote, GitLabPull, GitLabStatus, GitLabUser

pytestmark = pytest.mark.long

OGR: Final = "ogr==0.61.1"
FOLDER: Final = "/tests/integration/gitlab/test_data/"
FORMS: Final[dict[str, Any]] = {
    r"GET .*/merge_requests/\d+": GitLabPull,
    r"POST .*/merge_requests": GitLabPull,
    r"PUT .*/merge_requests/\d+/merge": GitLabPull,
    r"GET .*/merge_requests\?.*": list[GitLabPull],
    r"GET .*/merge_requests/\d+/notes\?.*": list[GitLabNote],
    r"POST .*/merge_requests/\d+/notes": GitLabNote,
    r"GET .*/statuses(\?.*)?": list[GitLabStatus],
    r"POST .*/statuses/\w+": GitLabStatus,
    r"GET .*/user": GitLabUser,
    r"GET .*/projects/[^/?]+": GitLabAccess,
}
"""The form of the response by a pattern of the method and URL."""


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, Any]]:
    """Requests with the bodies of their responses."""
    folder = tmp_path_factory.mktemp("ogr")
    command = ("pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:", OGR)
    done = subprocess.run(
        [sys.executable, "-m", *command, "--dest", str(folder)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (archive,) = folder.glob("*.tar.gz")
    return [*read_archive(archive)]


def read_archive(archive: Path) -> Iterator[tuple[str, Any]]:
    """Yield the successful requests of all recordings."""
    with tarfile.open(archive) as files:
        for member in files.getmembers():
            if FOLDER in member.name and member.name.endswith(".yaml"):
                stream = files.extractfile(member)
                assert stream
                found = yaml.load(stream, yaml.CSafeLoader)
                yield from read_requests(found.get("requests.sessions", {}).get("send", {}))


def read_requests(sent: dict[str, dict[str, list[Any]]]) -> Iterator[tuple[str, Any]]:
    for method, urls in sent.items():
        for url, answers in urls.items():
            for answer in answers:
                if answer["output"]["status_code"] < 300:
                    yield f"{method} {url}", answer["output"]["_content"]


def test_recorded_responses_have_the_known_forms(recordings: list[tuple[str, Any]]) -> None:
    read = dict.fromkeys(FORMS, 0)
    for name, value in recordings:
        for pattern, form in FORMS.items():
            if re.fullmatch(pattern, name):
                msgspec.convert(value, form)
                read[pattern] += 1
    assert min(read.values()) > 0, read
    assert sum(read.values()) > 100
