"""Runs of pytest within a test, with the plugin and little else."""

import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest

from tests.house.warm import import_all

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
LIGHT = ("-p", "no:schemathesis", "-p", "no:hypothesispytest", "-p", "no:faker", "-p", "no:cacheprovider")
QUICK = (*LIGHT, "-p", "no:timeout")  # every worker would import them
INI = {"pythonpath": ".", "asyncio_default_fixture_loop_scope": "function", "asyncio_mode": "auto"}

import_all()  # what a run within a test imports is forgotten at its end, and would be other classes in the next one


def ini(pytester: pytest.Pytester, **more: str) -> None:
    pytester.makeini("\n".join(["[pytest]", *(f"{name} = {value}" for name, value in {**INI, **more}.items())]))


def run_test_file(
    pytester: pytest.Pytester, tests: str, *options: str, files: Mapping[str, str] | None = None
) -> pytest.RunResult:
    """What comes of tests, in this process; `files` stand beside theirs, which is `test_it.py`."""
    for name, text in {"app.py": APP, "test_it.py": f"from app import greet\n{tests}", **(files or {})}.items():
        path = pytester.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    if not (pytester.path / "tox.ini").exists():
        ini(pytester)
    return run_inside(pytester, *options)


def run_inside(pytester: pytest.Pytester, *options: str) -> pytest.RunResult:
    keeper = Keeper()
    result = pytester.runpytest_inprocess(*QUICK, *options, plugins=[keeper])
    keeper.put_back(pytester.path)
    return result


class Keeper:
    """A plugin that remembers what a run has imported. pytester would have it imported anew, and classes be others."""

    modules: Mapping[str, ModuleType] = {}

    def pytest_unconfigure(self) -> None:
        self.modules = dict(sys.modules)

    def put_back(self, folder: Path) -> None:
        for name, module in self.modules.items():
            if not str(getattr(module, "__file__", None) or folder).startswith(str(folder)):
                sys.modules.setdefault(name, module)
