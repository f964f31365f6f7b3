"""Messages: the page of errors quotes them as the code has them, and each speaks the language of its readers."""

import ast
import re
from pathlib import Path

import pytest

from mockserver.config.settings import Settings
from tests.house.syntax import find_nodes

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "errors.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("\n## Error texts\n")[2].partition("\n## ")[0]
MESSAGES = re.findall(r"^\| `([^`]+)`", SECTION, re.MULTILINE)
# Texts may go on in the next line of the code.
SOURCES = [*ROOT.glob("mockserver/**/*.py"), *ROOT.glob("clients/js/*.js")]
CODE = re.sub(r'"\s*f?"', "", "\n".join(path.read_text(encoding="utf-8") for path in SOURCES))


def test_there_are_messages() -> None:
    assert len(MESSAGES) > 10


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_is_in_the_code(message: str) -> None:
    parts = [part.strip(" :") for part in message.split("…")]
    assert [part for part in parts if part not in CODE] == []


FLAG = re.compile(rf"--(?:{'|'.join(name.replace('_', '-') for name in Settings.model_fields)})(?![\w-])")
# What only `mockserver serve` reaches, and a message that names each way to set a token.
SERVE_ONLY = {
    "server/access.py",
    "server/control/__init__.py",
    "server/landmarks.py",
    "server/shared_state.py",
    "server/workers.py",
    "state/redis/client.py",
}


def list_texts(path: Path) -> list[str]:
    """Return the texts of a module, but for docstrings."""
    nodes = find_nodes(path.read_text(encoding="utf-8"))
    described = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    constants = (node for node in nodes if isinstance(node, ast.Constant) and id(node) not in described)
    return [node.value for node in constants if isinstance(node.value, str)]


def test_no_message_tells_python_users_of_a_flag() -> None:
    """Where it is not known who reads, a `Spelling` writes the setting."""
    package = ROOT / "mockserver"
    modules = {path.relative_to(package).as_posix(): path for path in package.rglob("*.py")}
    others = {name: path for name, path in modules.items() if not name.startswith(("cli/", "pytest_plugin/"))}
    assert {name for name, path in others.items() if any(map(FLAG.search, list_texts(path)))} == SERVE_ONLY
