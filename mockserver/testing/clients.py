"""Ready-made clients: OpenAI's own, where it is installed, for every dialect that it can speak."""

import os
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from mockserver.config.errors import ConfigError
from mockserver.config.source import did_you_mean
from mockserver.dialects import discover
from mockserver.server.run import ADDRESS, key_in

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI


class Environs:
    """What stood in the environment before; `restore` puts it back, but for what somebody else has changed since."""

    def __init__(self) -> None:
        self._before: dict[str, str | None] = {}
        self._put: dict[str, str] = {}

    def put(self, variables: Mapping[str, str]) -> None:
        """Set these."""
        if self not in _AT_WORK:
            _AT_WORK.append(self)
        for name, value in variables.items():
            self._before.setdefault(name, os.environ.get(name))
            os.environ[name] = self._put[name] = value

    def restore(self) -> None:
        """Put back what stood there. If somebody else's change is undone later, it can be done again for what is left.

        monkeypatch may have found ours when it came, and puts that back when all is over.
        """
        if self in _AT_WORK:
            _AT_WORK.remove(self)
        for name in self._taken_from(os.environ):
            del self._before[name]

    def _taken_from(self, environ: MutableMapping[str, str]) -> list[str]:
        """Put back what stood there, in any environment; the names of what was ours."""
        ours = [name for name in self._before if environ.get(name) == self._put[name]]
        for name in ours:
            value = self._before[name]
            if value is None:
                del environ[name]
            else:
                environ[name] = value
        return ours


@contextmanager
def led(variables: Mapping[str, str]) -> Iterator[None]:
    """Set these as long as it lasts."""
    environs = Environs()
    environs.put(variables)
    try:
        yield
    finally:
        environs.restore()


def without_ours() -> Mapping[str, str]:
    """The environment as it is but for what is set for a while."""
    if not _AT_WORK:
        return os.environ
    environ = dict(os.environ)
    for environs in reversed(_AT_WORK):
        environs._taken_from(environ)
    return environ


_AT_WORK: list[Environs] = []  # what has been put and is not restored yet, the latest last


def client(env: Mapping[str, str], dialect: str, **options: Any) -> "OpenAI":
    """A client for the server that these variables lead to; `options` are the client's own. Raises ConfigError."""
    openai, given = _openai(), {**_given(env, dialect), **options}
    made: OpenAI = (openai.AzureOpenAI if dialect == _AZURE else openai.OpenAI)(**given)
    return made


def async_client(env: Mapping[str, str], dialect: str, **options: Any) -> "AsyncOpenAI":
    """The same that is awaited."""
    openai, given = _openai(), {**_given(env, dialect), **options}
    made: AsyncOpenAI = (openai.AsyncAzureOpenAI if dialect == _AZURE else openai.AsyncOpenAI)(**given)
    return made


def usual(env: Mapping[str, str], before: "OpenAI | None") -> "OpenAI":
    """The client for OpenAI's dialect: the one from before, if it is open, with the same address and key."""
    given = _given(env, "openai")
    if before is None or before.is_closed():
        return client(env, "openai")
    same = (str(before.base_url).rstrip("/"), before.api_key) == tuple(given.values())
    return before if same else client(env, "openai")


def _openai() -> Any:
    try:
        import openai
    except ImportError as error:
        raise ConfigError("client() is OpenAI's, which is not installed: pip install openai") from error
    return openai


def _given(env: Mapping[str, str], dialect: str) -> dict[str, Any]:
    """Where a client is led, and with which key."""
    spoken = discover().get(dialect)
    if spoken is None:
        raise ConfigError(f'there is no dialect "{dialect}"{did_you_mean(dialect, discover())}')
    if dialect == _INFERENCE:
        raise ConfigError(
            "azure is spoken by azure-ai-inference, not by OpenAI's client:"
            ' ChatCompletionsClient(mockserver.base_url("azure"), AzureKeyCredential("any"))'
        )
    base, key = env[ADDRESS] + spoken.mounts[0], key_in(env, dialect)
    if dialect == _AZURE:
        return {"azure_endpoint": base, "api_key": key, "api_version": spoken.variables["OPENAI_API_VERSION"]}
    return {"base_url": base, "api_key": key}


_AZURE, _INFERENCE = "azure_openai", "azure"
