"""A name means one thing: no two modules, and no two public classes, are called the same."""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from tests.house.syntax import find_nodes

PACKAGE = Path(__file__).parents[2] / "mockserver"

# Packages whose modules have names from outside: of objects of providers, commands, paths of the control API.
GIVEN = ("wire", "dialects", "cli", "server/control")


def find_repeated(package: Path) -> list[str]:
    """List the names that several modules, but for those of GIVEN, or several public classes have."""
    paths = sorted(package.rglob("*.py"))
    modules = Counter(
        path.stem for path in paths if path.stem != "__init__" and not _is_given(path.relative_to(package))
    )
    classes = Counter(name for path in paths for name in _list_classes(path))
    found = [f"{count} modules are called {name}" for name, count in sorted(modules.items()) if count > 1]
    found += [f"{count} classes are called {name}" for name, count in sorted(classes.items()) if count > 1]
    return found


def _is_given(path: Path) -> bool:
    return any(path.is_relative_to(package) for package in GIVEN)


def _list_classes(path: Path) -> Iterator[str]:
    nodes = find_nodes(path.read_text(encoding="utf-8"))
    yield from (node.name for node in nodes if isinstance(node, ast.ClassDef) and not node.name.startswith("_"))


def test_each_name_has_one_meaning() -> None:
    found = find_repeated(PACKAGE)
    assert not found, "\n" + "\n".join(found)


def test_planted_repetitions_are_found(tmp_path: Path) -> None:
    planted = {
        "a/one.py": "class C: ...",
        "b/two.py": "class C: ...",
        "b/one.py": "class D: ...",
        "wire/one.py": "class D: ...\nclass _C: ...",
    }
    for name, source in planted.items():
        path = tmp_path / "mockserver" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source + "\n", encoding="utf-8")
    assert find_repeated(tmp_path / "mockserver") == [
        "2 modules are called one",
        "2 classes are called C",
        "2 classes are called D",
    ]
