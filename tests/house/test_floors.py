"""Which floor may import which: the walls of the house, read from the imports of every module."""

import ast
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from tests.house.syntax import find_nodes, parse

PACKAGE = Path(__file__).parents[2] / "mockserver"

_ALL = {"msgspec"}  # every floor's classes
_TYPES = {"pydantic", "pydantic_core", "typing_extensions"}
_SERVED = {
    "core",
    "config",
    "wire",
    "state",
    "kinds",
    "dialects",
    "rules",
    "model",
    "cassettes",
    "delivery",
    "engine",
    "tokenizers",
    "media",
}
_CODINGS = {"brotli", "backports", "compression"}

# Each part of the house: the parts it may import, and the distributions from outside.
FLOORS: dict[str, tuple[set[str], set[str]]] = {
    "core": (set(), set()),
    "core/hosted_tools": (set(), {"pydantic_core"}),
    "wire": ({"core", "media"}, {"pydantic_core", "typing_extensions"}),
    "state": ({"core"}, {"redis"}),
    "config": ({"core"}, _TYPES | {"yaml", "regex"}),
    "tokenizers": ({"core", "config"}, {"tiktoken"}),
    "media": ({"core"}, set()),
    "kinds": ({"core", "config", "media"}, set()),
    "dialects": (
        {"core", "wire", "config", "kinds", "media"},
        _TYPES | {"jiter", "python_multipart", "jsonschema_rs"},
    ),
    "model": ({"core", "config"}, {"pydantic_core", "jsonschema_rs", "lark", "yaml"}),
    "rules": (
        {"core", "config", "kinds", "model"},
        _TYPES | {"minijinja", "regex", "ahocorasick_rs", "jmespath", "jsonschema_rs", "faker"},
    ),
    "cassettes": ({"core", "config", "kinds"}, _TYPES | {"yaml", "regex", "ahocorasick_rs"}),
    "delivery": ({"core"}, _TYPES),
    "delivery/connection": ({"core"}, {"starlette"}),
    "delivery/drive": ({"core"}, {"pydantic_core", "anyio", "starlette"}),
    "engine": ({"core", "config", "kinds", "rules", "model", "cassettes", "state", "media"}, _TYPES),
    "reports": ({"core", "config", "kinds", "rules", "engine", "cassettes"}, set()),
    "server": (
        _SERVED | {"reports"},
        _TYPES
        | {"starlette", "uvicorn", "websockets", "uvloop", "httptools", "anyio", "httpx2", "watchfiles"}
        | _CODINGS
        | {"prometheus_client"},
    ),
    "cli": (
        _SERVED | {"server", "reports", "testing"},
        {"click", "starlette", "uvicorn", "httpx", "anyio", "pydantic_core"},
    ),
    "testing": (_SERVED | {"server", "reports"}, {"starlette", "uvicorn", "httpx", "httpx2", "anyio", "openai"}),
    "pytest_plugin": ({"core", "config", "testing", "reports"}, {"pytest"}),
    "__init__": ({"core", "testing"}, set()),
    "__main__": ({"core", "cli"}, set()),
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


def offenders(package: Path) -> list[str]:
    """Every import that goes through a wall, as `file:line: what is wrong`."""
    found = (
        f"{path.relative_to(package.parent)}:{node.lineno}: {complaint}"
        for path in sorted(package.rglob("*.py"))
        for source in [path.read_text(encoding="utf-8")]
        for node, target in _imports(source)
        for complaint in _complaints(path.relative_to(package), target, at_top=node in parse(source).body)
    )
    return list(dict.fromkeys(found))


def circles(package: Path) -> list[str]:
    """In each folder, files or folders that import each other in a circle, even from within a function."""
    modules = {_dotted(path, package): path for path in package.rglob("*.py")}
    edges = [
        (name, target if target in modules else target.rpartition(".")[0])
        for name, path in modules.items()
        for _, target in _imports(path.read_text(encoding="utf-8"))
    ]
    folders = sorted({name.rpartition(".")[0] for name in modules} - {""})
    return [circle for folder in folders if (circle := _circle(folder, edges))]


def _dotted(path: Path, package: Path) -> str:
    return ".".join(path.relative_to(package.parent).with_suffix("").parts).removesuffix(".__init__")


def _circle(folder: str, edges: list[tuple[str, str]]) -> str:
    """The first circle of what stands in a folder; a folder in it counts as one."""
    before, within = f"{folder}.", defaultdict[str, set[str]](set)
    for one, other in edges:
        if one.startswith(before) and other.startswith(before):
            here, there = (name.removeprefix(before).partition(".")[0] for name in (one, other))
            within[here] |= {there} - {here}
    try:
        TopologicalSorter(_sorted(within)).prepare()
    except CycleError as error:
        return f"{folder}: {' -> '.join(reversed(error.args[1]))}"
    return ""


def _sorted(edges: Mapping[str, set[str]]) -> dict[str, list[str]]:
    return {name: sorted(edges[name]) for name in sorted(edges)}


def _imports(source: str) -> Iterator[tuple[ast.stmt, str]]:
    for node in find_nodes(source):
        if isinstance(node, ast.Import):
            yield from ((node, name.name) for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            # `from mockserver import core` and `from mockserver.dialects import azure` name a module last.
            yield from ((node, f"{module}.{name.name}") for name in node.names)


def _complaints(path: Path, target: str, *, at_top: bool) -> Iterator[str]:
    parts, place = target.split("."), path.with_suffix("").as_posix()
    here = path.with_suffix("").parts[0]
    inside, outside = FLOORS.get(place, FLOORS.get(here, (set(), set())))
    if target.startswith("."):
        yield f"write the import in full, not {target}"
    elif parts[0] != "mockserver":
        if parts[0] in CHANCE_AND_TIME and place != "core/seed":
            yield f"{parts[0]} may be imported in core/seed.py only"
        if parts[0] not in sys.stdlib_module_names | _ALL | outside:
            yield f"{here} may not import {parts[0]}"
        if parts[0] in SLOW and at_top:
            yield f"{parts[0]} is slow to import: import it where it is first needed"
    elif parts[1] in FLOORS and parts[1] != here and parts[1] not in inside:
        yield f"{here} may not import {parts[1]}"
    elif here == parts[1] == "dialects" and len(parts) > 3 and _is_dialect(parts[2]):
        dialect = path.with_suffix("").parts[1]
        if _is_dialect(dialect) and parts[2] not in {dialect, BODIES_OF.get(dialect)}:
            yield f"dialect {dialect} may not import dialect {parts[2]}"


def _is_dialect(name: str) -> bool:
    return not name.startswith("_")


def test_nobody_imports_through_a_wall() -> None:
    found = offenders(PACKAGE)
    assert not found, "\n" + "\n".join(found)


def test_nobody_imports_in_a_circle() -> None:
    assert circles(PACKAGE) == []


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
    assert circles(tmp_path / "mockserver") == ["mockserver: b -> c -> b", "mockserver.a: one -> two -> one"]


def test_every_part_of_the_house_has_its_floor() -> None:
    parts = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert parts <= set(FLOORS)


def test_planted_violations_are_found(tmp_path: Path) -> None:
    planted = {
        "core/call.py": "import yaml\nfrom mockserver.engine.rules import Rule, load\nimport random",
        "core/seed.py": "import random",
        "dialects/_parse.py": "from mockserver.core.call import Call",
        "dialects/azure.py": "from mockserver.dialects import Dialect\nfrom mockserver.dialects.openai import DIALECT",
        "engine/then.py": "from mockserver import delivery",
        "model/late.py": "import lark\ndef late():\n    import lark, starlette",
        "delivery/drive.py": "import anyio\nfrom . import script",
        "delivery/script.py": "import anyio.abc",
    }
    for name, source in planted.items():
        path = tmp_path / "mockserver" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, encoding="utf-8")
    assert offenders(tmp_path / "mockserver") == [
        "mockserver/core/call.py:1: core may not import yaml",
        "mockserver/core/call.py:2: core may not import engine",
        "mockserver/core/call.py:3: random may be imported in core/seed.py only",
        "mockserver/delivery/drive.py:2: write the import in full, not ..script",
        "mockserver/delivery/script.py:1: delivery may not import anyio",
        "mockserver/dialects/azure.py:2: dialect azure may not import dialect openai",
        "mockserver/engine/then.py:1: engine may not import delivery",
        "mockserver/model/late.py:1: lark is slow to import: import it where it is first needed",
        "mockserver/model/late.py:3: model may not import starlette",
    ]
