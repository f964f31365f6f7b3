"""Turns recorded answers of MCP servers into a definition of these servers, and their calls into rules."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from mockserver.cassettes.parsed_response import read_rows, read_table
from mockserver.cassettes.to_rules import (
    AnsweredCall,
    DraftedRules,
    SkippedCall,
    UnsupportedError,
    answer_in_turn,
    escape_template,
    match_exactly,
)
from mockserver.core.json import Json, compact, map_texts, try_parse
from mockserver.core.mcp_server import HANDSHAKES

Table = Mapping[str, Json]


class RecordedMcpAnswer(Struct, frozen=True):
    """The answer of a server to a request: `response` is the whole message, `source` where it is recorded."""

    server: str
    method: str
    params: Table
    response: Table
    source: str = ""

    @property
    def result(self) -> Table:
        return read_table(self.response.get("result"))

    @property
    def target(self) -> str:
        return str(self.params.get("uri" if self.method == "resources/read" else "name", ""))


def define_servers(answers: Iterable[RecordedMcpAnswer]) -> dict[str, Table]:
    """Return the servers as a rules file defines them, by name."""
    by_server: dict[str, list[RecordedMcpAnswer]] = {}
    for answer in answers:
        by_server.setdefault(answer.server, []).append(answer)
    return {name: _define_server(found) for name, found in by_server.items()}


def _define_server(answers: Sequence[RecordedMcpAnswer]) -> Table:
    defined: dict[str, Json] = {}
    listed: dict[str, dict[str, Table]] = {"tools": {}, "resources": {}, "prompts": {}}
    for answer in answers:
        if answer.method in HANDSHAKES:
            defined |= _describe_server(answer.result)
        for kind, entries in listed.items():
            for entry in read_rows(answer.result.get(kind)):
                made = _ENTRIES[kind](entry)
                entries[str(made.get("name" if kind != "resources" else "uri"))] = made
        if answer.method == "resources/read":
            contents = read_rows(answer.result.get("contents"))
            if len(contents) == 1:
                known = listed["resources"].get(answer.target, {"uri": answer.target})
                listed["resources"][answer.target] = {**known, **_read_content(contents[0])}
    return {**defined, **{kind: list(entries.values()) for kind, entries in listed.items() if entries}}


def _describe_server(result: Table) -> dict[str, Json]:
    named = read_table(result.get("serverInfo")) or read_table(
        read_table(result.get("_meta")).get("io.modelcontextprotocol/serverInfo")
    )
    stated = {"title": named.get("title"), "version": named.get("version"), "instructions": result.get("instructions")}
    return {key: value for key, value in stated.items() if isinstance(value, str) and value}


def _define_tool(tool: Table) -> Table:
    schemas = {"input": tool.get("inputSchema"), "output": tool.get("outputSchema")}
    return {**_keep(tool, "name", "title", "description"), **_leave_out_none(schemas), **_keep(tool, "annotations")}


def _define_resource(resource: Table) -> Table:
    mime = _leave_out_none({"mime": resource.get("mimeType")})
    return {**_keep(resource, "uri", "name", "description"), **mime}


def _define_prompt(prompt: Table) -> Table:
    listed = read_rows(prompt.get("arguments"))
    arguments = [f"{each.get('name')}{'' if each.get('required') else '?'}" for each in listed]
    return {**_keep(prompt, "name", "description"), **({"arguments": arguments} if arguments else {})}


def _read_content(content: Table) -> dict[str, Json]:
    mime = {"mime": content["mimeType"]} if isinstance(content.get("mimeType"), str) else {}
    return {**mime, **_keep(content, "text", "blob")}


def _keep(table: Table, *names: str) -> dict[str, Json]:
    return {name: table[name] for name in names if table.get(name) is not None}


def _leave_out_none(table: Table) -> dict[str, Json]:
    return {name: value for name, value in table.items() if value is not None}


_ENTRIES = {"tools": _define_tool, "resources": _define_resource, "prompts": _define_prompt}


def make_call_rules(answers: Iterable[RecordedMcpAnswer]) -> DraftedRules:
    """Return a rule for each call of a tool or prompt. Answers to equal calls are given in turn."""
    groups = dict[str, list[AnsweredCall]]()
    conditions = dict[str, Table]()
    skipped = list[SkippedCall]()
    for answer in answers:
        if answer.method in _FIELDS:
            when = _make_when(answer)
            try:
                call = AnsweredCall(answer.source, _make_then(answer))
            except UnsupportedError as error:
                skipped.append(SkippedCall(answer.source, str(error)))
                continue
            groups.setdefault(compact(when), []).append(call)
            conditions.setdefault(compact(when), when)
    return DraftedRules(
        [rule for key, group in groups.items() for rule in answer_in_turn(group, conditions[key])], skipped
    )


def _make_when(answer: RecordedMcpAnswer) -> Table:
    named = {"mcp": match_exactly(answer.server), _FIELDS[answer.method]: match_exactly(answer.target)}
    arguments = read_table(answer.params.get("arguments"))
    return {**named, **({"arguments": {"equals": arguments}} if arguments else {})}


_FIELDS = {"tools/call": "tool", "prompts/get": "prompt_name"}


def _make_then(answer: RecordedMcpAnswer) -> Table:
    """Return the `then` of a rule that gives an answer. Raises UnsupportedError."""
    error = read_table(answer.response.get("error"))
    if error:
        stated = {"code": error.get("code"), "message": escape_template(str(error.get("message", "")))}
        return {"error": _leave_out_none({**stated, "data": error.get("data")})}
    if answer.method == "prompts/get":
        contents = [read_table(each.get("content")) for each in read_rows(answer.result.get("messages"))]
        text = _find_only_text(contents)
        if text is None:
            raise UnsupportedError("its prompt is more than one text; keep the cassette")
        return {"text": escape_template(text)}
    content = read_rows(answer.result.get("content"))
    structured = answer.result.get("structuredContent")
    text = _find_only_text(content)
    if answer.result.get("isError") is True:
        if text is None:
            raise UnsupportedError("its error is more than one text; keep the cassette")
        return {"tool_error": escape_template(text)}
    if structured is not None and (text is None or _says_same(text, structured)):
        return {"json": map_texts(structured, escape_template)}
    if text is not None:
        return {"text": escape_template(text)}
    return {"content": map_texts(content, escape_template)}


def _says_same(text: str, structured: Json) -> bool:
    """Return whether a text is a structured value, or the single one in it, which libraries wrap so."""
    if try_parse(text) == structured:
        return True
    wrapped = structured.get("result") if isinstance(structured, Mapping) and len(structured) == 1 else None
    return wrapped is not None and text in (wrapped, compact(wrapped))


def _find_only_text(content: Sequence[Table]) -> str | None:
    texts = [each.get("text") for each in content if each.get("type") == "text"]
    return str(texts[0]) if len(texts) == len(content) == 1 else None
