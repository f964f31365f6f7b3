"""What docs/explain/design.md says of the code is so: the types of a request, modules, who imports whom, who waits."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.house.syntax import find_nodes, parse

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "mockserver"
PAGE = (ROOT / "docs" / "explain" / "design.md").read_text(encoding="utf-8")
_ROW = re.compile(r"^\| `(\w+)` \| `([\w/]+\.py)` \|", re.MULTILINE)
# The page says that its list has each type in their fields and signatures.
TELLING = {
    "Responder": "server/respond.py",
    "PlanRenderer": "server/replies.py",
    "Visit": "server/visit.py",
    "Response": "server/visit.py",
}


def list_types() -> dict[str, str]:
    """Return the types of the page, each with its module."""
    return dict(_ROW.findall(PAGE[PAGE.index("<!-- types -->") :]))


def find_classes(module: Path) -> dict[str, ast.ClassDef]:
    tree = parse(module.read_text(encoding="utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}


def list_annotations(node: ast.ClassDef) -> Iterator[ast.expr]:
    """Yield the types of a class's fields, and of what its methods take and return."""
    for each in node.body:
        if isinstance(each, ast.AnnAssign):
            yield each.annotation
        elif isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            taken = (*each.args.posonlyargs, *each.args.args, *each.args.kwonlyargs)
            yield from filter(None, (each.returns, *[argument.annotation for argument in taken]))


def find_own_classes(module: Path) -> set[str]:
    """Return the names of classes of this project that a module defines, or imports at its top."""
    found = {*find_classes(module)}
    for node in parse(module.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mockserver."):
            place = ROOT.joinpath(*str(node.module).split("."))
            origin = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
            found |= {each.name for each in node.names} & {*find_classes(origin)}
    return found


def test_the_page_counts_its_types_and_has_their_modules() -> None:
    types = list_types()
    stated = re.search(r"^These (\d+) types ", PAGE, re.MULTILINE)
    assert stated
    assert int(stated[1]) == len(types)
    assert not [f"{name} in {module}" for name, module in types.items() if name not in find_classes(PACKAGE / module)]


def test_what_tells_of_a_request_needs_no_other_types() -> None:
    needed = set[str]()
    for name, module in TELLING.items():
        annotations = list_annotations(find_classes(PACKAGE / module)[name])
        named = {node.id for each in annotations for node in ast.walk(each) if isinstance(node, ast.Name)}
        needed |= named & find_own_classes(PACKAGE / module)
    assert {"Endpoint", "Sender", "Engine", "Frame"} <= needed  # of fields, and within the type of a function
    assert needed <= {*list_types()}


OTHER_PROVIDERS = ("dialects/bedrock/", "dialects/mistral/")  # who have moderations, too


def knows_moderations(source: str) -> bool:
    """Return whether a module knows the operation: by its name, by its key of `then`, or by a module that has it.

    A field of a request or of an answer that is merely called so does not count, nor do models with such names.
    """
    for node in find_nodes(source):
        match node:
            case ast.Constant(value="moderations") | ast.AnnAssign(target=ast.Name(id="moderation")):
                return True
            case ast.ImportFrom(module=module, names=names):
                if "moderations" in {*str(module).split("."), *[each.name for each in names]}:
                    return True
    return False


def test_few_modules_know_moderations_of_openai() -> None:
    """A new kind of operation touches as many modules as this one."""
    knowing = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if knows_moderations(path.read_text(encoding="utf-8"))
    }
    own = {name for name in knowing if not name.startswith(OTHER_PROVIDERS)}
    assert {"kinds/moderations.py", "dialects/_openai_api/moderations.py", "testing/options.py"} <= own
    assert len(own) <= 6, sorted(own)


DECIDING = ("core", "kinds", "wire", "dialects", "rules", "model", "delivery", "engine", "reports")
WAITS = {"sleep", "call_later", "call_at", "wait", "wait_for", "pause"}


def find_waits(module: Path) -> list[str]:
    """Return the calls of a module that wait for a time, but for `sleep(0)`, which only lets others run."""
    found = []
    for node in find_nodes(module.read_text(encoding="utf-8")):
        if not isinstance(node, ast.Call) or ast.unparse(node) == "asyncio.sleep(0)":
            continue
        if getattr(node.func, "attr", getattr(node.func, "id", "")) in WAITS:
            found.append(f"{module.relative_to(PACKAGE)}:{node.lineno}")
    return found


def test_of_what_decides_only_the_drivers_wait() -> None:
    waiting = {
        path.relative_to(PACKAGE): find_waits(path) for part in DECIDING for path in (PACKAGE / part).rglob("*.py")
    }
    drivers = {"delivery/drive.py", "delivery/paced.py"}
    assert {str(path) for path, found in waiting.items() if found} == {
        *drivers,
        "core/seed.py",
    }  # which defines `pause`


# A line `data: ` that goes on elsewhere or ends, but for patterns with `data: ?`; or any field after the first.
_EVENT_DATA = re.compile(r"(?:^|[\r\n])data: (?!\?)(?:$|.*[\r\n%{])|[\r\n](?:data|event|id|retry):")
_READING = {
    *("startswith", "endswith", "removeprefix", "removesuffix", "partition", "split", "find", "index", "count"),
    *("compile", "match", "search", "fullmatch", "replace", "sub"),
}


def writes_events(source: str) -> bool:
    """Return whether a source has texts or bytes that make events, of which f-strings may be parts.

    What only looks for them does not count: arguments of methods such as `startswith`, and comparisons.
    """
    nodes = find_nodes(source)
    passed_over = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}  # docstrings
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _READING:
            read = node.args[:1] if node.func.attr in ("replace", "sub") else node.args
            passed_over |= {id(inner) for each in read for inner in ast.walk(each)}
        elif isinstance(node, ast.Compare):
            passed_over |= {id(each) for each in (node.left, *node.comparators)}
    constants = (node.value for node in nodes if isinstance(node, ast.Constant) and id(node) not in passed_over)
    texts = (each.decode("latin-1") if isinstance(each, bytes) else each for each in constants)
    return any(isinstance(text, str) and _EVENT_DATA.search(text) for text in texts)


def test_events_are_written_in_one_module_and_restored_in_another() -> None:
    writing = {
        path.relative_to(PACKAGE).as_posix()
        for path in PACKAGE.rglob("*.py")
        if writes_events(path.read_text(encoding="utf-8"))
    }
    assert writing == {"core/frames.py", "cassettes/event_lines.py"}


@pytest.mark.parametrize(
    "source",
    [
        'sent = b"data: " + data',
        'sent = f"data: {data}\\n\\n".encode()',
        'sent = f"event: {name}\\ndata: {data}"',
        'sent = b"event: a\\r\\ndata: %b" % data',
        'sent = text.replace("\\n", "\\ndata: ")',
        'sent = b"\\nretry: 100"',
    ],
)
def test_whatever_writes_events_is_seen(source: str) -> None:
    assert writes_events(source)


@pytest.mark.parametrize(
    "source",
    [
        '"""data: is what an event says."""',
        'line.removeprefix(b"data: ")',
        'body.startswith((b"event: ", b"data: "))',
        'line[:6] == b"data: "',
        're.compile(rb"\\ndata: ?x")',
        'url = f"data:{media_type};base64,{encoded}"',
        'message = "no data: say more"',
        'example = "data: aGVsbG8"',
        'DONE = rb"data: ?\\[DONE\\]"',
    ],
)
def test_what_only_reads_events_is_left_in_peace(source: str) -> None:
    assert not writes_events(source)


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
