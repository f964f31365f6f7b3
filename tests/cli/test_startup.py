"""What a start imports: libraries that take long are imported by what uses them, not by commands that do not."""

import subprocess
import sys
from pathlib import Path

import pytest

from mockserver.dialects import discover

ROOT = Path(__file__).parents[2]
RARE = (
    "brotli faker httpx httpx2 jsonschema_rs lark openai prometheus_client pytest redis tiktoken"
    " mockserver.model.arguments mockserver.model.auto mockserver.model.schema"
)
CASSETTES = (
    "mockserver.cassettes.cassette mockserver.cassettes.cassette_file mockserver.cassettes.redaction.credential_fields"
)
OTHERS = " ".join(f"mockserver.dialects.{name}" for name in discover() if name != "openai")
CONTROL = "mockserver.server.control"
ALSO = {
    "--help": "asyncio pydantic regex starlette uvicorn mockserver.server",
    "check rules.yaml": (
        "asyncio html regex starlette uvicorn watchfiles"
        f" mockserver.dialects.openai mockserver.server.live mockserver.testing {OTHERS} {CASSETTES}"
    ),
    "ask hello": (
        "html regex starlette.routing uvicorn watchfiles multiprocessing"
        f" mockserver.server.app mockserver.testing {CONTROL} {OTHERS} {CASSETTES}"
    ),
}
TESTING = (
    "regex starlette.responses unittest uvicorn watchfiles multiprocessing"
    f" mockserver.dialects.openai {CONTROL} {OTHERS} {CASSETTES}"
)
SERVED = """
import sys
from urllib.request import Request, urlopen
from mockserver.server.compose import start
from mockserver.server.run import Running
from mockserver.server.sources import Sources
from pathlib import Path
body = b'{"model": "gpt-4o", "messages": [{"role": "user", "content": "hello"}]}'
sources = Sources((Path("rules.yaml"),), {"port": 0})
with Running(start(sources), sources) as running:
    urlopen(Request(running.address + "/v1/chat/completions", body, {"content-type": "application/json"})).read()
"""


@pytest.mark.parametrize("command", ALSO)
def test_a_command_imports_only_what_it_needs(command: str) -> None:
    early = imported(f"from mockserver.cli import main\nmain({command.split()})", f"{RARE} {ALSO[command]}")
    assert early == []


def test_testing_imports_only_what_it_needs() -> None:
    assert imported("import mockserver.testing", f"{RARE} {TESTING}") == []


def test_a_server_imports_only_the_dialect_that_is_asked() -> None:
    assert imported(SERVED, f"anyio.streams.tls {CONTROL} {OTHERS} {CASSETTES}") == []


def test_prose_imports_nothing_of_tools_and_formats() -> None:
    heavy = "mockserver.model.reply mockserver.model.arguments mockserver.model.tool_uses mockserver.model.schema"
    asked = "from mockserver.cli import main\nmain(['ask', 'tell me about tides'])"
    assert imported(asked, f"mockserver.model.auto {heavy}") == ["mockserver.model.auto"]


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
