"""Remarks on rules for MCP servers that never answer, as no server has what they name."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from mockserver.config.source import did_you_mean
from mockserver.core.draft import PlayCassette
from mockserver.core.mcp_server import McpChange, McpServer
from mockserver.core.plan import Forward
from mockserver.rules.checks import is_for_mcp
from mockserver.rules.lint.remarks import Remark
from mockserver.rules.load import Rule
from mockserver.rules.match.conditions import find_pinned

_WORDS = {"mcp": "MCP server", "tool": "tool", "resource": "resource", "prompt_name": "prompt"}


def find_unserved(rules: Sequence[Rule], servers: Mapping[str, McpServer]) -> Iterator[Remark]:
    """Yield a remark for each rule that names a server, tool, resource or prompt that there is not.

    Without any server there are none, as tests may declare them. What a real server has, to which rules pass calls on
    or whose recordings they play, is not known.
    """
    real = [find_pinned(rule.when, "mcp") for rule in rules if is_for_mcp(rule.when) and _asks_real_server(rule)]
    for rule in rules if servers else ():
        named = find_pinned(rule.when, "mcp")
        if any(named is None or others is None or named & others for others in real):
            continue
        meant = [server for name, server in servers.items() if named is None or name in named]
        known = {"mcp": servers.keys(), **_list_offers(meant)}
        for field, word in _WORDS.items():
            stated = find_pinned(rule.when, field)
            if stated and not stated & known[field]:
                name = str(next(iter(sorted(map(str, stated)))))
                yield Remark(rule, f'never answers: there is no {word} "{name}"{did_you_mean(name, known[field])}')
                break


def _asks_real_server(rule: Rule) -> bool:
    return rule.then.known is not None and isinstance(rule.then.known.outcome, Forward | PlayCassette)


def _list_offers(servers: Iterable[McpServer]) -> dict[str, set[str]]:
    """Return the names of all that servers offer at any time, by the fields of rules."""
    offers: list[McpServer | McpChange] = []
    for server in servers:
        offers += (server, *server.changes)
    return {
        "tool": {tool.name for each in offers for tool in each.tools},
        "resource": {resource.uri for each in offers for resource in each.resources},
        "prompt_name": {prompt.name for each in offers for prompt in each.prompts},
    }
