"""Which floor may import which: the walls of the house, read from the imports of every module."""

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Set
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import NamedTuple

from tests.house.syntax import find_nodes, parse

PACKAGE = Path(__file__).parents[2] / "mockserver"

_ALL = {"msgspec"}  # every floor's classes


class Floor(NamedTuple):
    """What a part of the house may import: parts below it, and distributions from outside."""

    parts: Set[str] = frozenset()
    outside: Set[str] = frozenset()


# Each part of the house; all that its floor allows is imported there.
FLOORS = {
    "core": Floor(),
    "core/hosted_tools": Floor(outside={"pydantic_core"}),
    "wire": Floor(parts={"core", "media"}, outside={"pydantic_core"}),
    "state": Floor(parts={"core"}, outside={"redis"}),
    "config": Floor(parts={"core"}, outside={"pydantic", "pydantic_core", "yaml", "regex"}),
    "tokenizers": Floor(parts={"core", "config"}, outside={"tiktoken"}),
    "media": Floor(parts={"core"}),
    "kinds": Floor(parts={"core", "config", "media"}),
    "dialects": Floor(
        parts={"core", "wire", "config", "kinds", "media"},
        outside={"jiter", "python_multipart", "jsonschema_rs", "pydantic_core"},
    ),
    "model": Floor(parts={"core", "config"}, outside={"pydantic_core", "jsonschema_rs", "lark"}),
    "rules": Floor(
        parts={"core", "config", "kinds", "model"},
        outside={"minijinja", "regex", "ahocorasick_rs", "jmespath", "faker", "pydantic_core"},
    ),
    "cassettes": Floor(
        parts={"core", "config", "kinds"},
        outside={"yaml", "regex", "ahocorasick_rs", "pydantic", "typing_extensions"},
    ),
    "delivery": Floor(parts={"core"}),
    "delivery/connection": Floor(parts={"core"}, outside={"starlette"}),
    "engine": Floor(parts={"core", "config", "kinds", "rules", "model"}),
    "reports": Floor(parts={"core", "config", "kinds", "rules", "engine", "cassettes"}),
    "server": Floor(
        parts={
            "core",
            "config",
            "wire",
            "state",
            "kinds",
            "dialects",
            "rules",
            "cassettes",
            "delivery",
            "engine",
            "tokenizers",
            "media",
            "reports",
        },
        outside={
            "starlette",
            "uvicorn",
            "websockets",
            "httptools",
            "h2",
            "httpx2",
            "watchfiles",
            "pydantic_core",
            "brotli",
            "backports",
            "compression",
            "prometheus_client",
        },
    ),
    "cli": Floor(
        parts={
            "core",
            "config",
            "dialects",
            "rules",
            "cassettes",
            "delivery",
            "engine",
            "server",
            "reports",
            "testing",
        },
        outside={"click", "httpx2", "pydantic_core"},
    ),
    "testing": Floor(
        parts={"core", "config", "state", "dialects", "rules", "cassettes", "delivery", "engine", "server", "reports"},
        outside={"starlette", "httpx", "httpx2", "anyio", "openai"},
    ),
    "pytest_plugin": Floor(parts={"core", "config", "testing", "reports"}, outside={"pytest"}),
    "__init__": Floor(),
    "__main__": Floor(parts={"core", "cli"}),
}

# Dialects that carry the bodies of another, and may import it: each, and that other.
BODIES_OF = {"bedrock": "anthropic"}

CHANCE_AND_TIME = {"random", "time", "uuid", "secrets"}
SLOW = {
    "brotli",
    "faker",
    "prometheus_client",
    "httpx",
    "httpx2",
    "jsonschema_rs",
    "lark",
    "openai",
    "redis",
    "tiktoken",
}  # imported where they are first needed


def find_offenders(package: Path) -> list[str]:
    """Return every import that goes through a wall, as `file:line: what is wrong`."""
    found = (
        f"{path.relative_to(package.parent)}:{node.lineno}: {complaint}"
        for path in sorted(package.rglob("*.py"))
        for source in [path.read_text(encoding="utf-8")]
        for node, target in _find_imports(source)
        for complaint in _find_complaints(path.relative_to(package), target, at_top=node in parse(source).body)
    )
    return list(dict.fromkeys(found))


def find_circles(package: Path) -> list[str]:
    """Return files or folders of one folder that import each other in a circle, even from within a function."""
    modules = {_write_dotted(path, package): path for path in package.rglob("*.py")}
    edges = [
        (name, target if target in modules else target.rpartition(".")[0])
        for name, path in modules.items()
        for _, target in _find_imports(path.read_text(encoding="utf-8"))
    ]
    folders = sorted({name.rpartition(".")[0] for name in modules} - {""})
    return [circle for folder in folders if (circle := _find_circle(folder, edges))]


def _write_dotted(path: Path, package: Path) -> str:
    return ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__")


def _find_circle(folder: str, edges: list[tuple[str, str]]) -> str:
    """Return the first circle of what stands in a folder, in which a folder counts as one; empty without a circle."""
    before, within = f"{folder}.", defaultdict[str, set[str]](set)
    for one, other in edges:
        if one.startswith(before) and other.startswith(before):
            here, there = (name.removeprefix(before).partition(".")[0] for name in (one, other))
            within[here] |= {there} - {here}
    try:
        TopologicalSorter(_sort(within)).prepare()
    except CycleError as error:
        return f"{folder}: {' -> '.join(reversed(error.args[1]))}"
    return ""


def _sort(edges: Mapping[str, set[str]]) -> dict[str, list[str]]:
    return {name: sorted(edges[name]) for name in sorted(edges)}


def _find_imports(source: str) -> Iterator[tuple[ast.stmt, str]]:
    for node in find_nodes(source):
        if isinstance(node, ast.Import):
            yield from ((node, name.name) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            # `from mockserver import core` and `from mockserver.dialects import azure` name a module last.
            yield from ((node, f"{module}.{name.name}") for name in node.names)


def _find_room(path: Path) -> str:
    """Return the part of the house that a module belongs to, by its path in the package."""
    place = path.with_suffix("").as_posix()
    return place if place in FLOORS else path.with_suffix("").parts[0]


def _find_complaints(path: Path, target: str, *, at_top: bool) -> Iterator[str]:
    parts = target.split(".")
    place = path.with_suffix("").as_posix()
    here = path.with_suffix("").parts[0]
    floor = FLOORS.get(_find_room(path), Floor())
    if target.startswith("."):
        yield f"write the import in full, not {target}"
    elif parts[0] != "mockserver":
        if parts[0] in CHANCE_AND_TIME and place != "core/seed":
            yield f"{parts[0]} may be imported in core/seed.py only"
        if parts[0] not in sys.stdlib_module_names | _ALL | floor.outside:
            yield f"{here} may not import {parts[0]}"
        if parts[0] in SLOW and at_top:
            yield f"{parts[0]} is slow to import: import it where it is first needed"
    elif parts[1] in FLOORS and parts[1] != here and parts[1] not in floor.parts:
        yield f"{here} may not import {parts[1]}"
    elif here == parts[1] == "dialects" and len(parts) > 3 and _is_dialect(parts[2]):
        dialect = path.with_suffix("").parts[1]
        if _is_dialect(dialect) and parts[2] not in {dialect, BODIES_OF.get(dialect)}:
            yield f"dialect {dialect} may not import dialect {parts[2]}"


def _is_dialect(name: str) -> bool:
    return not name.startswith("_")


def test_nobody_imports_through_a_wall() -> None:
    found = find_offenders(PACKAGE)
    assert not found, "\n" + "\n".join(found)


def test_nobody_imports_in_a_circle() -> None:
    assert find_circles(PACKAGE) == []


def test_planted_circles_are_found(tmp_path: Path) -> None:
    planted = {
        "a/one.py": "from mockserver.a.two import x",
        "a/two.py": "def late():\n    from mockserver.a import one",
        "b/there.py": "from mockserver.c.back import y",
        "b/ground.py": "",
        "c/back.py": "from mockserver.b.ground import z",
        "d.py": "from mockserver.a.one import x",
    }
    for name, source in planted.items():
        path = tmp_path / "mockserver" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")
    assert find_circles(tmp_path / "mockserver") == ["mockserver: b -> c -> b", "mockserver.a: one -> two -> one"]


def find_unused_floors(package: Path, floors: Mapping[str, Floor]) -> list[str]:
    """Return what floors say in vain: parts that are not there, and imports that they allow and nobody makes."""
    imported = defaultdict[str, set[str]](set)
    for path in package.rglob("*.py"):
        for _, target in _find_imports(path.read_text(encoding="utf-8")):
            parts = target.split(".")
            imported[_find_room(path.relative_to(package))].add(parts[1] if parts[0] == "mockserver" else parts[0])
    there = [room for room in floors if (package / room).is_dir() or (package / f"{room}.py").exists()]
    found = [f"there is no {room}" for room in floors if room not in there]
    for room in there:
        allowed = floors[room].parts | floors[room].outside
        found += [f"{room} does not import {name}" for name in sorted(allowed - imported[room])]
    return found


def test_every_floor_is_that_of_a_room_which_needs_it() -> None:
    assert find_unused_floors(PACKAGE, FLOORS) == []


def test_planted_floors_are_found(tmp_path: Path) -> None:
    (tmp_path / "mockserver" / "core").mkdir(parents=True)
    (tmp_path / "mockserver" / "core" / "call.py").write_text("from mockserver.wire import chat\nimport yaml.nodes")
    floors = {"core": Floor({"wire", "state"}, {"yaml", "numpy"}), "attic/ghost": Floor(outside={"numpy"})}
    assert find_unused_floors(tmp_path / "mockserver", floors) == [
        "there is no attic/ghost",
        "core does not import numpy",
        "core does not import state",
    ]


def test_every_part_of_the_house_has_its_floor() -> None:
    parts = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert parts == {room for room in FLOORS if "/" not in room}


def test_planted_violations_are_found(tmp_path: Path) -> None:
    planted = {
        "core/call.py": "import yaml\nfrom mockserver.engine.rules import Rule, load\nimport random",
        "core/seed.py": "import random",
        "dialects/_parse.py": "from mockserver.core.call import Call",
        "dialects/azure.py": "from mockserver.dialects import Dialect\nfrom mockserver.dialects.openai import DIALECT",
        "engine/then.py": "from mockserver import delivery",
        "model/late.py": "import lark\ndef late():\n    import lark, starlette",
        "delivery/connection.py": "import starlette\nfrom . import script",
        "delivery/script.py": "import starlette.types",
    }
    for name, source in planted.items():
        path = tmp_path / "mockserver" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")
    assert find_offenders(tmp_path / "mockserver") == [
        "mockserver/core/call.py:1: core may not import yaml",
        "mockserver/core/call.py:2: core may not import engine",
        "mockserver/core/call.py:3: random may be imported in core/seed.py only",
        "mockserver/delivery/connection.py:2: write the import in full, not ..script",
        "mockserver/delivery/script.py:1: delivery may not import starlette",
        "mockserver/dialects/azure.py:2: dialect azure may not import dialect openai",
        "mockserver/engine/then.py:1: engine may not import delivery",
        "mockserver/model/late.py:1: lark is slow to import: import it where it is first needed",
        "mockserver/model/late.py:3: model may not import starlette",
    ]
