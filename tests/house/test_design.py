"""What docs/explain/design.md says of the code is so: the types of a request, modules, who imports whom, who waits."""

import ast
import re
from pathlib import Path

from tests.house.syntax import find_nodes, parse

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "mockserver"
MAX_COUNT = 21
_ROW = re.compile(r"^\| `(\w+)` \| `([\w/]+\.py)` \|", re.MULTILINE)


PAGE = (ROOT / "docs" / "explain" / "design.md").read_text(encoding="utf-8")


def listed() -> dict[str, str]:
    """Return the types of the page, each with its module."""
    return dict(_ROW.findall(PAGE[PAGE.index("<!-- types -->") :]))


def classes(module: Path) -> dict[str, ast.ClassDef]:
    tree = parse(module.read_text(encoding="utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def annotated(node: ast.ClassDef) -> set[str]:
    """Return the names in the signatures of a class's methods."""
    functions = [each for each in node.body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
    annotations = [each.returns for each in functions]
    annotations += [arg.annotation for each in functions for arg in (*each.args.args, *each.args.kwonlyargs)]
    return {name.id for each in annotations if each for name in ast.walk(each) if isinstance(name, ast.Name)}


def test_there_are_few_and_each_is_where_the_page_says() -> None:
    types = listed()
    assert 0 < len(types) <= MAX_COUNT
    missing = [f"{name} in {module}" for name, module in types.items() if name not in classes(PACKAGE / module)]
    assert not missing


def test_the_responder_needs_no_other() -> None:
    known = {name for path in PACKAGE.rglob("*.py") for name in classes(path)}
    story = classes(PACKAGE / "server" / "respond.py")["Responder"]
    renderer = classes(PACKAGE / "server" / "replies.py")["PlanRenderer"]
    needed = (annotated(story) | annotated(renderer)) & known
    assert len(needed) >= 7
    assert needed <= set(listed())


DECIDING = ("core", "kinds", "wire", "dialects", "rules", "model", "delivery", "engine", "reports")
WAITS = {"sleep", "call_later", "call_at", "wait", "wait_for", "pause"}


def waits(module: Path) -> list[str]:
    """Return the calls of a module that wait for a time, but for `sleep(0)`, which only lets others run."""
    found = []
    for node in find_nodes(module.read_text(encoding="utf-8")):
        if not isinstance(node, ast.Call) or ast.unparse(node) == "asyncio.sleep(0)":
            continue
        if getattr(node.func, "attr", getattr(node.func, "id", "")) in WAITS:
            found.append(f"{module.relative_to(PACKAGE)}:{node.lineno}")
    return found


def test_of_what_decides_only_the_drivers_wait() -> None:
    waiting = {path.relative_to(PACKAGE): waits(path) for part in DECIDING for path in (PACKAGE / part).rglob("*.py")}
    drivers = {"delivery/drive.py", "delivery/paced.py"}
    assert {str(path) for path, found in waiting.items() if found} == {
        *drivers,
        "core/seed.py",
    }  # which defines `pause`


def test_one_module_writes_server_sent_events() -> None:
    writing = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        for node in find_nodes(path.read_text(encoding="utf-8"))
        if isinstance(node, ast.Constant) and isinstance(node.value, bytes) and node.value.endswith(b"data: ")
    }
    assert writing == {"core/frames.py"}


_PATH = re.compile(r"`((?:\w+/)+(?:\w+\.\w+)?|\w+\.py)`")


def test_paths_on_the_page_exist() -> None:
    """A path stands from the project, the package or its `model`; a module may go by its name alone."""
    named = set(_PATH.findall(PAGE))
    modules = {path.name for path in PACKAGE.rglob("*.py")}
    assert len(named) > 50
    assert not {
        path
        for path in named
        if not any((at / path).exists() for at in (ROOT, PACKAGE, PACKAGE / "model")) and path not in modules
    }


def read_parts_of_model() -> list[str]:
    """Return the parts of the model in the order of the page, each of which imports only from those behind it."""
    told = PAGE[PAGE.index("## The model without weights") :].split("```")[1]
    return [line.split()[0] for line in told.splitlines()[1:]]


def find_imported_parts(part: str) -> set[str]:
    """Return the parts of the model from which a module or a folder of modules imports."""
    module = PACKAGE / "model" / f"{part}.py"
    found = set[str]()
    for path in [module] if module.exists() else (PACKAGE / "model" / part).rglob("*.py"):
        for node in find_nodes(path.read_text(encoding="utf-8")):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mockserver.model."):
                found.add(str(node.module).split(".")[2])
    return found - {part}


def test_parts_of_the_model_import_from_those_below() -> None:
    parts = read_parts_of_model()
    there = {
        path.stem for path in (PACKAGE / "model").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert {*parts} == there - {"__init__"}
    wrong = {part: find_imported_parts(part) - {*parts[at + 1 :]} for at, part in enumerate(parts)}
    assert not {part: others for part, others in wrong.items() if others}
