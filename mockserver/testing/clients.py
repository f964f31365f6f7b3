"""Ready-made clients: OpenAI's own, where it is installed, for every dialect that it can speak."""

from typing import TYPE_CHECKING, Any

from mockserver.core.errors import ConfigError
from mockserver.dialects import discover
from mockserver.positions import did_you_mean
from mockserver.server.environment import KEY

if TYPE_CHECKING:
    from openai import AsyncOpenAI, OpenAI


def client(address: str, dialect: str, **options: Any) -> "OpenAI":
    """A client for a server at this address; `options` are the client's own. Raises ConfigError."""
    openai = _openai()
    made: OpenAI = (openai.AzureOpenAI if dialect == _AZURE else openai.OpenAI)(**_given(address, dialect), **options)
    return made


def async_client(address: str, dialect: str, **options: Any) -> "AsyncOpenAI":
    """The same that is awaited."""
    openai, given = _openai(), _given(address, dialect)
    made: AsyncOpenAI = (openai.AsyncAzureOpenAI if dialect == _AZURE else openai.AsyncOpenAI)(**given, **options)
    return made


def _openai() -> Any:
    try:
        import openai
    except ImportError as error:
        raise ConfigError("client() is OpenAI's, which is not installed: pip install openai") from error
    return openai


def _given(address: str, dialect: str) -> dict[str, str]:
    """Where a client is led, and with which key."""
    spoken = discover().get(dialect)
    if spoken is None:
        raise ConfigError(f'there is no dialect "{dialect}"{did_you_mean(dialect, discover())}')
    if dialect == _INFERENCE:
        raise ConfigError(
            "azure is spoken by azure-ai-inference, not by OpenAI's client:"
            ' ChatCompletionsClient(mockserver.base_url("azure"), AzureKeyCredential("any"))'
        )
    base = address + spoken.mounts[0]
    if dialect == _AZURE:
        return {"azure_endpoint": base, "api_key": KEY, "api_version": spoken.variables["OPENAI_API_VERSION"]}
    return {"base_url": base, "api_key": KEY}


_AZURE, _INFERENCE = "azure_openai", "azure"
