"""The table of hosts: what each shows, counts, refuses and lists. Everything else is OpenAI's.

A host is mounted at its name, with and without `/v1`, and with what its own clients put between.
"""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from mockserver.config.hosts import GENERIC, HostSettings
from mockserver.core.call import IdShape
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Text
from mockserver.dialects._clients import CLIENT_CONFIGS
from mockserver.dialects.compatible import usage
from mockserver.dialects.compatible.checks import (
    Check,
    check_cerebras,
    check_deepseek,
    check_groq,
    check_nothing,
    check_xai,
)
from mockserver.dialects.compatible.errors import STYLES, ErrorStyle
from mockserver.wire.chat import ChatExtras, ChatLayout

History = Literal["ignore", "require", "refuse"]
MAX_CHOICES = 128  # of an answer
MAX_MODEL_LENGTH = 32_768  # tokens that vLLM's model takes
_HEARING = frozenset({"transcriptions", "translations"})
_AUDIO = _HEARING | {"speech"}
_IMAGES = frozenset({"images", "image_content"})


class Host(Struct, frozen=True, kw_only=True):
    """A row of the table.

    `prefixes` stand between its name and a route, if they are not those of `CLIENT_CONFIGS`. `history` is what it does
    with reasoning in a history: it may require that beside tool calls, or refuse the keys `refused`. `thinks` has the
    starts of the names of models that think unless the request turns it off. A request may ask for `most_choices`, and
    must not have the fields `unsupported`; `check` finds what else it refuses in chats. `operations` are those besides
    chat and models; `files` stands for those on files, `batches` for those and the ones on batches. `adapts`: it leaves
    out of a chat what the model does not take. `keeps_chats`: it tells later what they took. `kin` is the built-in host
    whose models and other routes it has.
    """

    name: str
    layout: ChatLayout
    errors: ErrorStyle
    models: tuple[str, ...]
    prefixes: tuple[str, ...] = ()
    history: History = "ignore"
    refused: tuple[str, ...] = ()
    thinks: tuple[str, ...] = ()
    most_choices: int = MAX_CHOICES
    unsupported: tuple[str, ...] = ()
    check: Check = check_nothing
    adapts: bool = False
    ids: IdShape = IdShape()
    call_ids: IdShape = IdShape("call_", 24)
    operations: frozenset[str] = frozenset({"completions", "embeddings"})
    kin: str = GENERIC
    keeps_chats: bool = False

    @property
    def mounts(self) -> tuple[str, ...]:
        """Its base paths, of which OpenAI's client takes the first."""
        if self.name in CLIENT_CONFIGS and not self.prefixes:
            return CLIENT_CONFIGS[self.name].mounts
        return tuple(dict.fromkeys(f"/{self.name}{prefix}" for prefix in (*self.prefixes, "/v1", "")))


_MESSAGE = ("role", "content", "refusal", "annotations", "reasoning_content", "reasoning", "tool_calls")
_COMPLETION = ("id", "object", "created", "model", "choices", "usage", "system_fingerprint")
_CHUNK = ("id", "object", "created", "model", "system_fingerprint", "choices", "usage")
_PERPLEXITY_KEYS = ("id", "model", "created", "usage", "citations", "search_results", "object", "choices")
_EMPTY = {"role": "assistant", "content": ""}
_UUID = IdShape("", 36, "uuid")
_CHAT_UUID = IdShape("chatcmpl-", 36, "uuid")
_LIKE_OPENAI = ChatLayout(
    completion=_COMPLETION,
    message=_MESSAGE,
    choice=("index", "message", "logprobs", "finish_reason"),
    chunk=_CHUNK,
    optional=frozenset({"refusal", "annotations"}),
    opening=_EMPTY,
    opening_of_call={"content": None},
    count=usage.count_plainly,
)


def _make_layout(*more: str, **changes: object) -> ChatLayout:
    """Return OpenAI's layout with changes, and with more keys of answers and chunks."""
    own = {"completion": (*_COMPLETION, *more), "chunk": (*_CHUNK, *more), **changes}
    return replace(_LIKE_OPENAI, **own)


def _find_citations(answer: Answer) -> Mapping[str, Json]:
    """Return the sources that a rule's annotations name, as Perplexity lists them beside an answer."""
    notes = (
        note
        for choice in answer.choices
        for part in choice.parts
        if isinstance(part, Text)
        for note in part.annotations
    )
    found = [dict(note.get("url_citation") or note) for note in notes]
    pages = [{"title": note.get("title") or "", "url": note.get("url") or ""} for note in found]
    sources = [{**page, "date": None, "last_updated": None, "snippet": "", "source": "web"} for page in pages]
    return {"citations": [page["url"] for page in pages], "search_results": sources}


def _find_addresses(answer: Answer) -> Mapping[str, Json]:
    """Return the addresses of the sources, as xAI lists them where there are some."""
    found = _find_citations(answer)["citations"]
    return {"citations": found} if found else {}


def find_provider(model: str) -> str:
    """Return who serves a model of OpenRouter: its maker."""
    return _PROVIDERS.get(model.partition("/")[0], "Mockserver")


def _tell_provider(answer: Answer) -> Mapping[str, Json]:
    return {"provider": find_provider(answer.model)}


_PROVIDERS = {
    "anthropic": "Anthropic",
    "cohere": "Cohere",
    "deepseek": "DeepSeek",
    "google": "Google",
    "meta-llama": "Together",
    "mistralai": "Mistral",
    "openai": "OpenAI",
    "x-ai": "xAI",
}


def _find_format(model: str) -> str:
    """Return the format of OpenRouter's `reasoning_details`."""
    return _FORMATS.get(model.partition("/")[0], "unknown")


_FORMATS = {
    "anthropic": "anthropic-claude-v1",
    "openai": "openai-responses-v1",
    "google": "google-gemini-v1",
    "x-ai": "xai-responses-v1",
}


def _name_groq(answer: Answer) -> dict[str, Json]:
    return {"id": f"req_{answer.id}"}


_SEED = {"seed": 1_700_000_000}  # of answers at hosts that tell it
_GROQ = ChatExtras(
    body=lambda answer: {"usage_breakdown": None, "x_groq": _name_groq(answer) | _SEED, "service_tier": "on_demand"},
    opening=lambda answer: {"x_groq": _name_groq(answer) | _SEED},
    ending=lambda answer: {"x_groq": {**_name_groq(answer), "usage": usage.count_groq(answer.usage)}},
)
_CEREBRAS = ChatExtras(
    body=lambda answer: {"time_info": usage.make_time_info(answer.created)},
    ending=lambda answer: {"time_info": usage.make_time_info(answer.created)},
)
_VLLM = ChatExtras(
    body=lambda answer: {"prompt_logprobs": None, "kv_transfer_params": None},
    choice=lambda finish: {"stop_reason": None, "token_ids": None},
)

COMPATIBLE = Host(
    name=GENERIC,
    layout=_LIKE_OPENAI,
    errors=STYLES[GENERIC],
    models=("gpt-oss-120b", "qwen3-32b", "deepseek-r1", "llama-3.3-70b"),
    operations=frozenset({"completions", "embeddings", "image_edits", "batches"}) | _AUDIO | _IMAGES,
)
DEEPSEEK = Host(
    name="deepseek",
    layout=_make_layout(
        beside={"content": None, "reasoning_content": None},
        stream_usage="with_finish",
        count=usage.count_deepseek,
        system_fingerprint=True,
        call_index=True,
    ),
    errors=STYLES["deepseek"],
    models=("deepseek-v4-flash", "deepseek-v4-pro"),
    history="require",
    thinks=("deepseek-v4", "deepseek-reasoner"),
    check=check_deepseek,
    ids=_UUID,
    call_ids=IdShape("call_00_", 24),
    operations=frozenset({"completions", "responses"}),
    kin="deepseek",
)
OPENROUTER = Host(
    name="openrouter",
    layout=_make_layout(
        "provider",
        chunk=tuple(key for key in (*_CHUNK, "provider") if key != "system_fingerprint"),  # its client takes no null
        message=("role", "content", "refusal", "annotations", "reasoning", "reasoning_details", "tool_calls", "audio"),
        choice=("logprobs", "finish_reason", "native_finish_reason", "index", "message"),
        chunk_choice=("index", "delta", "finish_reason", "native_finish_reason", "logprobs"),
        optional=frozenset({"annotations"}),
        finishes={},
        reasoning="reasoning",
        reasoning_format=_find_format,
        unset={"reasoning": None},
        beside=_EMPTY,
        stream_usage="last_choice",
        count=usage.count_openrouter,
        comment="OPENROUTER PROCESSING",
        call_index=True,
        extras=ChatExtras(
            body=_tell_provider, chunk=_tell_provider, choice=lambda finish: {"native_finish_reason": finish}
        ),
        reads_model=True,
    ),
    errors=STYLES["openrouter"],
    models=("anthropic/claude-sonnet-4.5", "openai/gpt-5", "google/gemini-3-pro", "deepseek/deepseek-v4-flash"),
    adapts=True,
    ids=IdShape("gen-1700000000-", 20),
    operations=frozenset({"completions", "embeddings", "responses", "speech"}),
    kin="openrouter",
    keeps_chats=True,
)
XAI = Host(
    name="xai",
    layout=_make_layout(
        "citations",
        whole_calls="apart",
        stream_usage="last",
        count=usage.count_xai,
        system_fingerprint=True,
        unset={"refusal": None},
        optional=frozenset({"annotations", "logprobs", "finish_reason"}),
        extras=ChatExtras(body=_find_addresses, ending=_find_addresses),
    ),
    errors=STYLES["xai"],
    models=("grok-4", "grok-4-fast-reasoning", "grok-3-mini"),
    check=check_xai,
    ids=_UUID,
    call_ids=IdShape("call_", 8, "digits"),
    operations=frozenset({"responses", "image_edits", "files"}) | _IMAGES,
    kin="xai",
)
GROQ = Host(
    name="groq",
    layout=_make_layout(
        "usage_breakdown",
        "x_groq",
        "service_tier",
        chunk=(*_CHUNK, "x_groq"),
        whole_calls="apart",
        reasoning="reasoning",
        system_fingerprint=True,
        count=usage.count_groq,
        extras=_GROQ,
    ),
    errors=STYLES["groq"],
    models=("openai/gpt-oss-120b", "qwen/qwen3-32b", "llama-3.3-70b-versatile", "llama-3.1-8b-instant"),
    history="refuse",
    refused=("reasoning_content",),
    most_choices=1,
    unsupported=("logprobs", "top_logprobs", "logit_bias"),
    check=check_groq,
    ids=_CHAT_UUID,
    call_ids=IdShape("", 9),
    operations=frozenset({"embeddings", "responses", "batches"}) | _AUDIO,
    kin="groq",
)
TOGETHER = Host(
    name="together",
    layout=_make_layout(
        "prompt",
        choice=("finish_reason", "seed", "logprobs", "index", "message"),
        chunk_choice=("index", "text", "logprobs", "finish_reason", "seed", "delta"),
        reasoning="reasoning",
        unset={"tool_calls": []},
        beside=_EMPTY,
        stream_usage="with_finish",
        count=usage.count_together,
        call_index=True,
        extras=ChatExtras(body=lambda answer: {"prompt": []}, choice=lambda finish: _SEED),
    ),
    errors=STYLES["together"],
    models=("openai/gpt-oss-120b", "meta-llama/Llama-3.3-70B-Instruct-Turbo", "deepseek-ai/DeepSeek-V3.1"),
    ids=IdShape("o", 20),
    operations=frozenset({"completions", "embeddings"}) | _AUDIO | _IMAGES,
    kin="together",
)
CEREBRAS = Host(
    name="cerebras",
    layout=_make_layout(
        "time_info",
        whole_calls="apart",
        reasoning="reasoning",
        stream_usage="with_finish",
        system_fingerprint=True,
        extras=_CEREBRAS,
    ),
    errors=STYLES["cerebras"],
    models=("gpt-oss-120b", "qwen-3-235b-a22b-instruct-2507", "zai-glm-4.6", "llama3.1-8b"),
    history="refuse",
    refused=("reasoning_content",),
    check=check_cerebras,
    ids=_CHAT_UUID,
    call_ids=IdShape("", 9, "hex"),
    operations=frozenset({"completions"}),
    kin="cerebras",
)
PERPLEXITY = Host(
    name="perplexity",
    layout=_make_layout(
        completion=_PERPLEXITY_KEYS,
        chunk=_PERPLEXITY_KEYS,
        message=("role", "content", "reasoning_content", "tool_calls"),
        choice=("index", "message", "delta", "finish_reason"),
        chunk_choice=("index", "message", "delta", "finish_reason"),
        optional=frozenset({"finish_reason"}),
        reasoning="content",
        beside=_EMPTY,
        stream_usage="every",
        last_object="chat.completion.done",
        count=usage.count_perplexity,
        extras=ChatExtras(body=_find_citations, chunk=_find_citations, choice=lambda finish: {"delta": _EMPTY}),
    ),
    errors=STYLES["perplexity"],
    models=("sonar", "sonar-pro", "sonar-reasoning-pro", "sonar-deep-research"),
    ids=_UUID,
    operations=frozenset({"responses"}),
    kin="perplexity",
)
VLLM = Host(
    name="vllm",
    layout=_make_layout(
        "prompt_logprobs",
        "kv_transfer_params",
        choice=("index", "message", "logprobs", "finish_reason", "stop_reason", "token_ids"),
        chunk_choice=("index", "delta", "logprobs", "finish_reason", "stop_reason", "token_ids"),
        chunk=_CHUNK,
        optional=frozenset(),
        reasoning="reasoning",
        unset={"refusal": None, "annotations": None, "tool_calls": [], "reasoning": None},
        extras=_VLLM,
    ),
    errors=STYLES["vllm"],
    models=("Qwen/Qwen3-8B",),
    ids=IdShape("chatcmpl-", 32, "hex"),
    call_ids=IdShape("chatcmpl-tool-", 32, "hex"),
    operations=frozenset({"completions", "embeddings", "responses"}) | _HEARING,
    kin="vllm",
)
LMSTUDIO = Host(
    name="lmstudio",
    layout=_make_layout(
        "stats", chunk=_CHUNK, system_fingerprint=True, extras=ChatExtras(body=lambda answer: {"stats": {}})
    ),
    errors=STYLES["lmstudio"],
    models=("qwen/qwen3-8b", "openai/gpt-oss-20b", "text-embedding-nomic-embed-text-v1.5"),
    ids=IdShape("chatcmpl-", 22),
    call_ids=IdShape("", 9, "digits"),
    operations=frozenset({"completions", "embeddings", "responses"}),
    kin="lmstudio",
)
_ROWS = (COMPATIBLE, CEREBRAS, DEEPSEEK, GROQ, LMSTUDIO, OPENROUTER, PERPLEXITY, TOGETHER, VLLM, XAI)
HOSTS: Mapping[str, Host] = {host.name: host for host in _ROWS}


def make_host(name: str, stated: HostSettings) -> Host:
    """Return the host that settings describe: the one that it is like, with what they change."""
    like = HOSTS[stated.like or (name if name in HOSTS else GENERIC)]
    layout = _change_layout(like.layout, stated)
    errors = like.errors if stated.errors is None else STYLES[stated.errors]
    history = like.history if stated.history is None else stated.history
    reasoning = "reasoning_content" if layout.reasoning == "content" else layout.reasoning
    refused = () if history != "refuse" else like.refused or (reasoning,)
    return replace(
        like,
        name=name,
        layout=layout,
        errors=errors.replace_statuses(stated.statuses) if stated.statuses else errors,
        models=stated.models or like.models,
        prefixes=stated.prefixes or tuple(mount.removeprefix(f"/{like.name}") for mount in like.mounts),
        history=history,
        refused=refused,
        thinks=("",) if history == "require" and not like.thinks else like.thinks,
    )


def _change_layout(layout: ChatLayout, stated: HostSettings) -> ChatLayout:
    if stated.reasoning is not None:
        layout = _show_reasoning(layout, stated.reasoning)
    if stated.usage is not None:
        places = {"finish": "with_finish"}
        layout = replace(layout, stream_usage=places.get(stated.usage, stated.usage))
    if stated.role is not None:
        layout = replace(layout, beside=_EMPTY if stated.role == "every" else {})
    if stated.comment is not None:
        layout = replace(layout, comment=stated.comment)
    if stated.extras:
        layout = _add_extras(layout, stated.extras)
    return layout


def _show_reasoning(layout: ChatLayout, key: str) -> ChatLayout:
    """Return a layout with another key of reasoning; `think` and `none` mean that there is no key."""
    others = [name for name in layout.message if name not in (layout.reasoning, "reasoning_content", "reasoning")]
    if key == "none":
        return replace(
            layout,
            message=tuple(name for name in others if name != "reasoning_details"),
            beside=_drop_reasoning(layout),
        )
    if key == "think":
        return replace(
            layout,
            message=tuple(dict.fromkeys(("content", *others))),
            reasoning="content",
            reasoning_format=None,
            beside=_drop_reasoning(layout),
        )
    unset = {name: value for name, value in layout.unset.items() if name != layout.reasoning}
    if layout.reasoning in layout.unset:
        unset[key] = None
    beside = {key if name == layout.reasoning else name: value for name, value in layout.beside.items()}
    return replace(layout, message=(*others, key), reasoning=key, unset=unset, beside=beside)


def _drop_reasoning(layout: ChatLayout) -> Mapping[str, Json]:
    return {name: value for name, value in layout.beside.items() if name != layout.reasoning}


def _add_extras(layout: ChatLayout, more: Mapping[str, Json]) -> ChatLayout:
    old = layout.extras
    extras = replace(
        old, body=lambda answer: {**old.body(answer), **more}, chunk=lambda answer: {**old.chunk(answer), **more}
    )
    return replace(
        layout,
        completion=tuple(dict.fromkeys((*layout.completion, *more))),
        chunk=tuple(dict.fromkeys((*layout.chunk, *more))),
        extras=extras,
    )
