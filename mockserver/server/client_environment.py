"""Where to point clients: the environment for official ones, each dialect's base URL, and the page that shows these."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from urllib.parse import quote

from mockserver.config.settings import MCP_ADDRESS, Settings, name_key_variable
from mockserver.core.http import CONTROL, HttpRequest, Reply
from mockserver.core.mcp_server import UPSTREAM, is_upstream_name
from mockserver.dialects import Dialect, list_client_configs
from mockserver.dialects._clients import ClientConfig
from mockserver.server.routes import drop_dialect_segment

KEY = "sk-mockserver"
ADDRESS = "MOCKSERVER_URL"  # for programs that put together a base of their own
MCP_KEY = "MOCKSERVER_MCP_KEY"  # which `mockserver mcp` shows to a server with keys
NEAR = ("127.0.0.1", "localhost", "::1")  # what no proxy can reach for us
_OPENAI = ("OPENAI_BASE_URL", "OPENAI_API_BASE")


def make_environment(
    address: str, settings: Settings, environ: Mapping[str, str], servers: Iterable[str] = ()
) -> Mapping[str, str]:
    """Return the variables to set for clients of a server at this address, besides those of `environ`.

    `servers` names MCP servers: the URL of `files` is in `MOCKSERVER_MCP_FILES`.

    OpenAI's client speaks dialects without variables of their own: it is led to such a `dialect` of the settings. A
    real key stays only if an upstream needs it; so do variables that lead clients past the server.
    """
    facts = {"address": address, "key": next((key for key, its in (settings.keys or {}).items() if its.allowed), KEY)}
    configs = list_client_configs()
    spoken = configs[settings.dialect]
    found = {ADDRESS: address}
    found |= {name_mcp_variable(name): f"{address}/mcp/{quote(name, safe='')}" for name in servers}
    if settings.keys:
        found[MCP_KEY] = facts["key"]
    for name, dialect in configs.items():
        led_to = settings.dialect if not spoken.variables and _OPENAI[0] in dialect.variables else name
        own = led_to in settings.upstream and settings.keys is None
        real = own and not environ.get(name_key_variable(led_to))
        omitted = _list_omitted(dialect, environ, real=real)
        for variable, text in dialect.variables.items():
            if variable in omitted or (not text and (own or variable not in environ)):
                continue
            value = text.format_map(facts)
            stays = (value == text != "") or (real and text == "{key}")
            found[variable] = (environ.get(variable) or value) if stays else value
    if not spoken.variables:
        found |= dict.fromkeys(_OPENAI, address + spoken.mounts[0])
    for name, other in ("NO_PROXY", "no_proxy"), ("no_proxy", "NO_PROXY"):
        listed = environ.get(name) or environ.get(other, "")  # clients that find one of them do not read the other
        hosts = list(filter(None, map(str.strip, listed.split(","))))
        found[name] = listed if "*" in hosts else ",".join(dict.fromkeys((*hosts, *NEAR)))
    return found


def list_mcp_servers(defined: Iterable[str], settings: Settings, recorded: Iterable[str] = ()) -> Sequence[str]:
    """List the MCP servers that clients can reach: those of rules files, and those that are or will be recorded."""
    forwarded = [name.removeprefix(UPSTREAM) for name in settings.upstream if is_upstream_name(name)]
    return tuple(dict.fromkeys((*defined, *forwarded, *recorded)))


def name_mcp_variable(server: str) -> str:
    """Return the variable of an MCP server's URL."""
    return MCP_ADDRESS + re.sub(r"\W", "_", server).upper()


def _list_omitted(dialect: ClientConfig | Dialect, environ: Mapping[str, str], *, real: bool) -> Sequence[str]:
    """List the variables of keys that stay unset: a client could take one for the `real` key, or warn of a second."""
    keys = [name for name, text in dialect.variables.items() if text == "{key}"]
    if real and any(environ.get(name) for name, text in dialect.variables.items() if text in ("{key}", "")):
        return [name for name in keys if not environ.get(name)]
    unset = [name for name in dialect.one_key if not environ.get(name)]
    return unset[1:] if len(unset) == len(dialect.one_key) else unset


def find_key(env: Mapping[str, str], dialect: str) -> str:
    """Return the key that the dialect's own client takes from an environment; OpenAI's, if it reads none of its own."""
    variables = list_client_configs()[dialect].variables or list_client_configs()["openai"].variables
    return env[next(name for name, text in variables.items() if text == "{key}")]


def make_base_url(address: str, dialect: str) -> str:
    """Return what the provider's own client takes as its base."""
    spoken = list_client_configs()[dialect]
    if spoken.base:
        return address + spoken.base
    texts = (text for text in spoken.variables.values() if "{address}" in text)
    return next(texts, "{address}" + spoken.mounts[0]).format(address=address)


def make_bare_url(address: str, dialect: str) -> str:
    """Return the base of the settings' own dialect: that of `make_base_url` without the dialect's own segment."""
    return address + drop_dialect_segment(make_base_url("", dialect))


def write_openai_hint(dialect: str) -> str:
    """Return the remark behind a base URL that OpenAI's client has to make longer; empty for one that fits."""
    mount = list_client_configs()[dialect].mounts[0]
    base = make_base_url("", dialect)
    is_longer = mount.startswith(base) and mount != base
    return f"  (OpenAI's client: append {mount.removeprefix(base)})" if is_longer else ""


def list_mcp_addresses(address: str, servers: Iterable[str]) -> dict[str, str]:
    """Return where clients find MCP servers, by name."""
    return {name: f"{address}/mcp/{quote(name)}" for name in servers}


def render_home(http: HttpRequest, settings: Settings, servers: Iterable[str] = ()) -> Reply:
    """Return what this server is, where to point a client, and where its calls are: a page for browsers, JSON for
    programs.

    Within a namespace (`GET /ns/NAME`), the addresses and calls are those of the namespace. Names no rules.
    """
    from html import escape  # these two are slow: all of HTML's entities, and Starlette's responses

    from mockserver.server.access import SANDBOX, SECURITY
    from mockserver.server.namespaces import DEFAULT

    address = f"{settings.scheme}://{http.find_header('host') or f'{settings.host}:{settings.port}'}"
    seen = {"inspector": f"{CONTROL}/"} if settings.inspector else {}
    seen["calls"] = f"{CONTROL}/api/calls"
    root = address
    if http.namespace != DEFAULT:
        address += f"/ns/{http.namespace}"
        seen["calls"] += f"?namespace={quote(http.namespace)}"
    tools = list_mcp_addresses(address, servers)
    if "text/html" in (http.find_header("accept") or ""):
        bases = {name: escape(make_base_url(address, name)) for name in list_client_configs()}
        rows = "".join(
            f"<tr><td>{name}<td><code>{base}</code>{write_openai_hint(name)}" for name, base in bases.items()
        )
        rows += "".join(f"<tr><td>mcp {escape(name)}<td><code>{escape(url)}</code>" for name, url in tools.items())
        usual = escape(make_bare_url(address, settings.dialect))
        links = [f'<a href="{escape(path)}">{escape(path)}</a> ({name})' for name, path in seen.items()]
        kind = "text/html; charset=utf-8"
        body = _PAGE.format(usual=usual, dialect=settings.dialect, rows=rows, seen=" and ".join(links)).encode()
    else:
        bases = {name: address + each.mounts[0] for name, each in list_client_configs().items()}
        usual = address + drop_dialect_segment(list_client_configs()[settings.dialect].mounts[0])
        found = {"server": "mockserver", "base_url": usual, "dialect": settings.dialect, "base_urls": bases}
        found |= {name: root + path for name, path in seen.items()}
        if tools:
            found["mcp_servers"] = tools
        kind = "application/json"
        body = json.dumps(found).encode()
    safe = {**{name.decode(): value.decode() for name, value in SECURITY}, **dict(SANDBOX)}.items()
    return Reply(200, (("content-type", kind), ("content-length", str(len(body))), *safe), body)


_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>mockserver</title>
<h1>mockserver</h1>
<p>This is a mock server for LLM APIs. It answers as the providers do, by rules, recordings or made-up text.
<p>Point your client's base URL to <code>{usual}</code> ({dialect}), or to another provider's:
<table><tr><th>dialect<th>base URL{rows}</table>
<p>The calls it has received are shown at {seen}.
</html>
"""
