"""Ready-made clients: OpenAI's own, where it is installed, for every dialect that it can speak."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mockserver.core.errors import ConfigError
from mockserver.dialects import discover
from mockserver.positions import did_you_mean
from mockserver.server.environment import ADDRESS, key_in

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI


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
