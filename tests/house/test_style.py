"""Habits that a reader relies on: docstrings, plain names, nothing left undone, no test left out."""

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.house.syntax import find_nodes, parse

ROOT = Path(__file__).parents[2]

_VAGUE = {"manager", "helper", "helpers", "util", "utils", "misc", "common", "stuff"}
_UNDONE = re.compile(r"\b(?:T[O]DO|F[I]XME|X[X]X|H[A]CK)\b|^(?:<{7}|>{7}) ")  # or of a merge
_LEFT_OUT = {"skip", "skipif", "skipIf", "skipUnless", "skipTest", "xfail", "importorskip"}
_WORDS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")

Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
Check = Callable[[Path, str], Iterator[str]]


def find_unintroduced(path: Path, source: str) -> Iterator[str]:
    """Yield modules without a docstring."""
    tree = parse(source)
    if tree.body and not ast.get_docstring(tree):
        yield "1: the module has no docstring"


def find_undocumented(path: Path, source: str) -> Iterator[str]:
    """Yield public names without a docstring; the fields of a TypedDict say what it is."""
    for name, node in _find_public(parse(source)):
        if not ast.get_docstring(node):
            yield f"{node.lineno}: {name} has no docstring"


def _find_public(node: ast.Module | ast.ClassDef, within: str = "") -> Iterator[tuple[str, Definition]]:
    for inner in node.body:
        if isinstance(inner, Definition) and not inner.name.startswith("_") and not _is_excused(inner):
            yield within + inner.name, inner
            if isinstance(inner, ast.ClassDef):
                yield from _find_public(inner, f"{inner.name}.")


def _is_excused(node: Definition) -> bool:
    """Return whether a name is a TypedDict, or documented where its decorator says that it comes from."""
    if isinstance(node, ast.ClassDef) and any(
        isinstance(base, ast.Name) and base.id == "TypedDict" for base in node.bases
    ):
        return True
    return any(isinstance(mark, ast.Name) and mark.id in ("override", "overload") for mark in node.decorator_list)


def find_vague(path: Path, source: str) -> Iterator[str]:
    """Yield modules, classes and functions whose names say nothing."""
    if not any(word in f"{path.stem} {source}".lower() for word in _VAGUE):
        return  # to parse everything would take seconds
    named = [(1, path.stem)]
    named += [(node.lineno, node.name) for node in find_nodes(source) if isinstance(node, Definition)]
    for line, name in named:
        if words := _VAGUE & {word.lower() for word in _WORDS.findall(name)}:
            yield f'{line}: {name}: "{min(words)}" says nothing'


def find_undone(path: Path, source: str) -> Iterator[str]:
    """Yield notes of work that was left for later."""
    for number, line in enumerate(source.splitlines(), 1):
        if _UNDONE.search(line):
            yield f"{number}: left undone: {line.strip()}"


def find_left_out(path: Path, source: str) -> Iterator[str]:
    """Yield tests that may not run."""
    if not any(word in source for word in _LEFT_OUT):
        return
    for node in find_nodes(source):
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        if name in _LEFT_OUT:
            yield f"{node.lineno}: {name}"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("check", "folders"),
    [
        (find_unintroduced, ("mockserver",)),
        (
            find_undocumented,
            ("mockserver/testing", "mockserver/pytest_plugin"),
        ),  # what users import and see in their editors
        (find_vague, ("mockserver", "tests", "benchmarks", "examples")),
        (find_undone, ("mockserver", "tests", "benchmarks", "docs", "examples")),
        (find_left_out, ("tests",)),
    ],
)
def test_habits_are_kept(check: Check, folders: tuple[str, ...]) -> None:
    kinds = (".py", ".md", ".yaml", ".html", ".js", ".css") if check is find_undone else (".py",)
    found = [
        f"{path.relative_to(ROOT)}:{complaint}"
        for folder in folders
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in kinds
        for complaint in check(path, path.read_text(encoding="utf-8"))
    ]
    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("check", "planted", "found"),
    [
        (find_unintroduced, "x = 1", ["1: the module has no docstring"]),
        (find_unintroduced, "", []),
        (
            find_undocumented,
            '"""M."""\nclass A:\n    """A."""\n    def b(self): ...\n    def _c(self): ...\ndef d(): ...',
            ["4: A.b has no docstring", "6: d has no docstring"],
        ),
        (
            find_undocumented,
            '"""M."""\nclass Usage(TypedDict):\n    tokens: int\nclass E(Exception): ...',
            ["4: E has no"],
        ),
        (find_vague, "class RuleManager: ...\ndef parse_utils(): ...", ["1: RuleManager", "2: parse_utils"]),
        (find_vague, "class Commonplace: ...\ndef utility(): ...", []),
        (find_undone, "x = 1  # TO" + "DO: y", ["1: left undone: x = 1"]),
        (find_undone, "a\n<<<<<<" + "< HEAD", ["2: left undone: "]),
        (
            find_left_out,
            "import pytest\n@pytest.mark.skipif(True)\ndef test(): pytest.skip('no')",
            ["2: skipif", "3: skip"],
        ),
    ],
)
def test_planted_offences_are_found(check: Check, planted: str, found: list[str]) -> None:
    told = list(check(Path("planted.py"), planted))
    assert [line[: len(start)] for line, start in zip(told, found, strict=True)] == found
