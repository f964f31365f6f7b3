"""What providers publish of well-known models: windows, vocabularies, and what a model certainly lacks.

A name may stand behind a path (`openai/gpt-4o`, `accounts/fireworks/models/qwen3-8b`) or in a fine-tuned model's name,
in any case. Of a model that is not here nothing is known, and where a provider's word is not certain, nothing is said.
"""

from collections.abc import Mapping
from dataclasses import replace

from mockserver.engine.models import Model, fits


def published(name: str) -> Model | None:
    """What is published of the model of that name; None where it is not well known."""
    base = _base(name) if len(name) <= _LONGEST else ""
    return next((model for pattern, model in PUBLISHED.items() if fits(pattern, base)), None)


def _base(name: str) -> str:
    """The name without the path before it, in OpenAI's spelling: `gpt-35-turbo` is Azure's."""
    base = name.rpartition("/")[2].lower()
    if base.startswith("ft:"):
        base = base.split(":")[1]
    return base.replace("gpt-35-", "gpt-3.5-")


_LONGEST = 200
_K = 1024

_GPT_3 = Model(4096, 4096, "cl100k_base", vision=False, json_schema=False, reasoning=False)
_OLD = replace(_GPT_3, tools=False)
_GPT_4 = replace(_GPT_3, context_window=8192, max_output_tokens=8192)
_TURBO = replace(_GPT_3, context_window=128_000, max_output_tokens=4096)
_GPT_4O = Model(128_000, 16_384, "o200k_base", reasoning=False)
_GPT_41 = Model(1_047_576, 32_768, "o200k_base", reasoning=False)
_GPT_5 = Model(400_000, 128_000, "o200k_base", reasoning=True)
_O = Model(200_000, 100_000, "o200k_base", reasoning=True, sampling=False)
_O1_EARLY = Model(128_000, 65_536, "o200k_base", tools=False, vision=False, json_schema=False, sampling=False)
_EMBEDDING = Model(8192, tokenizer="cl100k_base")


# The first pattern that fits counts.
PUBLISHED: Mapping[str, Model] = {
    "gpt-3.5-turbo-instruct*": _OLD,
    "gpt-3.5-turbo-0301": _OLD,
    "gpt-3.5-turbo-0613": _GPT_3,
    "gpt-3.5-turbo*": replace(_GPT_3, context_window=16_385),
    "gpt-4-turbo-preview": _TURBO,
    "gpt-4-0125*": _TURBO,
    "gpt-4-1106-preview": _TURBO,
    "gpt-4-turbo*": replace(_TURBO, vision=None),
    "gpt-4-*vision*": replace(_TURBO, vision=None, tools=False),
    "gpt-4-32k*": replace(_GPT_4, context_window=32_768),
    "gpt-4-0314": replace(_GPT_4, tools=False),
    "gpt-4-0613": _GPT_4,
    "gpt-4": _GPT_4,
    "gpt-4o-2024-05-13": replace(_GPT_4O, max_output_tokens=4096, json_schema=False),
    "gpt-4o*": _GPT_4O,
    "chatgpt-4o-latest": replace(_GPT_4O, tools=False),
    "gpt-4.1*": _GPT_41,
    "gpt-4.5*": _GPT_4O,
    "gpt-5-chat*": _GPT_4O,
    "gpt-5-pro*": replace(_GPT_5, max_output_tokens=272_000, sampling=False),
    "gpt-5": replace(_GPT_5, sampling=False),
    "gpt-5-*": replace(_GPT_5, sampling=False),
    "gpt-5.*": _GPT_5,
    "gpt-oss-*": Model(128 * _K, tokenizer="o200k_base", reasoning=True),
    "o1-preview*": replace(_O1_EARLY, max_output_tokens=32_768),
    "o1-mini*": _O1_EARLY,
    "o1": _O,
    "o1-*": _O,
    "o3-mini*": replace(_O, vision=False),
    "o3": _O,
    "o3-*": _O,
    "o4-mini*": _O,
    "codex-mini*": _O,
    "text-embedding-*": _EMBEDDING,
    "babbage-002": replace(_OLD, context_window=16_384, max_output_tokens=16_384),
    "davinci-002": replace(_OLD, context_window=16_384, max_output_tokens=16_384),
    "llama-3-*": Model(8 * _K),
    "llama-v3-*": Model(8 * _K),
    "meta-llama-3-*": Model(8 * _K),
    "llama-3*": Model(128 * _K),
    "llama-v3*": Model(128 * _K),
    "meta-llama-3*": Model(128 * _K),
    "llama-4-*": Model(1024 * _K),
    "llama4-*": Model(1024 * _K),
    "mixtral-8x7b*": Model(32 * _K),
    "mixtral-8x22b*": Model(64 * _K),
    "mistral-7b*": Model(32 * _K),
    "mistral-large*": Model(128 * _K),
    "mistral-medium*": Model(128 * _K),
    "mistral-small*": Model(128 * _K),
    "mistral-nemo*": Model(128 * _K),
    "ministral-*": Model(128 * _K),
    "codestral-*": Model(256 * _K),
    "deepseek-v3*": Model(160 * _K),
    "deepseek-r1": Model(160 * _K, reasoning=True),
    "deepseek-r1-0528": Model(160 * _K, reasoning=True),
    "qwen3-8b": Model(40 * _K),
    "qwen3-235b*": Model(256 * _K),
    "qwen3-coder*": Model(256 * _K),
    "qwen2p5-72b*": Model(128 * _K),
    "kimi-k2-instruct": Model(128 * _K),
    "kimi-k2-*": Model(256 * _K),
    "glm-4p5*": Model(128 * _K),
    "glm-4p6*": Model(198 * _K),
    "phi-4": Model(16 * _K),
    "phi-4-reasoning*": Model(32 * _K, reasoning=True),
    "phi-4-m*": Model(128 * _K),
    "phi-3*-4k-*": Model(4 * _K),
    "phi-3*-8k-*": Model(8 * _K),
    "phi-3*-128k-*": Model(128 * _K),
    "phi-3.5-*": Model(128 * _K),
    "cohere-command-a*": Model(256 * _K),
    "cohere-command-r*": Model(128 * _K),
    "cohere-embed-v3*": Model(512),
    "ai21-jamba-1.5*": Model(256 * _K),
    "claude-*": Model(1_000_000),
    "gemini-2.5-*": Model(1024 * _K),
    "tzafon.*": Model(32 * _K),
}
