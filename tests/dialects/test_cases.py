"""Every file under cases/ is a test: rules, a request, and the status, headers and body (or frames) it must get.

`pytest tests/dialects/test_cases.py --update` writes what comes out into the files; review it by diff.
"""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.kit.local import Answered, local

CASES = sorted((Path(__file__).parent / "cases").glob("*/*.yaml"))
MOUNTS = {"azure": "/azure", "azure_openai": "/azure-openai/openai"}
CHATS = {  # where a case asks that names no path
    "azure": "/chat/completions?api-version=2024-05-01-preview",
    "azure_openai": "/deployments/gpt-4o/chat/completions?api-version=2024-10-21",
}


@pytest.mark.parametrize("file", CASES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_case(file: Path, update: bool) -> None:
    case = yaml.safe_load(file.read_text())
    answered = _ask(file.parent.name, case)
    actual = _seen(answered, case.get("expect", {}).get("headers", {}))
    if update:
        case["expect"] = actual
        file.write_text(_written(case))
    assert actual == case.get("expect"), f"{file.name}: {case['about']}"


def test_there_are_cases() -> None:
    assert len(CASES) >= 40


def _ask(dialect: str, case: dict[str, Any]) -> Answered:
    request = case["request"]
    path = MOUNTS.get(dialect, f"/{dialect}/v1") + request.get("path", CHATS.get(dialect, "/chat/completions"))
    rules = _written({"version": 1, "rules": case.get("rules", [])})
    server = local(rules, **case.get("settings", {}))
    body = request["raw"].encode() if "raw" in request else request.get("body")
    return server.ask(path, body, headers=request.get("headers"), method=request.get("method", "POST"))


def _seen(answered: Answered, headers: dict[str, str]) -> dict[str, Any]:
    seen: dict[str, Any] = {"status": answered.status}
    if headers:
        seen["headers"] = {name: answered.headers.get(name) for name in headers}
    if answered.headers["content-type"].startswith("text/event-stream"):
        return seen | {
            "frames": [f if isinstance(f, str) else json.dumps(f, ensure_ascii=False) for f in answered.frames]
        }
    return seen | {"json": answered.json}


def _written(case: dict[str, Any]) -> str:
    return yaml.safe_dump(case, sort_keys=False, allow_unicode=True, width=4000)
