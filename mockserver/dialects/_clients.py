"""Where the official clients of each dialect and host are pointed: its base paths, and the variables that they read.

A server lists them all when it starts. Importing every dialect for that would double the time of a start.
"""

from collections.abc import Mapping

from msgspec import Struct


class ClientConfig(Struct, frozen=True):
    """Where the clients of one dialect or host are pointed. Its fields are those that `Dialect` has by these names."""

    mounts: tuple[str, ...]
    variables: Mapping[str, str] = {}
    one_key: tuple[str, ...] = ()
    base: str = ""


OPENAI_AT_GOOGLE = "/gemini/v1beta/openai"  # where Google serves OpenAI's clients
CLIENT_CONFIGS: Mapping[str, ClientConfig] = {
    "anthropic": ClientConfig(
        mounts=("/anthropic", "/azure/anthropic", "/deepseek/anthropic"),
        variables={
            "ANTHROPIC_BASE_URL": "{address}/anthropic",
            "ANTHROPIC_API_URL": "{address}/anthropic",
            "ANTHROPIC_VERTEX_BASE_URL": "{address}/anthropic/v1",
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
    "bedrock": ClientConfig(
        mounts=("/bedrock",),
        variables={
            "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": "{address}/bedrock",
            "AWS_ENDPOINT_URL_BEDROCK": "{address}/bedrock",
            "AWS_ENDPOINT_URL_BEDROCK_AGENT_RUNTIME": "{address}/bedrock",
            "ANTHROPIC_BEDROCK_BASE_URL": "{address}/bedrock",
            "ANTHROPIC_BEDROCK_MANTLE_BASE_URL": "{address}/anthropic",
            "AWS_ACCESS_KEY_ID": "{key}",
            "AWS_SECRET_ACCESS_KEY": "{key}",
            "AWS_REGION": "us-east-1",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_BEARER_TOKEN_BEDROCK": "",
            "AWS_PROFILE": "",
            "AWS_SESSION_TOKEN": "",
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
    "cerebras": ClientConfig(
        mounts=("/cerebras/v1", "/cerebras"),
        variables={
            "CEREBRAS_BASE_URL": "{address}/cerebras",
            "CEREBRAS_API_KEY": "{key}",
            "CEREBRAS_API_BASE": "{address}/cerebras/v1",
        },
    ),
    "compatible": ClientConfig(mounts=("/compatible/v1", "/compatible")),
    "crazyrouter": ClientConfig(mounts=("/crazyrouter/v1",)),
    "deepseek": ClientConfig(
        mounts=("/deepseek", "/deepseek/beta", "/deepseek/v1"),
        variables={"DEEPSEEK_API_BASE": "{address}/deepseek", "DEEPSEEK_API_KEY": "{key}"},
    ),
    "fireworks": ClientConfig(
        # Some clients add `/v1` to the address that others want with it.
        mounts=("/fireworks/inference/v1", "/fireworks/v1", "/fireworks/inference/v1/v1"),
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
    "groq": ClientConfig(
        mounts=("/groq/openai/v1", "/groq/v1", "/groq"),
        variables={
            "GROQ_BASE_URL": "{address}/groq",
            "GROQ_API_KEY": "{key}",
            "GROQ_API_BASE": "{address}/groq/openai/v1",
        },
    ),
    "lmstudio": ClientConfig(
        mounts=("/lmstudio/v1", "/lmstudio/api/v0", "/lmstudio"),
        variables={"LM_STUDIO_API_BASE": "{address}/lmstudio/v1", "LM_STUDIO_API_KEY": "{key}"},
    ),
    "mistral": ClientConfig(
        mounts=("/mistral/v1", "/mistral"),
        base="/mistral",
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
        # Other providers serve OpenAI's clients there, besides their own.
        mounts=("/openai/v1", OPENAI_AT_GOOGLE, "/cohere/compatibility/v1", "/bedrock/openai/v1"),
        variables={
            "OPENAI_BASE_URL": "{address}/openai/v1",
            "OPENAI_API_BASE": "{address}/openai/v1",
            "OPENAI_API_KEY": "{key}",
            "OPENAI_API_TYPE": "openai",
        },
    ),
    "openrouter": ClientConfig(
        mounts=("/openrouter/api/v1", "/openrouter/v1", "/openrouter"),
        variables={
            "OPENROUTER_BASE_URL": "{address}/openrouter/api/v1",
            "OPENROUTER_API_BASE": "{address}/openrouter/api/v1",
            "OPENROUTER_API_KEY": "{key}",
        },
    ),
    "perplexity": ClientConfig(
        mounts=("/perplexity", "/perplexity/v1"),
        variables={
            "PERPLEXITY_BASE_URL": "{address}/perplexity",
            "PERPLEXITY_API_BASE": "{address}/perplexity",
            "PERPLEXITY_API_KEY": "{key}",
            "PERPLEXITYAI_API_KEY": "{key}",
        },
    ),
    "skytells": ClientConfig(mounts=("/skytells/v1",)),
    "together": ClientConfig(
        mounts=("/together/v1", "/together"),
        variables={
            "TOGETHER_BASE_URL": "{address}/together",
            "TOGETHER_API_KEY": "{key}",
            "TOGETHERAI_API_BASE": "{address}/together/v1",
            "TOGETHER_AI_API_BASE": "{address}/together/v1",
            "TOGETHERAI_API_KEY": "{key}",
            "TOGETHER_AI_API_KEY": "{key}",
        },
    ),
    "tzafon": ClientConfig(
        mounts=("/tzafon/v1",), variables={"LIGHTCONE_BASE_URL": "{address}/tzafon", "TZAFON_API_KEY": "{key}"}
    ),
    "voyage": ClientConfig(mounts=("/voyage/v1", "/voyage"), variables={"VOYAGE_API_KEY": "{key}"}),
    "vllm": ClientConfig(
        mounts=("/vllm/v1", "/vllm"),
        variables={"HOSTED_VLLM_API_BASE": "{address}/vllm/v1", "HOSTED_VLLM_API_KEY": "{key}"},
    ),
    "xai": ClientConfig(
        mounts=("/xai/v1", "/xai"),
        variables={"XAI_API_BASE": "{address}/xai/v1", "XAI_API_KEY": "{key}"},
    ),
}
