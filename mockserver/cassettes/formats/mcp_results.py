"""Results of MCP servers."""

from collections.abc import Sequence

from mockserver.cassettes.formats import AnswerFormat
from mockserver.cassettes.parsed_response import (
    ParsedChoice,
    ParsedPart,
    ParsedResponse,
    Table,
    read_rows,
    read_table,
    read_text,
)
from mockserver.cassettes.stream_events import Event
from mockserver.core.mcp_messages import ResponseEvent


def _read_mcp_result(body: Table) -> ParsedResponse:
    """Read the texts of a result of an MCP server, or its error."""
    result = read_table(body.get("result"))
    contents = [*read_rows(result.get("content")), *read_rows(result.get("contents"))]
    contents += [read_table(message.get("content")) for message in read_rows(result.get("messages"))]
    texts = [read_text(content["text"]) for content in contents if "text" in content]
    for key in _MCP_LISTS:
        if key in result:
            names = [str(entry.get("name")) for entry in read_rows(result[key])]
            texts.append(f"{key}: {', '.join(names) or 'none'}")
    if "serverInfo" in result:
        server = read_table(result["serverInfo"])
        texts.append(f"{server.get('name')} {server.get('version')}")
    parts = tuple(ParsedPart("text", text) for text in texts)
    return ParsedResponse(choices=(ParsedChoice(parts),) if parts else (), error=body.get("error"))


def _read_mcp_events(found: Sequence[Event]) -> ParsedResponse:
    """Read the response among the messages of a stream."""
    responses = [event.table for event in found if "result" in event.table or "error" in event.table]
    return _read_mcp_result(responses[-1]) if responses else ParsedResponse(complete=False)


_MCP_LISTS = ("tools", "resources", "resourceTemplates", "prompts")

RESULTS = AnswerFormat(_read_mcp_events, _read_mcp_result, ResponseEvent())
