"""The model catalogue: models of the settings, what providers publish about well-known ones, and the limits of both.

A name may stand behind a path (`openai/gpt-4o`, `accounts/fireworks/models/qwen3-8b`) or in a fine-tuned model's name,
in any case. Of a model that is not here nothing is known, and where a provider's word is not certain, nothing is said.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, reduce

from msgspec import Struct
from msgspec.structs import fields, replace

from mockserver.core.call import Call, Options
from mockserver.core.json import Json
from mockserver.core.lazy import lazy_property
from mockserver.core.plan import Failure, Timing
from mockserver.core.rates import Rates
from mockserver.core.tokens import IMAGES
from mockserver.core.validation import Validation, find_validation
from mockserver.kinds import CONVERSATIONS, OPERATIONS
from mockserver.model.budget import MAX_TEXT_TOKENS
from mockserver.rules.match.predicates import PLAIN, PREDICATES, is_pattern


class Model(Struct, frozen=True, dict=True):
    """The properties of a model; None means unknown. `unlimited` names limits that are stated to be absent."""

    context_window: int | None = None  # tokens of prompt and answer together
    max_output_tokens: int | None = None
    tokenizer: str | None = None
    tools: bool | None = None
    vision: bool | None = None
    json_schema: bool | None = None
    reasoning: bool | None = None  # whether it accepts a reasoning effort
    sampling: bool | None = None  # whether it accepts temperature and similar parameters
    efforts: tuple[str, ...] | None = None  # the reasoning efforts that it accepts
    verbosity: bool | None = None  # whether it accepts another verbosity than medium
    usual_effort: str | None = None  # without one in the request, if it takes sampling parameters without reasoning
    max_tokens: bool | None = None  # whether it accepts the old name of max_completion_tokens
    reasoning_with_tools: bool | None = None  # in chats
    parallel_choice: bool | None = None  # whether its chats accept parallel_tool_calls
    cache_retention: bool | None = None  # whether it accepts prompt_cache_retention
    resolved: str | None = None  # its name in answers
    aliases: tuple[str, ...] = ()
    timing: Timing | None = None
    limits: Rates | None = None
    unlimited: frozenset[str] = frozenset()

    @lazy_property
    def restrictions(self) -> tuple[str, ...]:
        """The features that it is known not to have, or not for every request, of those that a request may need."""
        return tuple(feature for feature in _NEEDED if getattr(self, feature) not in (None, True))

    def fill_from(self, other: "Model") -> "Model":
        """Return it with what it leaves unknown taken from another, except limits that are stated to be absent."""
        missing = {
            name: getattr(other, name)
            for name in _SETTLED
            if getattr(self, name) is None and name not in self.unlimited
        }
        return replace(self, **missing, unlimited=self.unlimited | other.unlimited)


def fits(pattern: str, name: str) -> bool:
    """Return whether a model name matches; `*` is a wildcard, as in rules."""
    return bool(_compile_pattern(pattern)(name))


UNKNOWN = Model()
_SETTLED = tuple(one.name for one in fields(Model) if one.name not in ("aliases", "unlimited"))
_compile_pattern = lru_cache(maxsize=1024)(lambda pattern: PREDICATES["glob"].build(pattern, PLAIN))


def find_published(name: str) -> Model | None:
    """Return what providers publish about a well-known model."""
    base = _simplify(name) if len(name) <= MAX_MODEL_NAME else ""
    return next((model for pattern, model in PUBLISHED.items() if fits(pattern, base)), None)


def _simplify(name: str) -> str:
    """Strip the path and use OpenAI's spelling (`gpt-35-turbo` is Azure's); of Bedrock's ids, strip what is around."""
    base = name.rpartition("/")[2].lower()
    if base.startswith("ft:"):
        base = base.split(":")[1]
    base = _BEDROCK_PREFIX.sub("", base)
    return base.replace("gpt-35-", "gpt-3.5-")


# The geography and the vendor before the name of a model: `us.anthropic.claude-sonnet-4-5-20250929-v1:0`.
_BEDROCK_PREFIX = re.compile(
    r"^(?:[a-z-]{2,6}\.)?(?P<vendor>(?:anthropic|amazon|meta|mistral|cohere|deepseek|openai|qwen|moonshot)\.)(?=[a-z])"
)


def _list_bare_names(name: str) -> Sequence[str]:
    """Return the other names under which a model is known.

    They are the base of a fine-tuned one, and of Bedrock's ids those without ARN and geography, and without vendor.
    """
    if name.startswith("ft:"):
        return (name.split(":")[1],)
    base = name.rpartition("/")[2] if name.startswith("arn:") else name
    found = _BEDROCK_PREFIX.match(base)
    if found is None:
        return ()
    return found["vendor"] + base[found.end() :], base[found.end() :]


MAX_MODEL_NAME = 200  # characters of a name that is worth remembering, and may be published
_K = 1024

_GPT_3 = Model(4096, 4096, "cl100k_base", vision=False, json_schema=False, reasoning=False)
_OLD = replace(_GPT_3, tools=False)
_GPT_4 = replace(_GPT_3, context_window=8192, max_output_tokens=8192)
_TURBO = replace(_GPT_3, context_window=128_000, max_output_tokens=4096)
_GPT_4O = Model(128_000, 16_384, "o200k_base", reasoning=False, verbosity=False)
_GPT_41 = Model(1_047_576, 32_768, "o200k_base", reasoning=False, verbosity=False)
_LOW_TO_HIGH = ("low", "medium", "high")
_NONE_TO_HIGH = ("none", *_LOW_TO_HIGH)
_NONE_TO_XHIGH = (*_NONE_TO_HIGH, "xhigh")
_GPT_5 = Model(400_000, 128_000, "o200k_base", reasoning=True, sampling=False, efforts=("minimal", *_LOW_TO_HIGH))
_CODEX = replace(_GPT_5, efforts=_LOW_TO_HIGH, verbosity=False)
_GPT_5_LATER = Model(400_000, 128_000, "o200k_base", reasoning=True, max_tokens=False)
_GPT_51 = replace(_GPT_5_LATER, efforts=_NONE_TO_HIGH, usual_effort="none")
_GPT_52 = replace(_GPT_51, efforts=_NONE_TO_XHIGH)
_GPT_52_PRO = replace(_GPT_5_LATER, efforts=("medium", "high", "xhigh"))
_GPT_54_MINI = replace(_GPT_52, reasoning_with_tools=False)
_GPT_54 = replace(_GPT_54_MINI, context_window=1_050_000)
_GPT_55 = replace(_GPT_54, usual_effort=None)
_GPT_56 = replace(_GPT_54, efforts=(*_NONE_TO_XHIGH, "max"), usual_effort="medium", cache_retention=False)
_O = Model(
    200_000,
    100_000,
    "o200k_base",
    reasoning=True,
    sampling=False,
    efforts=_LOW_TO_HIGH,
    parallel_choice=False,
)
_O1_EARLY = Model(128_000, 65_536, "o200k_base", tools=False, vision=False, json_schema=False, sampling=False)
_EMBEDDING = Model(8192, tokenizer="cl100k_base")


# The first pattern that matches wins.
PUBLISHED: Mapping[str, Model] = {
    **dict.fromkeys(("gpt-3.5-turbo-instruct*", "gpt-3.5-turbo-0301"), _OLD),
    "gpt-3.5-turbo-0613": _GPT_3,
    "gpt-3.5-turbo*": replace(_GPT_3, context_window=16_385),
    **dict.fromkeys(("gpt-4-turbo-preview", "gpt-4-0125*", "gpt-4-1106-preview"), _TURBO),
    "gpt-4-turbo*": replace(_TURBO, vision=None),
    "gpt-4-*vision*": replace(_TURBO, vision=None, tools=False),
    "gpt-4-32k*": replace(_GPT_4, context_window=32_768),
    "gpt-4-0314": replace(_GPT_4, tools=False),
    **dict.fromkeys(("gpt-4-0613", "gpt-4"), _GPT_4),
    "gpt-4o-2024-05-13": replace(_GPT_4O, max_output_tokens=4096, json_schema=False),
    "gpt-4o*": _GPT_4O,
    "chatgpt-4o-latest": replace(_GPT_4O, tools=False),
    "gpt-4.1*": _GPT_41,
    **dict.fromkeys(("gpt-4.5*", "gpt-5-chat*"), _GPT_4O),
    "gpt-5-pro*": replace(_GPT_5, max_output_tokens=272_000, efforts=("high",)),
    "gpt-5-codex*": _CODEX,
    **dict.fromkeys(("gpt-5", "gpt-5-*"), _GPT_5),
    **dict.fromkeys(("gpt-5.1-codex-max*", "gpt-5.2-codex*"), replace(_CODEX, efforts=(*_LOW_TO_HIGH, "xhigh"))),
    "gpt-5.1-codex*": _CODEX,
    **dict.fromkeys(
        ("gpt-5.1-chat*", "gpt-5.2-chat*"),
        replace(_GPT_5_LATER, context_window=128_000, max_output_tokens=16_384, efforts=("medium",)),
    ),
    "gpt-5.2-pro*": _GPT_52_PRO,
    "gpt-5.4-pro*": replace(_GPT_52_PRO, context_window=1_050_000),
    **dict.fromkeys(("gpt-5.1", "gpt-5.1-20*"), _GPT_51),
    **dict.fromkeys(("gpt-5.2", "gpt-5.2-20*"), _GPT_52),
    **dict.fromkeys(("gpt-5.4-mini*", "gpt-5.4-nano*"), _GPT_54_MINI),
    **dict.fromkeys(("gpt-5.4", "gpt-5.4-20*"), _GPT_54),
    **dict.fromkeys(("gpt-5.5", "gpt-5.5-20*"), _GPT_55),
    **dict.fromkeys(("gpt-5.6", "gpt-5.6-sol*", "gpt-5.6-terra*", "gpt-5.6-luna*"), _GPT_56),
    "gpt-5.*": replace(_GPT_5_LATER, context_window=1_050_000),
    "gpt-oss-*": Model(128 * _K, tokenizer="o200k_base", reasoning=True),
    "o1-preview*": replace(_O1_EARLY, max_output_tokens=32_768),
    "o1-mini*": _O1_EARLY,
    **dict.fromkeys(("o1", "o1-*"), _O),
    "o3-mini*": replace(_O, vision=False),
    **dict.fromkeys(("o3", "o3-*", "o4-mini*", "codex-mini*"), _O),
    "text-embedding-*": _EMBEDDING,
    **dict.fromkeys(("babbage-002", "davinci-002"), replace(_OLD, context_window=16_384, max_output_tokens=16_384)),
    **dict.fromkeys(("llama-3-*", "llama-v3-*", "meta-llama-3-*"), Model(8 * _K)),
    **dict.fromkeys(("llama-3*", "llama-v3*", "meta-llama-3*"), Model(128 * _K)),
    **dict.fromkeys(("llama-4-*", "llama4-*"), Model(1024 * _K)),
    "mixtral-8x7b*": Model(32 * _K),
    "mixtral-8x22b*": Model(64 * _K),
    "mistral-7b*": Model(32 * _K),
    **dict.fromkeys(
        ("mistral-large*", "mistral-medium*", "mistral-small*", "mistral-nemo*", "ministral-*"), Model(128 * _K)
    ),
    "codestral-*": Model(256 * _K),
    "deepseek-v3*": Model(160 * _K),
    **dict.fromkeys(("deepseek-r1", "deepseek-r1-0528"), Model(160 * _K, reasoning=True)),
    "qwen3-8b": Model(40 * _K),
    **dict.fromkeys(("qwen3-235b*", "qwen3-coder*"), Model(256 * _K)),
    **dict.fromkeys(("qwen2p5-72b*", "qwen3-32b", "kimi-k2-instruct"), Model(128 * _K)),
    "kimi-k2-*": Model(256 * _K),
    "glm-4p5*": Model(128 * _K),
    "glm-4p6*": Model(198 * _K),
    "phi-4": Model(16 * _K),
    "phi-4-reasoning*": Model(32 * _K, reasoning=True),
    "phi-4-m*": Model(128 * _K),
    "phi-3*-4k-*": Model(4 * _K),
    "phi-3*-8k-*": Model(8 * _K),
    **dict.fromkeys(("phi-3*-128k-*", "phi-3.5-*"), Model(128 * _K)),
    **dict.fromkeys(("cohere-command-a*", "command-a-*"), Model(256 * _K)),
    **dict.fromkeys(("command-r-*", "command-r7b-*", "c4ai-aya-*"), Model(128 * _K)),
    "cohere-command-r*": Model(128 * _K),
    "cohere-embed-v3*": Model(512),
    "ai21-jamba-1.5*": Model(256 * _K),
    "claude-3-5-*": Model(200_000, 8192),
    "claude-*-4-5*": Model(200_000, 64_000),
    **dict.fromkeys(("claude-*-4-6*", "claude-*-4-8*", "claude-*-5-*"), Model(1_000_000, 128_000)),
    "claude-*": Model(1_000_000),
    "gemini-embedding-*": Model(2 * _K),
    **dict.fromkeys(("gemini-2.5-*", "gemini-3*"), Model(1024 * _K)),
    **dict.fromkeys(("llama3-8b*", "llama3-70b*"), Model(8 * _K)),
    "llama3-*": Model(128 * _K),
    "nova-micro*": Model(128_000),
    "nova-premier*": Model(1_000_000),
    **dict.fromkeys(("nova-lite*", "nova-pro*"), Model(300_000)),
    "titan-embed-text-*": Model(8 * _K),
    "embed-*-v3*": Model(512),
    "embed-v4*": Model(128_000),
    "rerank-v3.5": Model(4 * _K),
    "rerank-v4.0-*": Model(32 * _K),
    **dict.fromkeys(("voyage-3-large", "voyage-3.5*", "voyage-4*", "voyage-code-3", "rerank-2.5*"), Model(32_000)),
    "jina-embeddings-v3": Model(8 * _K),
    "jina-embeddings-v4": Model(32 * _K),
    "jina-reranker-v2-*": Model(_K),
    "jina-reranker-v3": Model(128 * _K),
    "tzafon.*": Model(32 * _K),
    **dict.fromkeys(("llama3.1*", "llama3.2*", "llama3.3*"), Model(128 * _K)),
    **dict.fromkeys(("qwen3", "qwen3:*"), Model(40 * _K)),
    "gpt-oss:*": Model(128 * _K, tokenizer="o200k_base", reasoning=True),
    "nomic-embed-text*": Model(2 * _K),
    "magistral-*": Model(128 * _K),
    **dict.fromkeys(("mistral-embed", "mistral-moderation-*"), Model(8 * _K)),
}


Names = tuple[str, ...]


class Known(Struct, frozen=True):
    """A model found by name.

    `stated` is what the settings say of it, `properties` that and what is published; `refusing` says which of them a
    request is held against in each mode: what is published counts where every provider refuses, the rest of it only
    where live providers are imitated, nothing where nothing is checked.
    """

    exists: bool
    name: str  # its name in answers
    stated: Model
    properties: Model
    refusing: Mapping[Validation, Model]


class Catalogue(Struct, frozen=True, dict=True):
    """The models of the settings, by name or pattern; None: every model exists. `published`: apply published limits."""

    entries: Mapping[str, Model] | None = None
    published: bool = True
    validation: str | Mapping[str, str] = Validation.PUBLISHED  # of all dialects, or by dialect

    @lazy_property
    def _entry_names(self) -> Mapping[str, str]:
        """The names of entries by the other names of their models."""
        return _map_other_names(self.entries or {})

    @lazy_property
    def _look_up_once(self) -> Callable[[str], Known]:
        """`_look_up`, which remembers what it has found."""
        return lru_cache(maxsize=1024)(self._look_up)

    def find(self, name: str) -> Known:
        """Return what is known of a model."""
        return self._look_up_once(name) if len(name) <= MAX_MODEL_NAME else self._look_up(name)

    def find_refusing(self, dialect: str, model: str) -> Model:
        """Return what a dialect's requests for a model are held against."""
        return self.find(model).refusing[find_validation(dialect, self.validation)]

    def find_properties(self, name: str) -> Model:
        """Return what the settings and providers say of a model."""
        return self.find(name).properties

    def admit(self, name: str) -> None:
        """Raise Failure (`unknown_model`) if the model does not exist."""
        if name and not self.find(name).exists:
            raise _make_unknown_failure(name)

    def list_names(self, asked: str, own: Names) -> Names:
        """Return the requested model, or all models; a pattern is expanded to those of a dialect's `own`."""
        if asked:
            return (asked,)
        return own if self.entries is None else tuple(dict.fromkeys(self._list_all(own)))

    def _list_all(self, own: Names) -> Iterator[str]:
        for name, model in (self.entries or {}).items():
            if is_pattern(name):
                yield from (each for each in own if fits(name, each))
            else:
                yield name
            yield from (*model.aliases, *((model.resolved,) if model.resolved else ()))

    def _look_up(self, asked: str) -> Known:
        name = self._entry_names.get(asked, asked)
        spelled = (name, *_list_bare_names(name))
        entries = [
            model
            for pattern, model in (self.entries or {}).items()
            if any(fits(pattern, spelling) for spelling in spelled)
        ]
        stated = reduce(Model.fill_from, entries, UNKNOWN)
        resolved = stated.resolved or name
        usual = (find_published(resolved) or find_published(name)) if self.published else None
        properties = stated.fill_from(usual or UNKNOWN)
        return Known(
            exists=self.entries is None or bool(entries),
            name=resolved,
            stated=stated,
            properties=properties,
            refusing={
                Validation.LIVE: properties,
                Validation.PUBLISHED: replace(
                    properties,
                    max_output_tokens=stated.max_output_tokens,
                    **{name: getattr(stated, name) for name in _FEATURES_OF_LIVE},
                ),
                Validation.OFF: stated,
            },
        )


def _make_unknown_failure(name: str) -> Failure:
    return Failure("unknown_model", details={"model": name})


def _map_other_names(entries: Mapping[str, Model]) -> Mapping[str, str]:
    """Map each alias, and each name shown in answers, to its entry unless it has one of its own."""
    names = {alias: name for name, model in entries.items() for alias in model.aliases}
    for name, model in entries.items():
        if model.resolved and not is_pattern(name):
            names.setdefault(model.resolved, name)
    return {other: name for other, name in names.items() if other not in entries}


def apply_limits(call: Call, known: Known, refusing: Model) -> Call:
    """Return the call as its model accepts it. Raises Failure if it lacks a feature, or if too much is asked of it.

    What is merely published refuses requests; what is stated bounds answers too, even those that a rule gives.
    """
    if not known.exists and call.model and OPERATIONS[call.operation].names_model:
        raise _make_unknown_failure(call.model)
    if call.operation not in CONVERSATIONS:
        return call
    if refusing.restrictions:
        check_features(call, refusing)
    most = refusing.max_output_tokens
    if most is not None and (call.options.max_tokens or 0) > most:
        call = _fit_output(call, most)
    stated = known.stated
    window = refusing.context_window
    bounds = stated.context_window is not None
    if window is not None and (bounds or call.prompt_tokens + (call.options.max_tokens or 0) >= window):
        call = _fit_window(call, window, bounds=bounds)
    return call if stated.max_output_tokens is None else _limit_tokens(call, stated.max_output_tokens)


def _limit_tokens(call: Call, tokens: int) -> Call:
    most = call.options.max_tokens
    return call.limit_tokens(tokens if most is None else min(most, tokens))


def _find_asked_tokens(options: Options) -> int | None:
    """Return how many tokens a client asks for; the provider's default does not count."""
    return options.max_tokens if options.usual_tokens is None else None


def _fit_output(call: Call, limit: int) -> Call:
    asked = _find_asked_tokens(call.options)
    if asked is None or asked <= limit:
        return call
    if call.options.overflow == "error":
        raise Failure("unsupported", details={"feature": "max_output_tokens", "limit": limit, "asked": asked})
    return _limit_tokens(call, limit)


def _fit_window(call: Call, window: int, *, bounds: bool) -> Call:
    prompt = call.prompt_tokens
    asked = _find_asked_tokens(call.options)
    may_forget = CONVERSATIONS[call.operation].may_forget and not call.prompts
    if prompt > window and call.options.overflow == "truncate" and may_forget:
        return call  # the start of the conversation is dropped
    if prompt >= window and (asked != 0 or prompt > window):
        raise _make_too_long(call, window, 0)
    room = window - prompt
    if asked is not None and asked > room and call.options.overflow == "error":
        raise _make_too_long(call, window, asked)
    return _limit_tokens(call, room) if bounds or (asked is not None and asked > room) else call


def limit_for_generator(call: Call) -> Call:
    """Return the call for a generator: up to the provider's default limit, or to the last allowed token."""
    options = call.options
    most = _ENDLESS if options.ignore_eos and options.max_tokens is None else options.max_tokens
    if options.usual_tokens is not None:
        most = options.usual_tokens if most is None else min(most, options.usual_tokens)
    if options.ignore_eos and most is not None:
        most = min(most, MAX_TEXT_TOKENS - 1)
    return call if most is None or most == options.max_tokens else call.limit_tokens(most)


def _make_too_long(call: Call, window: int, asked: int) -> Failure:
    details = {"limit": window, "tokens": call.prompt_tokens + asked}
    both = {"prompt": call.prompt_tokens, "completion": asked} if asked else {}
    return Failure("context_length", details={**details, **both})


_ENDLESS = 2048  # tokens of a text that ignores the end of text


def check_features(call: Call, model: Model) -> None:
    """Raise Failure (`unsupported`, with the `feature` in its details) for what the model is known to lack."""
    if call.operation not in CONVERSATIONS:
        return
    for feature in model.restrictions:
        if call.options.is_adapted and feature in _ADAPTABLE:
            continue
        if (details := _NEEDED[feature](call, model)) is not None:
            raise Failure("unsupported", details={"feature": feature, **details})


def _find_effort(call: Call) -> Json:
    """Return the reasoning effort that a request states in OpenAI's form."""
    nested = call.raw.get("reasoning")
    return nested.get("effort") if isinstance(nested, Mapping) else call.raw.get("reasoning_effort")


def _find_reasoning(call: Call, model: Model) -> Mapping[str, Json] | None:
    if call.options.effort not in (None, "none") or call.raw.get("reasoning_effort") is not None:
        return {}
    included = call.raw.get("include") if call.operation == "responses" else None
    return {"param": "include"} if isinstance(included, list) and _ENCRYPTED in included else None


def _find_refused_effort(call: Call, model: Model) -> Mapping[str, Json] | None:
    effort = _find_effort(call)
    return None if effort is None or effort in (model.efforts or ()) else {"supported": list(model.efforts or ())}


def _find_verbosity(call: Call, model: Model) -> Mapping[str, Json] | None:
    return {"supported": [_USUAL_VERBOSITY]} if call.options.verbosity not in (None, _USUAL_VERBOSITY) else None


def _find_sampling(call: Call, model: Model) -> Mapping[str, Json] | None:
    return _find_sampling_parameter(call) or _find_old_limit(call, model)


def _find_sampling_while_reasoning(call: Call, model: Model) -> Mapping[str, Json] | None:
    return None if (_find_effort(call) or model.usual_effort) == "none" else _find_sampling_parameter(call)


def _find_sampling_parameter(call: Call) -> Mapping[str, Json] | None:
    model = _simplify(call.model)
    for name, default in _DEFAULTS.items():
        value = call.raw.get(name)
        if value is not None and value != default:
            tells_default = name == "temperature" and not _SILENT_ON_DEFAULTS.match(model)
            return {"param": name, "default": default} if tells_default else {"param": name}
    return {"param": "stop"} if call.raw.get("stop") and _WITHOUT_STOP.match(model) else None


def _find_old_limit(call: Call, model: Model) -> Mapping[str, Json] | None:
    renamed = call.operation == "chat" and call.raw.get("max_tokens") is not None
    return {"param": "max_tokens"} if renamed else None


def _find_reasoning_with_tools(call: Call, model: Model) -> Mapping[str, Json] | None:
    reasons = (_find_effort(call) or model.usual_effort) not in (None, "none")
    return {} if call.operation == "chat" and call.tools and reasons else None


_ENCRYPTED = "reasoning.encrypted_content"
_PARALLEL = "parallel_tool_calls"
_USUAL_VERBOSITY = "medium"
_WITHOUT_STOP = re.compile("gpt-5|o1-mini|o3(?!-mini)|o4-mini")  # of the models without sampling
_SILENT_ON_DEFAULTS = re.compile("o3-mini")  # whose refusals do not tell the only value that they take
_DEFAULTS: Mapping[str, Json] = {
    "temperature": 1,
    "top_p": 1,
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "logprobs": False,
    "top_logprobs": 0,
    "logit_bias": {},
}
_NEEDED: Mapping[str, Callable[[Call, Model], Mapping[str, Json] | None]] = {
    "tools": lambda call, model: {} if call.tools else None,
    "vision": lambda call, model: (
        {} if any(part.get("type") in IMAGES for message in call.messages for part in message.parts) else None
    ),
    "json_schema": lambda call, model: {} if call.options.response_format == "json_schema" else None,
    "reasoning": _find_reasoning,
    "efforts": _find_refused_effort,
    "verbosity": _find_verbosity,
    "sampling": _find_sampling,
    "usual_effort": _find_sampling_while_reasoning,
    "max_tokens": _find_old_limit,
    "reasoning_with_tools": _find_reasoning_with_tools,
    "parallel_choice": lambda call, model: (
        {"param": _PARALLEL} if call.operation == "chat" and call.raw.get(_PARALLEL) is not None else None
    ),
    "cache_retention": lambda call, model: {} if call.raw.get("prompt_cache_retention") is not None else None,
}
# What only live providers refuse.
_FEATURES_OF_LIVE = _NEEDED.keys() - {"tools", "vision", "json_schema"}
_ADAPTABLE = {*_FEATURES_OF_LIVE, "json_schema"}
