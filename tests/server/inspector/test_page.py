"""The files of the page by themselves: all that are named are there, none is large, and none parses HTML."""

import re
from gzip import compress
from hashlib import sha256
from pathlib import Path

import pytest

from mockserver.server.inspector import ASSETS, FOLDER

MODULES = sorted(FOLDER.glob("*.js"))
VENDOR = FOLDER / "vendor"
LIBRARIES = re.findall(
    r"^\| (\S+\.m?js) \| .* \| ([0-9a-f]{64}) \|$", (VENDOR / "LICENSES.md").read_text(), re.MULTILINE
)
# What makes elements, addresses or scripts of text.
SINKS = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|createContextualFragment|document\.write|DOMParser"
    r"|\beval\b|new Function|https?://|\.cssText|setAttribute\(\"style|srcdoc|import\("
)
ALLOWED = {"server.js": {"https://"}}  # an address in a command that people copy


def named(file: Path) -> set[Path]:
    """Return the files that a file of the page names."""
    text = file.read_text()
    if file.suffix == ".html":
        found = re.findall(r'(?:src|href)="([^"#]+)"', text) + re.findall(r'": "(\./[^"]+)"', text)
        return {(FOLDER / name).resolve() for name in found if not name.startswith("api/")}
    return {(file.parent / name).resolve() for name in re.findall(r'from "(\./[^"]+)"', text)}


def test_every_file_that_is_named_exists_and_every_file_is_named() -> None:
    files = {file.resolve() for file in ASSETS.values()}
    every = {path for file in [FOLDER / "index.html", *MODULES] for path in named(file)}
    assert every | {FOLDER / "index.html"} == files


def test_the_modules_import_only_each_other_and_the_import_map() -> None:
    mapped = set(re.findall(r'"([^"]+)": "\./', (FOLDER / "index.html").read_text()))
    for module in [*MODULES, *VENDOR.glob("*js")]:
        for name in re.findall(r'(?:^import|^export|[;}])[^"=>]*from ?"([^"]+)"', module.read_text(), re.MULTILINE):
            assert name in mapped or (name.startswith("./") and module.parent == FOLDER), (module.name, name)


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_a_module_parses_no_html(module: Path) -> None:
    text = module.read_text()
    assert text.startswith("// "), "say in the first line what the module is for"
    assert max(map(len, text.splitlines())) <= 130
    assert set(SINKS.findall(text)) <= ALLOWED.get(module.name, set())


def test_the_search_for_sinks_finds_them() -> None:
    planted = ["a.innerHTML = b", 'eval("1")', 'fetch("http://example.test")', "import(name)", "new Function(x)"]
    assert all(map(SINKS.search, planted))


def test_the_libraries_are_those_of_the_registry() -> None:
    there = {file.name for file in VENDOR.iterdir()} - {"LICENSES.md"}
    assert {name for name, _ in LIBRARIES} == there
    for name, digest in LIBRARIES:
        assert sha256((VENDOR / name).read_bytes()).hexdigest() == digest, name


def test_the_page_is_small() -> None:
    files = sorted(set(ASSETS.values()), key=lambda file: (file.parent, file.suffix, file.name))
    contents = [file.read_bytes() for file in files]
    assert len(contents) <= 28
    assert sum(map(len, contents)) <= 150_000
    assert len(compress(b"".join(contents))) <= 50_000
