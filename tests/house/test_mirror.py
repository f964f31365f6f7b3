"""Every module that does something has a test file of its own, where one looks for it."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]


def homes(module: Path) -> tuple[Path, ...]:
    """Where the tests of a module may stand, relative to `tests`: a package's also beside it.

    What a dialect has for itself alone may be tested with the dialect.
    """
    named = f"test_{module.stem.lstrip('_')}.py"
    if module.stem == "__init__":
        package = module.parent
        return (package / f"test_{package.name}.py", package.parent / f"test_{package.name}.py")
    folder = Path(*(part.lstrip("_") for part in module.parent.parts))
    of_dialect = folder.parent == Path("dialects") and (ROOT / "mockserver" / f"{folder}.py").exists()
    return (folder / named, folder.with_name(f"test_{folder.name}.py")) if of_dialect else (folder / named,)


def does_something(source: str) -> bool:
    """Whether any function has a body beyond its docstring; mere shapes and tables of constants have no behaviour."""
    functions = (n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    return any(not isinstance(statement, ast.Expr) for function in functions for statement in function.body)


def test_every_module_has_its_tests() -> None:
    package, tests = ROOT / "mockserver", ROOT / "tests"
    missing = [
        f"{path.relative_to(ROOT)}: no tests/{homes(module)[0]}"
        for path in sorted(package.rglob("*.py"))
        for module in [path.relative_to(package)]
        if does_something(path.read_text(encoding="utf-8"))
        and not any((tests / home).exists() for home in homes(module))
    ]
    assert not missing, "\n" + "\n".join(missing)


def test_where_tests_are_looked_for() -> None:
    assert homes(Path("settings.py")) == (Path("test_settings.py"),)
    assert homes(Path("dialects/_shared/parse.py")) == (Path("dialects/shared/test_parse.py"),)
    assert homes(Path("dialects/_azure/request.py")) == (
        Path("dialects/azure/test_request.py"),
        Path("dialects/test_azure.py"),
    )
    assert homes(Path("dialects/azure.py")) == (Path("dialects/test_azure.py"),)
    assert homes(Path("engine/generate/__init__.py")) == (
        Path("engine/generate/test_generate.py"),
        Path("engine/test_generate.py"),
    )


def test_shapes_do_nothing() -> None:
    assert not does_something(
        '"""Shapes."""\nclass A:\n    x: int\n    def f(self):\n        """Says what."""\n        ...'
    )
    assert does_something("class A:\n    async def f(self):\n        return 1")
