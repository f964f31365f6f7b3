"""OpenAI's client, if it is installed, for a server; and the environment variables that lead clients there."""

import os
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mockserver.config.errors import ConfigError
from mockserver.config.source import did_you_mean
from mockserver.dialects import discover_all
from mockserver.server.client_environment import ADDRESS, find_key

if TYPE_CHECKING:
    from openai import OpenAI


class EnvironmentPatch:
    """Sets and unsets environment variables; `restore` undoes that, except for those changed since by others."""

    def __init__(self) -> None:
        self._before: dict[str, str | None] = {}
        self._set: dict[str, str | None] = {}

    def set(self, variables: Mapping[str, str | None]) -> None:
        """Set variables; None: unset one."""
        if self not in _ACTIVE:
            _ACTIVE.append(self)
        self._before |= {name: os.environ.get(name) for name in variables if name not in self._before}
        self._set |= variables
        _put(os.environ, variables)

    def restore(self) -> None:
        """Restore the previous values; call it again once others have undone their changes.

        monkeypatch, for one, restores our values at its end if it was started after us.
        """
        if self in _ACTIVE:
            _ACTIVE.remove(self)
        for name in self._undo(os.environ):
            del self._before[name]

    def _undo(self, environ: MutableMapping[str, str]) -> list[str]:
        """Restore the previous values in any environment; return the names of those that were ours."""
        ours = [name for name in self._before if environ.get(name) == self._set[name]]
        _put(environ, {name: self._before[name] for name in ours})
        return ours


def _put(environ: MutableMapping[str, str], variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            environ.pop(name, None)
        else:
            environ[name] = value


@contextmanager
def patch_environ(variables: Mapping[str, str]) -> Iterator[None]:
    """Set environment variables within the block."""
    patch = EnvironmentPatch()
    patch.set(variables)
    try:
        yield
    finally:
        patch.restore()


def add_to_environ(address: str, variables: Mapping[str, str]) -> None:
    """Set variables beside those that lead to the server at this address, for as long as those are set."""
    patch = next((patch for patch in reversed(_ACTIVE) if patch._set.get(ADDRESS) == address), None)
    if patch is not None:
        patch.set(variables)


def find_own_environ() -> Mapping[str, str]:
    """Return the environment without the active patches."""
    if not _ACTIVE:
        return os.environ
    environ = dict(os.environ)
    for patch in reversed(_ACTIVE):
        patch._undo(environ)
    return environ


def is_set_early(name: str) -> bool:
    """Return whether a variable had its present value before the latest patch, as with `mockserver_env = session`."""
    values = [patch._set[name] for patch in _ACTIVE if name in patch._set]
    return len(values) > len(set(values))


_ACTIVE: list[EnvironmentPatch] = []  # not restored yet, the latest last


def make_openai_client(kind: str, env: Mapping[str, str], dialect: str, options: Mapping[str, Any]) -> Any:
    """Return a client (`OpenAI`, `AsyncOpenAI`) for the server of these variables, with more options.

    Raises ConfigError.
    """
    try:
        import openai
    except ImportError as error:
        raise ConfigError("client() needs OpenAI's client: pip install openai") from error
    if dialect == _AZURE:
        kind = kind.replace("OpenAI", "AzureOpenAI")
    with patch_environ({name: env[name] for name in ("NO_PROXY", "no_proxy")}):  # it finds its proxies when created
        return getattr(openai, kind)(**{**_find_options(env, dialect), **options})


def is_usable(client: "OpenAI", env: Mapping[str, str]) -> bool:
    """Return whether a client for OpenAI's dialect is open and has the address and key of these variables."""
    if client.is_closed():
        return False
    return {"base_url": str(client.base_url).rstrip("/"), "api_key": client.api_key} == _find_options(env, "openai")


def _find_options(env: Mapping[str, str], dialect: str) -> dict[str, Any]:
    check_dialect(dialect)
    spoken = discover_all()[dialect]
    if dialect in _OWN_CLIENTS:
        raise ConfigError(f"OpenAI's client can't call {dialect}; use {_OWN_CLIENTS[dialect]}")
    base = env[ADDRESS] + spoken.mounts[0]
    key = find_key(env, dialect)
    if dialect == _AZURE:
        return {"azure_endpoint": base, "api_key": key, "api_version": spoken.variables["OPENAI_API_VERSION"]}
    return {"base_url": base, "api_key": key}


_AZURE = "azure_openai"
# The dialects that need a client of their own, and how it is created.
_OWN_CLIENTS: Mapping[str, str] = {
    "azure": 'azure-ai-inference: ChatCompletionsClient(mockserver.base_url("azure"), AzureKeyCredential("any"))',
    "bedrock": 'boto3: boto3.client("bedrock-runtime", endpoint_url=mockserver.base_url("bedrock"))',
    "anthropic": 'anthropic: Anthropic(base_url=mockserver.base_url("anthropic"), api_key="any")',
    "ollama": 'ollama: ollama.Client(mockserver.base_url("ollama"))',
    "cohere": 'cohere: ClientV2(base_url=mockserver.base_url("cohere"), api_key="any")',
    "gemini": 'google-genai: genai.Client(http_options={"base_url": mockserver.base_url("gemini")}, api_key="any")',
}


def check_dialect(name: str) -> None:
    """Raise ConfigError if there is no such dialect."""
    if name not in discover_all():
        raise ConfigError(f'there is no dialect "{name}"{did_you_mean(name, discover_all())}')


def find_socket_mount(dialect: str) -> str:
    """Return what stands before `/responses` in the path of a dialect's WebSocket. Raises ConfigError."""
    check_dialect(dialect)
    spoken = discover_all()[dialect]
    operation = next((each for each in spoken.operations if each.over_socket), None)
    if operation is None:
        raise ConfigError(f'the dialect "{dialect}" has no WebSockets')
    return spoken.mounts[0] + operation.path.rpartition("/")[0]
