"""Runs of pytest within a test, with the plugin and little else."""

from collections.abc import Mapping

import openai  # noqa: F401  # what is imported here need not be imported anew by every run
import pytest

import mockserver.pytest_run
import mockserver.testing  # noqa: F401

APP = """
from openai import OpenAI

def greet(text="hello", client=None):
    if client is None:
        with OpenAI(max_retries=0) as client:
            return greet(text, client)
    messages = [{"role": "user", "content": text}]
    return client.chat.completions.create(model="gpt-4o", messages=messages).choices[0].message.content
"""
RULES = "rules: [{name: filed, then: {text: from the file}}]"
BROKEN = "rules:\n  - when: {last_usr: hi}\n    then: {text: a}\n"
QUICK = ("-p", "no:schemathesis", "-p", "no:hypothesispytest", "-p", "no:cacheprovider")
INI = {"pythonpath": ".", "asyncio_default_fixture_loop_scope": "function", "asyncio_mode": "auto"}


def ini(pytester: pytest.Pytester, **more: str) -> None:
    """Write the ini file, with more lines than every run has."""
    pytester.makeini("\n".join(["[pytest]", *(f"{name} = {value}" for name, value in {**INI, **more}.items())]))


def ran(
    pytester: pytest.Pytester, tests: str, *options: str, files: Mapping[str, str] | None = None
) -> pytest.RunResult:
    """What comes of tests, in this process; `files` stand beside theirs, which is `test_it.py`."""
    for name, text in {"app.py": APP, "test_it.py": f"from app import greet\n{tests}", **(files or {})}.items():
        path = pytester.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    if not (pytester.path / "tox.ini").exists():
        ini(pytester)
    return pytester.runpytest_inprocess(*QUICK, *options)
