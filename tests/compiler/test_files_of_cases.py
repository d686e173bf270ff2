"""Files that the cases of a project's tests upload."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import with_function
from tests.support.cases import bbops_test, write

FUNCTION = """input: { title: string, n?: integer }
steps:
  - if: input.title == 'back'
    then:
      - return: { file: "${ input.picture.path }" }
  - return: { value: "${ input }" }
"""
TEST = """endpoint: run
cases:
  - name: a picture arrives as a request brings it
    input: { title: Milk, n: 5 }
    files:
      picture: { name: a.png, base64: iVBORw0KGgoAAAANSUhEUg== }
    expect:
      status: 200
      value: { title: Milk, n: 5, picture: { name: a.png, size: 16, contentType: image/png } }

  - name: a text comes back as the answer
    input: { title: back }
    files:
      picture: { name: note.txt, text: hello }
    expect:
      value: hello
      check: headers['content-type'] == 'text/plain'

  - name: without it the request is wrong
    input: { title: Milk }
    files:
      more: { name: b.txt, text: x }
    expect: { status: 400 }

  - name: it may be too large
    input: { title: Milk }
    files:
      picture: { name: b.txt, text: LONG }
    expect: { status: 413 }
"""
TEST = TEST.replace("LONG", "x" * 1100)


def project(folder: Path, test: str) -> Path:
    files = with_function(FUNCTION)
    files["endpoints/run.yaml"] += (
        "files:\n  picture: { maxSize: 1KB }\n  more?: { maxSize: 1KB }\n"
    )
    files["tests/run.yaml"] = test
    return write(folder, files)


def test_a_case_uploads_files_beside_its_input(tmp_path: Path) -> None:
    result = bbops_test(project(tmp_path, TEST))
    assert result.exit_code == 0, result.output


def test_a_file_that_the_endpoint_does_not_take_is_a_mistake(tmp_path: Path) -> None:
    result = bbops_test(project(tmp_path, TEST.replace("      more:", "      mor:")))
    assert "takes no file 'mor'" in result.output
    assert "did you mean 'more'" in result.output


def test_base64_that_is_none_is_a_mistake(tmp_path: Path) -> None:
    result = bbops_test(project(tmp_path, TEST.replace("iVBORw0KGgo", "iVBORw0KGg*")))
    assert "tests/run.yaml:6:39: error: expected base64" in result.output


def test_a_function_takes_no_files(tmp_path: Path) -> None:
    text = TEST.replace("endpoint: run", "function: run")
    assert "a function takes no file 'picture'" in bbops_test(project(tmp_path, text)).output
