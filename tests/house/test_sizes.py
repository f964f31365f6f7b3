"""How large functions, classes and files may grow. An exception says why beside itself: `# size: <reason>`."""

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]

FILE, CLASS, FUNCTION = 600, 200, 60  # lines
PARAMETERS = 4

_MARK = "# size: "


def offenders(path: Path) -> Iterator[str]:
    """What is too large in a file, as `line: what: by how much`."""
    lines = path.read_text(encoding="utf-8").splitlines()
    if len(lines) > FILE and not any(line.startswith(_MARK) for line in lines):
        yield f"1: the file has {len(lines)} lines, at most {FILE}"
    for node in ast.walk(ast.parse("\n".join(lines))):
        if isinstance(node, ast.ClassDef):
            found = _too_long(node, CLASS)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            found = [*_too_long(node, FUNCTION), *_too_many(node)]
        else:
            continue
        if not any(_MARK in line for line in lines[node.lineno - 1 : node.body[0].lineno]):
            yield from (f"{node.lineno}: {node.name} {complaint}" for complaint in found)


def _too_long(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef, limit: int) -> list[str]:
    length = (node.end_lineno or node.lineno) - node.lineno + 1
    return [f"has {length} lines, at most {limit}"] if length > limit else []


def _too_many(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    arguments = node.args
    given = [
        a for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs) if a.arg not in ("self", "cls")
    ]
    # Tests take what pytest gives them, by name.
    if len(given) > PARAMETERS and not node.name.startswith("test_"):
        yield f"has {len(given)} parameters, at most {PARAMETERS}"


def test_everything_is_small() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{complaint}"
        for folder in ("mockserver", "tests", "benchmarks", "examples")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for complaint in offenders(path)
    ]
    assert not found, "\n" + "\n".join(found)


def test_planted_offenders_are_found(tmp_path: Path) -> None:
    def long(head: str, lines: int) -> str:
        return head + "\n    x = 1" * (lines - 1) + "\n"

    planted = tmp_path / "planted.py"
    planted.write_text(
        long("class A:", 201)
        + long("def b():", 61)
        + long("async def c():", 60)
        + long("def d():  # size: a table in code", 61)
        + long("def e(self, a, b, *, c, d): ...", 1)
        + long("def f(self, a, b, *, c, d, e): ...", 1)
        + long("def test_g(a, b, c, d, e): ...", 1),
        encoding="utf-8",
    )
    assert sorted(offenders(planted)) == [
        "1: A has 201 lines, at most 200",
        "202: b has 61 lines, at most 60",
        "385: f has 5 parameters, at most 4",
    ]
    planted.write_text("x = 1\n" * 601, encoding="utf-8")
    assert list(offenders(planted)) == ["1: the file has 601 lines, at most 600"]
    planted.write_text("# size: one long table\n" + "x = 1\n" * 600, encoding="utf-8")
    assert list(offenders(planted)) == []
