"""What editors show of a rules file: a language server for YAML with the schema that `mockserver schema` prints."""

import json
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Queue
from threading import Thread
from typing import IO, Any

import pytest

from tests.kit.npm import install_packages
from tests.kit.program import run

pytestmark = [pytest.mark.slow, pytest.mark.needs("node")]  # the first time it needs the npm registry

Json = Any
BAD = """\
# yaml-language-server: $schema=rules.schema.json
version: 1
settings: {sed: 7}
rules:
  - when: {last_user: {contain: hello}}
    then: {text: Hello, json: {}}
  - then: {error: {staus: 429}}
  - then: {faults: [{cut: {after_token: 3}}]}
  - then: {items: [{type: web_search_cal, query: a}]}
  - then: {text: Hello, timing: {first_token: soon}}
  - then: {text: Hello, model: "{{ call.model }}"}
  - when: {operation: chats}
    then: {text: Hello}
  - when: {model: gpt-4o}
"""
WRONG = {
    3: "Property sed is not allowed.",
    5: "Property contain is not allowed.",
    6: "Property json is not allowed.",
    7: "Property staus is not allowed.",
    8: "Property after_token is not allowed.",
    9: 'Value must be "web_search_call" | "file_search_call".',
    10: "expected a number with a unit: 300ms",
    11: "templates are not supported here",
    12: 'Value is not accepted. Valid values: "chat", "completions", ',
    14: 'Missing property "then".',
}
DRAFT = """\
# yaml-language-server: $schema=rules.schema.json
settings:
  se
rules:
  - when:
      la
    then:
      te
  - when: {last_user: "*hello*", header.x-tenant: a}
    then:
      timing: {first_token: 300ms}
  - then:
      items:
        - type: web_search_call
          query: fjords
"""


class LanguageServer:
    """Speaks the Language Server Protocol with a process, as editors do."""

    def __init__(self, *command: str) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.process.stdin
        assert self.process.stdout
        self.to: IO[bytes] = self.process.stdin
        self.received = Queue[Json]()
        self.number = 0
        Thread(target=self._receive, args=(self.process.stdout,), daemon=True).start()

    def _receive(self, stream: IO[bytes]) -> None:
        while head := stream.readline():
            size = int(head.removeprefix(b"Content-Length:"))
            assert stream.readline() == b"\r\n"
            self.received.put(json.loads(stream.read(size)))

    def send(self, **message: Json) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.to.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self.to.flush()

    def wait(self, wanted: Callable[[Json], bool]) -> Json:
        while not wanted(message := self.received.get(timeout=60)):
            if "id" in message and "method" in message:  # it asks for the editor's configuration
                items = message["params"].get("items", ())
                self.send(id=message["id"], result=[{}] * len(items) or None)
        return message

    def ask(self, method: str, **params: Json) -> Json:
        self.number += 1
        self.send(id=self.number, method=method, params=params)
        answer = self.wait(lambda message: message.get("id") == self.number and "method" not in message)
        return answer["result"]

    def open(self, file: Path) -> list[Json]:
        """Open a file. Returns the diagnostics of the server."""
        document = {"uri": file.as_uri(), "languageId": "yaml", "version": 1, "text": file.read_text()}
        self.send(method="textDocument/didOpen", params={"textDocument": document})
        found = self.wait(lambda each: self.tells_of(each, file))["params"]
        return list(found["diagnostics"])

    @staticmethod
    def tells_of(message: Json, file: Path) -> bool:
        """Return whether a message has the diagnostics of a file: it sends those of other open files again, too."""
        params = message.get("params", {})
        return "diagnostics" in params and params["uri"] == file.as_uri()

    def at(self, method: str, file: Path, text: str) -> Json:
        """Ask about the place where a text first ends in a file."""
        before, _, _ = file.read_text().partition(text)
        before += text
        place = {"line": before.count("\n"), "character": len(before.rpartition("\n")[2])}
        return self.ask(f"textDocument/{method}", textDocument={"uri": file.as_uri()}, position=place)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("project")
    (made / "rules.schema.json").write_text(run("schema").out)
    return made


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[LanguageServer]:
    package = install_packages("language server") / "yaml-language-server"
    server = LanguageServer("node", str(package / "bin" / "yaml-language-server"), "--stdio")
    markdown = {
        "hover": {"contentFormat": ["markdown"]},
        "completion": {"completionItem": {"documentationFormat": ["markdown"], "snippetSupport": True}},
    }
    server.ask("initialize", processId=None, rootUri=folder.as_uri(), capabilities={"textDocument": markdown})
    server.send(method="initialized", params={})
    yield server
    server.process.kill()
    server.process.communicate()


def test_the_file_of_init_has_no_mistakes_and_is_described(server: LanguageServer, folder: Path) -> None:
    rules = folder / "rules.yaml"
    assert run("init", rules).code == 0
    assert server.open(rules) == []
    shown = server.at("hover", rules, "seed")["contents"]["value"]
    assert "The seed of everything generated: texts, ids, jitter." in shown


def test_a_mistake_is_shown_at_its_line(server: LanguageServer, folder: Path) -> None:
    bad = folder / "bad.yaml"
    bad.write_text(BAD)
    found = {(each["range"]["start"]["line"] + 1, each["message"]) for each in server.open(bad)}
    assert {line for line, _ in found} == set(WRONG)
    for line, words in WRONG.items():
        assert any(message.startswith(words) for at, message in found if at == line), (line, words, found)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("\n  se", {"seed", "unmatched", "timing"}),
        ("\n      la", {"last_user", "last_message", "model", "any"}),
        ("\n      te", {"text", "json", "error", "tool_calls", "faults"}),
    ],
)
def test_keys_are_offered(server: LanguageServer, folder: Path, text: str, keys: set[str]) -> None:
    draft = folder / "draft.yaml"
    draft.write_text(DRAFT)
    server.open(draft)
    offered = {item["label"] for item in server.at("completion", draft, text)["items"]}
    assert keys <= offered


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("last_user", ("text of the last user message", '"*weather*"')),
        ("header.x-tenant", ("a request header, in any case", "application/json*")),
        ("first_token", ("delay of the first token", "300ms")),
        ("query", ("what to search for", "weather in Oslo")),
    ],
)
def test_a_key_shows_its_description_and_an_example(
    server: LanguageServer, folder: Path, text: str, words: tuple[str, str]
) -> None:
    draft = folder / "draft.yaml"
    draft.write_text(DRAFT)
    server.open(draft)
    shown = server.at("hover", draft, text)["contents"]["value"]
    assert all(each in shown for each in words), shown
