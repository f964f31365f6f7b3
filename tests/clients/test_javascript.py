"""The package for JavaScript: its own tests against a server, and what npm would publish."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mockserver import __version__
from mockserver.delivery.faults import FAULTS
from mockserver.rules.json_schema import make_rules_schema
from tests.house.pages import find_blocks
from tests.kit.npm import PACKAGES, install_packages
from tests.kit.programs import find_program

PACKAGE = Path(__file__).parents[2] / "clients" / "js"
ABOUT = json.loads((PACKAGE / "package.json").read_text(encoding="utf-8"))


def run(name: str, *words: str, cwd: Path = PACKAGE, **environ: str) -> str:
    command = (name, *words)
    env = {**os.environ, **environ}
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
@pytest.mark.needs("node")
def test_its_own_tests_pass() -> None:
    told = run("node", "--test", "test/", MOCKSERVER_COMMAND=f"{sys.executable} -m mockserver")
    counts = dict(re.findall(r"^# (pass|skipped|todo) (\d+)$", told, re.MULTILINE))
    assert int(counts["pass"]) >= 14, told
    assert (counts["skipped"], counts["todo"]) == ("0", "0")


@pytest.mark.needs("node")
def test_npm_publishes_what_the_modules_need() -> None:
    (found,) = json.loads(run("npm", "pack", "--dry-run", "--json"))
    code = {path.name for path in PACKAGE.iterdir() if path.suffix in (".js", ".ts")}
    assert {each["path"] for each in found["files"]} == code | {"package.json", "README.md", "LICENSE"}
    targets = {target for each in ABOUT["exports"].values() for target in each.values()}
    assert targets == {f"./{name}" for name in code}
    assert found["size"] < 20_000
    assert "dependencies" not in ABOUT


@pytest.mark.slow  # the first time it needs the npm registry
@pytest.mark.needs("node")
def test_its_types_and_the_example_of_its_page_are_strict(tmp_path: Path) -> None:
    modules = tmp_path / "node_modules"
    modules.symlink_to(install_packages("types"))
    page = (PACKAGE / "README.md").read_text(encoding="utf-8")
    (tmp_path / "page.ts").write_text(page.partition("```js\n")[2].partition("```")[0], encoding="utf-8")
    (tmp_path / "types.ts").write_text((PACKAGE / "test" / "types.ts").read_text(encoding="utf-8"), encoding="utf-8")
    options = {"strict": True, "noEmit": True, "target": "es2022"}
    modern = {"module": "nodenext", "types": [], "paths": {"mockserver-llm": [f"{PACKAGE}/index.d.ts"]}}
    modern["paths"]["mockserver-llm/server"] = [f"{PACKAGE}/server.d.ts"]
    (tmp_path / "package.json").write_text('{"type": "module"}')
    (tmp_path / "tsconfig.json").write_text(json.dumps({"compilerOptions": {**options, **modern}}))
    run("node", str(modules / "typescript" / "bin" / "tsc"), "--project", str(tmp_path))


def test_its_types_know_all_that_rules_can_say() -> None:
    types = (PACKAGE / "index.d.ts").read_text(encoding="utf-8")
    tables = make_rules_schema(FAULTS)["$defs"]
    for name in (*tables["Then"]["properties"], *tables["Rule"]["properties"], "any", "all", "not"):
        assert re.search(rf"\b{name}\??:", types), name
    for name in tables["when"]["properties"].keys() - {"any", "all", "not"}:
        assert f'| "{name}"' in types, name


API = json.loads((PACKAGE.parents[1] / "docs" / "reference" / "openapi.json").read_text(encoding="utf-8"))
TYPES = (PACKAGE / "index.d.ts").read_text(encoding="utf-8")


def fields(interface: str) -> dict[str, bool]:
    """Return the fields of a type, and which are always there."""
    found = re.search(rf"^export interface {interface}(?: extends \w+)? {{\n(.*?)^}}", TYPES, re.DOTALL | re.MULTILINE)
    assert found, interface
    return {name: not may for name, may in re.findall(r"^  (\w+)(\??):", found[1], re.MULTILINE)}


@pytest.mark.parametrize(
    ("interface", "schema"),
    [("Cassette", "CassetteInUse"), ("CallRequest", "Request"), ("CallReply", "Reply")]
    + [(name, name) for name in ("Call", "CallDetail", "Finding", "ListedRule", "NearRule", "Ready", "State")],
)
def test_its_types_are_those_of_the_control_api(interface: str, schema: str) -> None:
    described = API["components"]["schemas"][schema]
    stated = fields(interface)
    assert stated.keys() <= described["properties"].keys()
    in_detail = {"request", "reply"} if interface == "CallDetail" else set[str]()  # lists have them with `bodies` only
    assert {name for name, always in stated.items() if always} <= {*described["required"], *in_detail}


def test_its_filters_are_those_of_the_control_api() -> None:
    parameters = {each["name"] for each in API["paths"]["/__mockserver__/api/calls"]["get"]["parameters"]}
    assert fields("CallFilters").keys() == parameters - {"namespace", "compact"}


def test_its_version_is_that_of_the_server() -> None:
    assert ABOUT["version"] == __version__.replace(".dev", "-dev.")


def install(example: str, project: Path) -> None:
    """Give a project what an example needs, as npm would."""
    modules = project / "node_modules"
    modules.mkdir()
    for module in install_packages(example).iterdir():
        (modules / module.name).symlink_to(module)
    (modules / "mockserver-llm").symlink_to(PACKAGE)


@pytest.mark.slow  # the first time it needs the npm registry
@pytest.mark.needs("node")
def test_the_tests_of_the_guide_pass(tmp_path: Path) -> None:
    guide = PACKAGE.parents[1] / "docs" / "guides" / "javascript-and-others.md"
    for block in find_blocks(guide.read_text(encoding="utf-8")):
        if block.language == "js" and block.title:
            (tmp_path / block.title).write_text(block.body, encoding="utf-8")
    install("vitest", tmp_path)
    command = "-m mockserver run --unmatched error -- node node_modules/vitest/vitest.mjs run"
    said = run(sys.executable, *command.split(), cwd=tmp_path, NO_COLOR="1")
    assert re.search(r"\b2 passed\b", said), said


EXAMPLES = ("vitest", "jest", "playwright")


@pytest.mark.slow  # the first time it needs the npm registry
@pytest.mark.parametrize("name", ["vitest", "jest", pytest.param("playwright", marks=pytest.mark.needs("chromium"))])
@pytest.mark.needs("node")
def test_the_tests_of_the_examples_pass(name: str, tmp_path: Path) -> None:
    project = shutil.copytree(PACKAGE / "examples" / name, tmp_path / name)
    install(name, project)
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "mockserver").write_text(f'#!/bin/sh\nexec {sys.executable} -m mockserver "$@"\n')
    (programs / "mockserver").chmod(0o755)
    environ = {"PATH": f"{programs}:{os.environ['PATH']}", "CHROMIUM": find_program("chromium") or "", "NO_COLOR": "1"}
    said = run("sh", "-c", "npm test 2>&1", cwd=project, **environ)
    assert re.search(r"\b2 passed\b", said), said


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_name_what_they_need(name: str) -> None:
    folder = PACKAGE / "examples" / name
    about = json.loads((folder / "package.json").read_text(encoding="utf-8"))
    needed = {*about["dependencies"], *about["devDependencies"]}
    sources = [path.read_text(encoding="utf-8") for path in folder.glob("*.js")]
    bare = {name for source in sources for name in re.findall(r'from "((?!node:|\.)[^"]+)"', source)}
    assert {re.sub(r"^((?:@[^/]+/)?[^/]+).*", r"\1", name) for name in bare} <= needed | {"@jest/globals"}
    assert about["devDependencies"]["mockserver-llm"] == "file:../.."
    for pinned in PACKAGES[name]:
        package, _, version = pinned.rpartition("@")
        asked = {**about["dependencies"], **about["devDependencies"]}[package]
        assert version.startswith(asked.removeprefix("^").split(".")[0] + "."), pinned
