"""Logins of MCP servers: bearer tokens, and OAuth whose codes and tokens follow from the seed.

Nothing is stored: a code is a hash of the client, the URI and the challenge that it stands for (MCP 2025-11-25,
Authorization; RFC 7636, RFC 8414, RFC 9728).
"""

from base64 import urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from urllib.parse import quote, urlencode, urlsplit

from mockserver.core.call import Call
from mockserver.core.json import Json
from mockserver.core.mcp_server import (
    AUTHORIZE,
    LOGIN,
    REGISTER,
    RESOURCE_METADATA,
    SERVER_METADATA,
    TOKEN,
    McpDocument,
    McpRequest,
    McpServer,
)
from mockserver.core.plan import Failure
from mockserver.core.seed import Seed
from mockserver.kinds.mcp import read_message

_LIFETIME = 3600  # seconds that tokens claim to be valid


def is_login(request: McpRequest) -> bool:
    """Return whether a request is part of a login, so that it needs no token."""
    return request.method.startswith(LOGIN)


def check_login(server: McpServer, call: Call, seed: Seed) -> None:
    """Raise Failure (401) for a client that has not logged in where it must."""
    login = server.login
    request = call.mcp
    if login is None or request is None:
        return
    wanted = _make_token(server, seed) if login.token is None else login.token
    if request.token == wanted:
        return
    where = f', resource_metadata="{_write_metadata_url(server, call)}"' if login.token is None else ""
    wrong = "" if request.token is None else ', error="invalid_token"'
    challenge = (("www-authenticate", f'Bearer realm="{quote(server.name)}"{wrong}{where}'),)
    raise Failure("missing_key" if request.token is None else "invalid_key", status=401, headers=challenge)


def _write_metadata_url(server: McpServer, call: Call) -> str:
    http = call.http
    own = http.server_url.removesuffix(http.prefix)
    return f"{own}/.well-known/oauth-protected-resource{http.prefix}/mcp/{quote(server.name)}"


def answer_login(server: McpServer, call: Call, seed: Seed) -> McpDocument:
    """Return the answer to a step of a login. Raises Failure (404) for a server without a login by OAuth."""
    request = read_message(call)
    if server.login is None or server.login.token is not None:
        raise Failure("not_found", "This server has no OAuth login.", status=404)
    base = f"{call.http.server_url}/mcp/{quote(server.name)}"
    match request.method:
        case str() as method if method == RESOURCE_METADATA:
            return McpDocument(_describe_resource(base))
        case str() as method if method == SERVER_METADATA:
            return McpDocument(_describe_authorization(base))
        case str() as method if method == REGISTER:
            return _register(server, request.params, seed)
        case str() as method if method == AUTHORIZE:
            return _authorize(server, request.params, seed)
        case str() as method if method == TOKEN:
            return _give_token(server, request.params, seed)
    raise AssertionError(request.method)


def _describe_resource(base: str) -> dict[str, Json]:
    return {"resource": base, "authorization_servers": [base], "bearer_methods_supported": ["header"]}


def _describe_authorization(base: str) -> dict[str, Json]:
    return {
        "issuer": base,
        "authorization_endpoint": f"{base}/authorize",
        "token_endpoint": f"{base}/token",
        "registration_endpoint": f"{base}/register",
        "response_types_supported": ["code"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "token_endpoint_auth_methods_supported": ["none", "client_secret_post", "client_secret_basic"],
        "code_challenge_methods_supported": ["S256"],
    }


def _register(server: McpServer, stated: Mapping[str, Json], seed: Seed) -> McpDocument:
    uris = stated.get("redirect_uris")
    if not isinstance(uris, list) or not all(isinstance(uri, str) for uri in uris):
        return _refuse("invalid_redirect_uri", "redirect_uris must be a list of URIs.")
    name = seed.draw_hex(32, "mcp client", server.name, *uris)
    method = stated.get("token_endpoint_auth_method", "none")
    secret = (
        {}
        if method == "none"
        else {"client_secret": seed.draw_hex(32, "mcp secret", name), "client_secret_expires_at": 0}
    )
    return McpDocument({**stated, "client_id": name, "client_id_issued_at": 0, **secret}, status=201)


def _authorize(server: McpServer, stated: Mapping[str, Json], seed: Seed) -> McpDocument:
    """Send the user back at once, with a code for the challenge of the client."""
    uri = str(stated.get("redirect_uri", ""))
    if not _is_fit_to_return_to(uri):
        return _refuse("invalid_request", "redirect_uri is missing or not valid.")
    state = {} if "state" not in stated else {"state": str(stated["state"])}
    if stated.get("response_type") != "code" or not stated.get("code_challenge"):
        answer = {"error": "invalid_request", "error_description": "A code needs a code_challenge."}
    elif stated.get("code_challenge_method", "plain") != "S256":
        answer = {"error": "invalid_request", "error_description": "code_challenge_method must be S256."}
    else:
        answer = {"code": _make_code(server, seed, stated=stated, challenge=str(stated["code_challenge"]))}
    between = "&" if "?" in uri else "?"
    return McpDocument({}, status=302, location=f"{uri}{between}{urlencode({**answer, **state})}")


def _is_fit_to_return_to(uri: str) -> bool:
    """Return whether it is a URI in ASCII (RFC 3986, 2) without a fragment (RFC 6749, 3.1.2) that no browser runs."""
    try:
        scheme = urlsplit(uri).scheme.lower()
    except ValueError:  # a broken IPv6 address, for one
        return False
    return (
        uri.isascii()
        and uri.isprintable()
        and "#" not in uri
        and scheme not in ("", "javascript", "data", "vbscript", "file")
    )


def _give_token(server: McpServer, stated: Mapping[str, Json], seed: Seed) -> McpDocument:
    match stated.get("grant_type"):
        case "authorization_code":
            verifier = str(stated.get("code_verifier", ""))
            digest = sha256(verifier.encode("utf-8", "replace")).digest()
            challenge = urlsafe_b64encode(digest).decode().rstrip("=")
            if stated.get("code") != _make_code(server, seed, stated=stated, challenge=challenge):
                return _refuse("invalid_grant", "The code does not belong to this client, URI and code_verifier.")
        case "refresh_token":
            if stated.get("refresh_token") != _make_refresh_token(server, seed):
                return _refuse("invalid_grant", "The refresh token is not known.")
        case _:
            return _refuse("unsupported_grant_type", "grant_type must be authorization_code or refresh_token.")
    scope = {"scope": stated["scope"]} if isinstance(stated.get("scope"), str) else {}
    tokens = {"access_token": _make_token(server, seed), "refresh_token": _make_refresh_token(server, seed)}
    return McpDocument({**tokens, "token_type": "Bearer", "expires_in": _LIFETIME, **scope})


def _make_code(server: McpServer, seed: Seed, *, stated: Mapping[str, Json], challenge: str) -> str:
    stands_for = (str(stated.get("client_id", "")), str(stated.get("redirect_uri", "")), challenge)
    return seed.draw_hex(32, "mcp code", server.name, *stands_for)


def _make_token(server: McpServer, seed: Seed) -> str:
    return "mcp_" + seed.draw_hex(32, "mcp token", server.name)


def _make_refresh_token(server: McpServer, seed: Seed) -> str:
    return "mcp_refresh_" + seed.draw_hex(32, "mcp refresh token", server.name)


def _refuse(error: str, why: str) -> McpDocument:
    return McpDocument({"error": error, "error_description": why}, status=400)
