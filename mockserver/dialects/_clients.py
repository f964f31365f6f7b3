"""Where the official clients of each dialect are pointed: its base paths, and the variables that they read.

A server lists them all when it starts. Importing every dialect for that would double the time of a start.
"""

from collections.abc import Mapping

from msgspec import Struct


class ClientConfig(Struct, frozen=True):
    """The fields of the same names in `Dialect`."""

    mounts: tuple[str, ...]
    variables: Mapping[str, str] = {}
    one_key: tuple[str, ...] = ()


CLIENT_CONFIGS: Mapping[str, ClientConfig] = {
    "anthropic": ClientConfig(
        mounts=("/anthropic",),
        variables={
            "ANTHROPIC_BASE_URL": "{address}/anthropic",
            "ANTHROPIC_API_URL": "{address}/anthropic",
            "ANTHROPIC_API_KEY": "{key}",
            "ANTHROPIC_AUTH_TOKEN": "",
            "ANTHROPIC_PROFILE": "",
            "CLAUDE_CODE_USE_BEDROCK": "",
            "CLAUDE_CODE_USE_VERTEX": "",
        },
    ),
    "azure": ClientConfig(
        mounts=("/azure",),
        variables={
            "AZURE_AI_API_BASE": "{address}/azure",
            "AZURE_AI_API_KEY": "{key}",
            "AZURE_INFERENCE_ENDPOINT": "{address}/azure",
            "AZURE_INFERENCE_CREDENTIAL": "{key}",
            "AZURE_AI_CHAT_ENDPOINT": "{address}/azure",
            "AZURE_AI_CHAT_KEY": "{key}",
        },
    ),
    "azure_openai": ClientConfig(
        mounts=("/azure-openai", "/azure"),  # the same resource also serves the model inference API
        variables={
            "AZURE_OPENAI_ENDPOINT": "{address}/azure-openai",
            "AZURE_OPENAI_API_KEY": "{key}",
            "AZURE_API_BASE": "{address}/azure-openai",
            "AZURE_API_KEY": "{key}",
            "OPENAI_API_VERSION": "2024-10-21",
            "AZURE_API_VERSION": "2024-10-21",
        },
    ),
    "cohere": ClientConfig(
        mounts=("/cohere",),
        variables={
            "CO_API_URL": "{address}/cohere",
            "CO_API_KEY": "{key}",
            "COHERE_API_KEY": "{key}",
        },
    ),
    "crazyrouter": ClientConfig(mounts=("/crazyrouter/v1",)),
    "fireworks": ClientConfig(
        mounts=("/fireworks/inference/v1", "/fireworks/v1"),
        variables={
            "FIREWORKS_BASE_URL": "{address}/fireworks/inference",
            "FIREWORKS_API_KEY": "{key}",
            "FIREWORKS_API_BASE": "{address}/fireworks/inference/v1",
            "FIREWORKS_AI_API_KEY": "{key}",
        },
    ),
    "gemini": ClientConfig(
        mounts=("/gemini",),
        variables={
            "GOOGLE_GEMINI_BASE_URL": "{address}/gemini",
            "GEMINI_API_KEY": "{key}",
            "GOOGLE_API_KEY": "{key}",
            "GOOGLE_GENERATIVE_AI_API_KEY": "{key}",
            "GOOGLE_VERTEX_BASE_URL": "{address}/gemini",
            "GEMINI_API_BASE": "{address}/gemini/v1beta",
            "GOOGLE_GENAI_USE_VERTEXAI": "",
            "GOOGLE_GENAI_USE_ENTERPRISE": "",
        },
        one_key=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
    ),
    "jina": ClientConfig(
        mounts=("/jina",),
        variables={"JINA_AI_API_BASE": "{address}/jina/v1", "JINA_API_KEY": "{key}", "JINA_AI_API_KEY": "{key}"},
    ),
    "mistral": ClientConfig(
        mounts=("/mistral/v1",),
        variables={
            "MISTRAL_BASE_URL": "{address}/mistral/v1",
            "MISTRAL_API_BASE": "{address}/mistral/v1",
            "MISTRAL_API_KEY": "{key}",
        },
    ),
    "ollama": ClientConfig(
        mounts=("/ollama",),
        variables={
            "OLLAMA_HOST": "{address}/ollama",
            "OLLAMA_API_BASE": "{address}/ollama",
            "OLLAMA_BASE_URL": "{address}/ollama",
            "OLLAMA_API_KEY": "{key}",
        },
    ),
    "openai": ClientConfig(
        mounts=("/openai/v1",),
        variables={
            "OPENAI_BASE_URL": "{address}/openai/v1",
            "OPENAI_API_BASE": "{address}/openai/v1",
            "OPENAI_API_KEY": "{key}",
            "OPENAI_API_TYPE": "openai",
        },
    ),
    "skytells": ClientConfig(mounts=("/skytells/v1",)),
    "tzafon": ClientConfig(
        mounts=("/tzafon/v1",), variables={"LIGHTCONE_BASE_URL": "{address}/tzafon", "TZAFON_API_KEY": "{key}"}
    ),
    "voyage": ClientConfig(mounts=("/voyage",), variables={"VOYAGE_API_KEY": "{key}"}),
}
