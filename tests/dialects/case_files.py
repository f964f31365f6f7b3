"""The cases under cases/: requests, and what each dialect answers.

A file holds cases by name. `about`, `request` and `expect` are required:

    text:
      about: A rule's text is the content of one choice.
      rules:
      - then: {text: Hi there!}
      request:  # a body (or raw text); also path, method, headers
        body: {model: $model, messages: [{role: user, content: Hello}]}
      overrides:  # what replaces a key of the request for one dialect
        azure: {headers: {extra-parameters: pass-through}}
      expect:
        openai: {chat: {id: …, choices: [{message: {content: Hi there!}}], usage: 7 + 3}}

A reply is written as what differs from the dialect's usual reply of that kind (`usual.yaml`), or whole: `json` or
`frames`. Either is compared whole, with the order of its keys. `usage: 7 + 3` counts the tokens of prompt and answer.
`status` is 200 unless stated, and of `headers` only those named are compared. `$model` is the dialect's usual model.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from mockserver.dialects import discover_all
from tests.dialects.usual import shortened, whole

FILES = sorted((Path(__file__).parent / "cases").glob("*.yaml"))
PREFIXES = {"azure_openai": "/openai"}  # of every path
_AT_OTHERS = (  # where other providers serve a dialect
    "/gemini/v1beta/openai",
    "/cohere/compatibility/v1",
    "/bedrock/openai/v1",
    "/azure/anthropic",
    "/deepseek/anthropic",
)
CHATS = {  # the path of a request that names none
    "azure": "/chat/completions?api-version=2024-05-01-preview",
    "azure_openai": "/deployments/gpt-4o/chat/completions?api-version=2024-10-21",
}
MODELS = {  # where it is not gpt-4o: of a chat, or of another path; None: the path names the model, the body does not
    "azure": "Phi-4",
    "azure_openai": None,
    "openai/responses": "gpt-5",
    "skytells": "deepbrain-router",
    "tzafon/responses": "tzafon.northstar-cua-fast",
}
WIDTH = 140  # of a line, unless one text, frame or object of these is longer
IN_ONE_LINE = ("usage", "content_filter_results")


@dataclass(frozen=True)
class Case:
    """One request to one dialect, and what must come back."""

    file: Path
    name: str
    dialect: str
    content: Mapping[str, Any]  # as the file has it, for all dialects

    def __str__(self) -> str:
        return f"{self.dialect}-{self.name}"

    @property
    def settings(self) -> dict[str, Any]:
        return dict(self.content.get("settings", {}))

    @property
    def rules(self) -> str:
        """The text of a rules file."""
        rules = {"version": 1, "rules": self.content.get("rules", [])}
        return yaml.safe_dump(rules, sort_keys=False, allow_unicode=True)

    @property
    def expected(self) -> dict[str, Any]:
        return whole(self.dialect, self.content["expect"][self.dialect] or {})

    @property
    def path(self) -> str:
        path = self._request.get("path", CHATS.get(self.dialect, "/chat/completions"))
        own = [mount for mount in discover_all()[self.dialect].mounts if mount not in _AT_OTHERS]
        return f"{own[-1]}{PREFIXES.get(self.dialect, '')}{path}"

    @property
    def method(self) -> str:
        return str(self._request.get("method", "POST"))

    @property
    def headers(self) -> Mapping[str, str] | None:
        return self._request.get("headers")

    @property
    def body(self) -> Any:
        """Bytes as they are sent, or what is sent as JSON."""
        if "raw" in self._request:
            return self._request["raw"].encode()
        body = self._request.get("body")
        if not isinstance(body, dict) or body.get("model") != "$model":
            return body
        model = MODELS.get(self.dialect + self._request.get("path", ""), "gpt-4o")
        return {key: model if key == "model" else value for key, value in body.items() if key != "model" or model}

    @property
    def _request(self) -> dict[str, Any]:
        return self.content["request"] | self.content.get("overrides", {}).get(self.dialect, {})


@cache
def read(file: Path) -> dict[str, Any]:
    """The cases of a file by name."""
    return dict(yaml.load(file.read_text(encoding="utf-8"), yaml.CSafeLoader))


def all_cases() -> Iterator[Case]:
    for file in FILES:
        for name, content in read(file).items():
            yield from (Case(file, name, dialect, content) for dialect in content["expect"])


def written(cases: Mapping[str, Any]) -> str:
    """The text of a file: what fits in a line is in one, and each frame is."""
    return "\n".join(
        yaml.dump({name: _shortened(content)}, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=1_000_000)
        for name, content in cases.items()
    )


def _shortened(content: Mapping[str, Any]) -> dict[str, Any]:
    replies = {dialect: shortened(dialect, whole(dialect, reply or {})) for dialect, reply in content["expect"].items()}
    return {**content, "expect": replies}


def frames_text(frames: list[Any]) -> str:
    return "".join(f"{f if isinstance(f, str) else json.dumps(f, ensure_ascii=False)}\n" for f in frames)


class _Dumper(yaml.CSafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent(self, data: Any) -> None:
        node = self.represent_data(data)
        _lay_out(node, start=0, indent=0, outer=2)
        self.serialize(node)


def _text(dumper: _Dumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def _lay_out(node: yaml.Node, *, start: int, indent: int, outer: int = 0) -> None:
    """Decide what goes in one line: all that fits, except the outer levels."""
    if not isinstance(node, yaml.CollectionNode):
        return
    node.flow_style = not outer and start + _width(node) <= WIDTH
    if node.flow_style:
        return
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            inner = indent if isinstance(value, yaml.SequenceNode) else indent + 2
            start = -WIDTH if key.value in IN_ONE_LINE else indent + len(key.value) + 2
            _lay_out(value, start=start, indent=inner, outer=max(0, outer - 1))
    else:
        for item in node.value:
            _lay_out(item, start=indent + 2, indent=indent + 2)


def _width(node: yaml.Node) -> int:
    """How long a node is in one line, about."""
    if isinstance(node, yaml.ScalarNode):
        return WIDTH if "\n" in node.value else len(node.value)
    if isinstance(node, yaml.MappingNode):
        return sum(_width(key) + _width(value) + 4 for key, value in node.value) or 2
    return sum(_width(item) + 2 for item in node.value) or 2
