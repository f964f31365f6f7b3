"""What a start imports: libraries that take long are imported by what uses them, not by commands that do not."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RARE = (
    "brotli faker httpx httpx2 jsonschema_rs lark openai prometheus_client pytest redis tiktoken"
    " mockserver.model.arguments mockserver.model.auto mockserver.model.schema"
)
CASSETTES = "mockserver.cassettes.match mockserver.cassettes.store mockserver.cassettes.redaction.find"
ALSO = {
    "--help": "asyncio pydantic regex starlette uvicorn mockserver.server",
    "check rules.yaml": f"uvicorn asyncio starlette watchfiles mockserver.testing mockserver.server.live {CASSETTES}",
    "ask hello": f"uvicorn watchfiles multiprocessing mockserver.testing {CASSETTES}",
}


@pytest.mark.parametrize("command", ALSO)
def test_a_command_imports_only_what_it_needs(command: str) -> None:
    early = imported(f"from mockserver.cli import main\nmain({command.split()})", f"{RARE} {ALSO[command]}")
    assert early == []


def test_testing_imports_only_what_it_needs() -> None:
    assert imported("import mockserver.testing", f"{RARE} uvicorn watchfiles multiprocessing {CASSETTES}") == []


def test_what_was_imported_is_seen() -> None:
    assert "mockserver.model.auto" in imported("import mockserver.model.auto", RARE)


def imported(program: str, modules: str) -> list[str]:
    """Those of the modules that a program imports."""
    at_exit = (
        f"import atexit, sys\natexit.register(lambda: print('@', *[m for m in {modules.split()} if m in sys.modules]))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", f"{at_exit}\n{program}"], capture_output=True, text=True, check=True, cwd=ROOT
    )
    return ran.stdout.rpartition("@")[2].split()
