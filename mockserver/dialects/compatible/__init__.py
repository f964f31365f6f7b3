"""OpenAI-compatible hosts with reasoning: one dialect, and a row of a table for each host (`hosts.py`)."""

from collections.abc import Mapping
from functools import partial

from msgspec.structs import replace

from mockserver.config.hosts import GENERIC, HostSettings
from mockserver.core.call import Call
from mockserver.core.http import HeaderLines, HttpRequest, Reply
from mockserver.core.json import Json, find_in
from mockserver.core.plan import Answer, Failure
from mockserver.dialects import Dialect, Operation, accept_any_history
from mockserver.dialects._clients import CLIENT_CONFIGS
from mockserver.dialects._errors import write_retry_lines
from mockserver.dialects._openai_api.api import OpenAIApi
from mockserver.dialects._openai_api.completions import TEXT_LAYOUT, make_completion_options
from mockserver.dialects._openai_api.embeddings import make_embeddings_reply
from mockserver.dialects._parse import read_bearer
from mockserver.dialects._reply import (
    STREAM_LINES,
    make_answer_reply,
    make_json_reply,
    make_request_hex,
    merge_headers,
    write_openai_rate_limits,
    write_request_id,
)
from mockserver.dialects.compatible.accounts import make_account_operations
from mockserver.dialects.compatible.batches import make_batch_operations
from mockserver.dialects.compatible.hosts import HOSTS, Host, make_host
from mockserver.dialects.compatible.media import make_media_operations
from mockserver.dialects.compatible.perplexity import make_perplexity_operations
from mockserver.dialects.compatible.replay import make_history
from mockserver.dialects.compatible.request import (
    NAME,
    drop_openai_rules,
    make_parse_chat,
    parse_completion,
    parse_embeddings,
    place_operations,
)
from mockserver.dialects.compatible.rerank import make_rerank_operations
from mockserver.dialects.compatible.videos import make_video_operations
from mockserver.kinds import CREATIONS
from mockserver.kinds.embeddings import Embeddings
from mockserver.wire.chat import ChatLayout, ChatRenderer
from mockserver.wire.text import TextRenderer


class _ChatRenderers:
    """Renders the chats of a host: a request can ask it to hide reasoning, or to show it in another place."""

    def __init__(self, layout: ChatLayout) -> None:
        self._usual = ChatRenderer(layout)
        self._others: dict[tuple[str, str], ChatRenderer] = {}

    def render(self, call: Call, answer: Answer) -> Reply:
        lines = write_request_id(call.http, call)
        return make_answer_reply(answer, self._find_renderer(call.raw), call.options, lines, stream=call.stream)

    def _find_renderer(self, body: Mapping[str, Json]) -> ChatRenderer:
        if _CHANGING.isdisjoint(body):
            return self._usual
        layout = self._usual.layout
        place = _find_place(body)
        usage = layout.stream_usage
        if usage == "requested" and find_in(body, "stream_options", "continuous_usage_stats") is True:
            usage = "every_requested"
        if not place and usage == layout.stream_usage:
            return self._usual
        found = self._others.get((place, usage))
        if found is None:
            layout = replace(_move_reasoning(layout, place), stream_usage=usage)
            found = self._others[place, usage] = ChatRenderer(layout)
        return found


_CHANGING = frozenset({"reasoning_format", "reasoning", "include_reasoning", "stream_options"})


def _find_place(body: Mapping[str, Json]) -> str:
    """Return where a request wants the reasoning: `raw`, in the content; `hidden`; or where the host shows it."""
    if (form := body.get("reasoning_format")) in ("raw", "hidden"):
        return str(form)
    is_excluded = find_in(body, "reasoning", "exclude") is True or body.get("include_reasoning") is False
    return "hidden" if is_excluded else ""


def _move_reasoning(layout: ChatLayout, place: str) -> ChatLayout:
    """Return a layout that shows reasoning in another place."""
    if place == "raw":
        return replace(layout, message=(*layout.message, "content"), reasoning="content", reasoning_format=None)
    if place != "hidden":
        return layout
    return replace(
        layout, message=tuple(key for key in layout.message if key not in (layout.reasoning, "reasoning_details"))
    )


def _render_completion(renderer: TextRenderer, call: Call, outcome: Answer) -> Reply:
    lines = write_request_id(call.http, call)
    return make_answer_reply(outcome, renderer, make_completion_options(call), lines, stream=call.stream)


def _render_embeddings(call: Call, outcome: Embeddings) -> Reply:
    return make_embeddings_reply(outcome, call.raw.get("encoding_format"), write_request_id(call.http, call))


_TEXT = TextRenderer(TEXT_LAYOUT)
_TEXTS: Mapping[str, TextRenderer] = {  # of the hosts whose clients expect another shape
    "cerebras": TextRenderer(replace(TEXT_LAYOUT, completion=(*TEXT_LAYOUT.completion, "system_fingerprint"))),
    "together": TextRenderer(
        replace(
            TEXT_LAYOUT,
            completion=(*TEXT_LAYOUT.completion, "prompt"),
            object="text.completion",
            chunk_object="completion.chunk",
        )
    ),
}


def _make_responses(host: Host) -> Operation:
    """Return the operation of OpenAI's Responses as hosts serve it: with their ids and errors, without keeping any."""
    api = OpenAIApi(
        dialect=NAME,
        chat=ChatRenderer(host.layout),
        text=_TEXT,
        lines=write_request_id,
    )
    return drop_openai_rules(api.make_responses_operation())


def _fail(host: Host, http: HttpRequest, failure: Failure, call: Call | None) -> Reply:
    failure = host.errors.reword(http, failure)
    resolved = host.errors.table.resolve(failure, http, call)
    body = host.errors.render(resolved, failure, f"req_{make_request_hex(http, call)}")
    lines = write_request_id(http, call) + write_retry_lines(failure)
    failed = make_json_reply(resolved.status, body, lines=lines, headers=failure.headers)
    if call is None or not call.stream or resolved.code not in host.errors.late:
        return failed
    own = HeaderLines(lines + STREAM_LINES)
    return Reply(200, merge_headers(own, failure.headers), frames=(host.errors.end_stream(failed, b""),))


def make_dialect(host: Host) -> Dialect:
    """Return the dialect as a host speaks it."""
    config = CLIENT_CONFIGS.get(host.name)
    history = make_history(host)
    chat = Operation(
        "chat",
        "POST",
        "/chat/completions",
        parse=make_parse_chat(host, history),
        render=_ChatRenderers(host.layout).render,
        error=host.errors.end_stream,
        history=history or accept_any_history,
        shows_reasoning=host.layout.shows_reasoning,
    )
    render_text = partial(_render_completion, _TEXTS.get(host.kin, _TEXT))
    text = Operation("completions", "POST", "/completions", parse=parse_completion, render=render_text)
    vectors = Operation("embeddings", "POST", "/embeddings", parse=parse_embeddings, render=_render_embeddings)
    more = [each for each in (text, vectors, _make_responses(host)) if each.name in host.operations]
    answering = (chat, *place_operations(host, (*more, *make_media_operations(host))))
    fail = partial(_fail, host)
    others = (
        *make_rerank_operations(host),
        *make_batch_operations(host, answering, fail=fail),
        *make_video_operations(host, fail),
        *make_perplexity_operations(host, chat, fail=fail),
        *make_account_operations(host),
    )
    served = (*answering, *place_operations(host, others))
    return Dialect(
        name=NAME,
        host=host.name,
        mounts=host.mounts,
        operations=served,
        read_credential=read_bearer,
        fail=fail,
        rate_limit_headers=write_openai_rate_limits,
        models=host.models,
        own_features=_FEATURES | {"status"} if any(each.name in _WITH_STATUSES for each in served) else _FEATURES,
        variables={} if config is None else config.variables,
        missing={
            path: "{json: {}}"
            for path in (*_ROUTES, *_LACKED.get(host.kin, ()))
            if not any(each.path == path or each.path.startswith(f"{path}/") for each in served)
        },
    )


_LACKED: Mapping[str, tuple[str, ...]] = {  # routes that only one host has
    "openrouter": (
        "/keys", "/auth/keys/code", "/oauth", "/activity", "/analytics", "/generation/content", "/generation/feedback",
        "/byok", "/presets", "/guardrails", "/workspaces", "/organization", "/endpoints/zdr", "/embeddings/models",
        "/images/models", "/videos/models", "/audio/transcriptions", "/containers", "/tools", "/datasets", "/model",
        "/external-users", "/observability", "/private-endpoints", "/scim", "/vault", "/benchmarks", "/classifications",
    ),
    "perplexity": ("/contextualizedembeddings", "/content", "/browser", "/skills", "/decisions"),
    "together": (
        "/fine-tunes", "/finetune", "/evaluation", "/endpoints", "/deployments", "/compute", "/queue", "/rl",
        "/shaping", "/voices", "/projects", "/billing", "/tci", "/v2/projects", "/v2/organizations",
        "/v2/supported-models", "/v2/public",
    ),
    "xai": (
        "/api-key", "/tokenize-text", "/image-generation-models", "/embedding-models", "/collections", "/documents",
        "/chat/deferred-completion", "/complete", "/realtime", "/billing",
    ),
}  # fmt: skip
_FEATURES = frozenset({"content_filter", "refusal", "annotations", "custom_tools", "call_pieces"})
_WITH_STATUSES = frozenset(name for name, kind in CREATIONS.items() if kind.statuses)  # whose objects have statuses
_ROUTES = (  # that only some hosts have
    "/score", "/search", "/images", "/audio", "/files", "/batches", "/generation",
    "/rerank", "/completions", "/embeddings", "/responses",
)  # fmt: skip


def find_host(name: str, stated: Mapping[str, HostSettings]) -> Dialect:
    """Return the dialect as a host speaks it: one that settings state, or a built-in one."""
    return make_dialect(make_host(name, stated[name])) if name in stated else _BUILT_IN[name]


_BUILT_IN = {name: make_dialect(host) for name, host in HOSTS.items()}
DIALECT = _BUILT_IN[GENERIC]
