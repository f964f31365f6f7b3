"""The pinned distributions: complete, hashed, and tied to no address."""

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FRAMEWORKS = ROOT / "tests" / "frameworks" / "requirements.in"
_PINNED = re.compile(r"^([a-z0-9.-]+)==\S+", re.MULTILINE)
_NAME = re.compile(r"^[A-Za-z0-9._-]+")


def normalize(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def list_for_project() -> Iterator[str]:
    """Yield what mockserver needs, with all its extras."""
    yield from PROJECT["dependencies"]
    for extra in PROJECT["optional-dependencies"].values():
        yield from extra


def list_for_frameworks() -> Iterator[str]:
    """Yield what the tests with frameworks need."""
    yield from PROJECT["dependencies"]
    yield from (line for line in FRAMEWORKS.read_text(encoding="utf-8").splitlines() if not line.startswith("#"))


def list_for_server() -> Iterator[str]:
    """Yield what a server needs, shared state and metrics included."""
    yield from PROJECT["dependencies"]
    for extra in ("redis", "metrics"):
        yield from PROJECT["optional-dependencies"][extra]


def list_previous() -> Iterator[str]:
    """Yield what has another version for some of the tests."""
    yield from ("anthropic", "pytest")


LOCKS = {
    "constraints.txt": list_for_project,
    "constraints-serve.txt": list_for_server,
    "tests/frameworks/constraints.txt": list_for_frameworks,
    "tests/previous.txt": list_previous,
}


@pytest.mark.parametrize("lock", LOCKS)
def test_every_dependency_is_pinned_with_hashes(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    blocks = re.split(r"^(?=[a-z])", text, flags=re.MULTILINE)[1:]
    pinned = {found[1] for block in blocks if (found := _PINNED.match(block)) and "--hash=sha256:" in block}
    assert len(pinned) == len(blocks)
    missing = {normalize(found[0]) for requirement in LOCKS[lock]() if (found := _NAME.match(requirement))} - pinned
    assert not missing, f"not in {lock}, run `make lock` or `make lock-frameworks`: {', '.join(sorted(missing))}"


@pytest.mark.parametrize("lock", LOCKS)
def test_constraints_name_no_address(lock: str) -> None:
    lines = (ROOT / lock).read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if re.search(r"://|^\s*-(?!-hash=)|@ ", line) and not line.startswith("#")] == []


def test_whatever_is_imported_is_a_dependency() -> None:
    """What only tests need is installed beside: a library of theirs is easily taken for one of ours."""
    runtime = [
        *PROJECT["dependencies"],
        *(each for extra in EXTRAS for each in PROJECT["optional-dependencies"][extra]),
    ]
    declared = {normalize(found[0]) for each in runtime if (found := _NAME.match(each))} | {"pytest"}
    providers = packages_distributions()
    imported = {name for module in (ROOT / "mockserver").rglob("*.py") for name in list_imported(module)}
    missing = {
        name
        for name in imported - sys.stdlib_module_names - BROUGHT.keys() - {"mockserver"}
        if declared.isdisjoint(map(normalize, providers.get(name, ())))
    }
    assert missing == set()


EXTRAS = ("tokens", "redis", "metrics")
BROUGHT = {  # by something else
    "compression": "the standard library since 3.14",
    "openai": "whoever asks for its client",
    "pydantic_core": "pydantic",
}


def list_imported(path: Path) -> Iterator[str]:
    """Yield the top-level names of the modules that a file imports, but not those for type checkers alone."""
    waiting: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while waiting:
        match node := waiting.pop():
            case ast.If(test=ast.Name("TYPE_CHECKING")):
                waiting += node.orelse
                continue
            case ast.Import():
                yield from (each.name.partition(".")[0] for each in node.names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module.partition(".")[0]
        waiting += ast.iter_child_nodes(node)
