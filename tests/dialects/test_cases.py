"""Every case under cases/ is a test: rules, a request, and the status, headers and body (or frames) it must get.

`pytest tests/dialects/test_cases.py --update` writes what comes out into the files; review it by diff.
"""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from mockserver.core.http import is_stream_type
from mockserver.dialects import discover_all
from tests.dialects.case_files import FILES, Case, all_cases, frames_text, read, written
from tests.kit.local import Answered, local

CASES = list(all_cases())


@pytest.mark.parametrize("case", CASES, ids=str)
def test_case(case: Case, update: bool) -> None:
    server = local(case.rules, **case.settings)
    answered = server.ask(case.path, case.body, headers=case.headers, method=case.method)
    actual = _seen(answered, case.expected.get("headers", {}))
    if update and json.dumps(actual) != json.dumps(case.expected):
        case.content["expect"][case.dialect] = actual
        _write(case.file)
    assert actual == case.expected, f"{case.file.name}: {case.content['about']}"
    assert json.dumps(actual) == json.dumps(case.expected), "only the order of keys or a type of number differs"


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_layout(file: Path, update: bool) -> None:
    if update:
        _write(file)
    assert file.read_text(encoding="utf-8") == written(read(file)), "run this test with --update"


def test_every_dialect_and_host_has_cases_each_with_a_name_of_its_own() -> None:
    assert {case.dialect for case in CASES} == set(discover_all())
    assert [name for name, count in Counter(map(str, CASES)).items() if count > 1] == []


def _seen(answered: Answered, headers: dict[str, str]) -> dict[str, Any]:
    seen: dict[str, Any] = {"status": answered.status}
    if headers:
        seen["headers"] = {name: answered.headers.get(name) for name in headers}
    if is_stream_type(answered.headers.get("content-type", "")):
        return seen | {"frames": frames_text(answered.frames)}
    return seen | ({"json": answered.json} if answered.body else {})


def _write(file: Path) -> None:
    assert "PYTEST_XDIST_WORKER" not in os.environ, "--update writes files that workers share: run it without -n"
    text = written(read(file))
    if file.read_text(encoding="utf-8") != text:
        file.write_text(text, encoding="utf-8")
