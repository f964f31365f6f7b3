"""What hosts answer besides models: lists of models in their own shape, balances, keys, health, tokens."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from pydantic_core import to_json

from mockserver.core.call import Call
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import Models, Stored
from mockserver.core.tokens import find_token_id
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._parse import complain, read_object
from mockserver.dialects._reply import (
    make_data_reply,
    make_json_reply,
    make_model_look_ups,
    show_model,
    write_request_id,
)
from mockserver.dialects.compatible.hosts import COMPATIBLE, MAX_MODEL_LENGTH, OPENROUTER, XAI, Host, find_provider
from mockserver.dialects.compatible.request import NAME
from mockserver.dialects.compatible.usage import count_openrouter
from mockserver.wire.parts import write_moment

Describe = Callable[[str, int], dict[str, Json]]  # returns the entry of a list for a model's name and creation time
_VERSION = "0.11.0"  # of vLLM


def make_account_operations(host: Host) -> tuple[Operation, ...]:
    """Return the operations of a host on models and accounts."""
    own = _OPERATIONS_BY_KIN.get(host.kin, ())
    return (*own, *make_model_look_ups(NAME, partial(_render_models, host)))


def _render_models(host: Host, call: Call, outcome: Models) -> Reply:
    describe = _DESCRIPTIONS.get(host.kin, show_model)
    lines = write_request_id(call.http, call)
    if call.operation == "model":
        shown = describe(call.model, outcome.created)
        return make_json_reply(200, {"data": shown} if host.kin == "openrouter" else shown, lines=lines)
    listed = [describe(name, outcome.created) for name in _list_names(host, outcome)]
    match host.kin:
        case "together":
            return make_data_reply(200, to_json(listed), lines=lines)
        case "openrouter":
            page = {"data": listed, "links": {"next": None}, "total_count": len(listed)}
            return make_json_reply(200, page, lines=lines)
    return make_json_reply(200, {"object": "list", "data": listed}, lines=lines)


def _list_names(host: Host, outcome: Models) -> Sequence[str]:
    """Return the names of the settings' models, or of the host's own if the settings name none."""
    return host.models if outcome.names == COMPATIBLE.models else outcome.names


def _show_owned_model(name: str, created: int, owner: str) -> dict[str, Json]:
    return {**show_model(name, created), "owned_by": owner}


def _describe_openrouter(name: str, created: int) -> dict[str, Json]:
    maker, _, short = name.partition("/")
    title = f"{maker}: {short}" if short else name
    return {
        "id": name,
        "canonical_slug": name,
        "hugging_face_id": None,
        "name": title,
        "created": created,
        "description": f"{title}.",
        "context_length": 200_000,
        "architecture": {
            "modality": "text+image->text",
            "input_modalities": ["text", "image"],
            "output_modalities": ["text"],
            "tokenizer": "Other",
            "instruct_type": None,
        },
        "pricing": {"prompt": "0.000003", "completion": "0.000015", "request": "0", "image": "0"},
        "top_provider": {"context_length": 200_000, "max_completion_tokens": 64_000, "is_moderated": False},
        "per_request_limits": None,
        "supported_parameters": ["include_reasoning", "max_tokens", "reasoning", "temperature", "tool_choice", "tools"],
        "default_parameters": {},
        "supported_voices": None,
        "links": {"details": f"/api/v1/models/{name}/endpoints"},
    }


def _describe_together(name: str, created: int) -> dict[str, Json]:
    return {
        "id": name,
        "object": "model",
        "created": created,
        "type": "chat",
        "running": False,
        "display_name": name.rpartition("/")[2],
        "organization": name.partition("/")[0],
        "link": f"https://huggingface.co/{name}",
        "context_length": 131_072,
        "config": {"chat_template": None, "stop": [], "bos_token": None, "eos_token": None},
        "pricing": {"hourly": 0, "input": 0.6, "output": 1.7, "base": 0, "finetune": 0},
    }


def _describe_groq(name: str, created: int) -> dict[str, Json]:
    more: dict[str, Json] = {
        "active": True,
        "context_window": 131_072,
        "public_apps": None,
        "max_completion_tokens": 32_768,
    }
    return {**_show_owned_model(name, created, "Groq"), **more}


def _describe_vllm(name: str, created: int) -> dict[str, Json]:
    more: dict[str, Json] = {"root": name, "parent": None, "max_model_len": MAX_MODEL_LENGTH, "permission": []}
    return {**_show_owned_model(name, created, "vllm"), **more}


def _describe_lmstudio(name: str, created: int) -> dict[str, Json]:
    return {
        "id": name,
        "object": "model",
        "owned_by": "organization_owner",
        "type": "embeddings" if "embed" in name else "llm",
        "publisher": name.partition("/")[0],
        "arch": "qwen3",
        "compatibility_type": "gguf",
        "quantization": "Q4_K_M",
        "state": "loaded",
        "max_context_length": MAX_MODEL_LENGTH,
    }


def _describe_deepseek(name: str, created: int) -> dict[str, Json]:
    return {"id": name, "object": "model", "owned_by": "deepseek"}


_DESCRIPTIONS: Mapping[str, Describe] = {
    "cerebras": lambda name, created: _show_owned_model(name, 0, "Cerebras"),
    "deepseek": _describe_deepseek,
    "groq": _describe_groq,
    "lmstudio": _describe_lmstudio,
    "openrouter": _describe_openrouter,
    "perplexity": lambda name, created: _show_owned_model(name, created, "perplexity"),
    "together": _describe_together,
    "vllm": _describe_vllm,
    "xai": lambda name, created: _show_owned_model(name, created, "xai"),
}


# -- Routes that only one host has. They take the kind of an `info`, which no rule answers.


def _parse_info(http: HttpRequest, validation: Validation) -> Call:
    return Call(NAME, "info", model="", http=http, meaning={"path": http.path.rpartition("/")[2]})


def _make_info_operation(path: str, make_body: Callable[[Call], Mapping[str, Json]]) -> Operation:
    """Return an operation that answers GET with a body."""

    def render(call: Call, outcome: Models) -> Reply:
        return make_json_reply(200, make_body(call), lines=write_request_id(call.http, call))

    return Operation("info", "GET", path, parse=_parse_info, render=render)


def _parse_deletion(http: HttpRequest, validation: Validation) -> Call:
    model = http.path_params["model"]
    return Call(NAME, "delete_model", model=model, http=http, meaning={"model": model})


def _render_deletion(call: Call, outcome: Models) -> Reply:
    body = {"id": call.model, "object": "model", "deleted": True}
    return make_json_reply(200, body, lines=write_request_id(call.http, call))


def _show_balance(call: Call) -> Mapping[str, Json]:
    amounts = {"total_balance": "10.00", "granted_balance": "0.00", "topped_up_balance": "10.00"}
    return {"is_available": True, "balance_infos": [{"currency": "USD", **amounts}]}


def _describe_key(call: Call) -> Mapping[str, Json]:
    spans = ("", "_daily", "_weekly", "_monthly")
    return {
        "data": {
            "label": "sk-or-v1-moc...ver",
            "limit": None,
            "limit_remaining": None,
            "limit_reset": None,
            **{f"usage{span}": 0 for span in spans},
            **{f"byok_usage{span}": 0 for span in spans},
            "is_free_tier": False,
            "is_management_key": False,
            "is_provisioning_key": False,
            "include_byok_in_limit": False,
            "budgets": [],
            "effective_budget": None,
            "free_model_daily_requests": {"limit": 1_000, "remaining": 1_000, "used": 0},
            "allowed_data_regions": ["global"],
            "organization_id": None,
            "workspace_id": None,
            "rate_limit": {"requests": -1, "interval": "10s", "note": "This field is deprecated."},
            "creator_user_id": None,
            "expires_at": None,
        }
    }


def _count_models(call: Call, outcome: Models) -> Reply:
    body = {"data": {"count": len(_list_names(OPENROUTER, outcome))}}
    return make_json_reply(200, body, lines=write_request_id(call.http, call))


def _list_providers(call: Call) -> Mapping[str, Json]:
    pages = dict.fromkeys(("privacy_policy_url", "terms_of_service_url", "status_page_url"))
    return {"data": [{"name": "Mockserver", "slug": "mockserver", **pages}]}


def _show_credits(call: Call) -> Mapping[str, Json]:
    return {"data": {"total_credits": 10, "total_usage": 0}}


def _parse_endpoints(http: HttpRequest, validation: Validation) -> Call:
    name = f"{http.path_params['author']}/{http.path_params['slug']}"
    return Call(NAME, "info", model=name, http=http, meaning={"model": name})


def _render_endpoints(call: Call, outcome: Models) -> Reply:
    model = _describe_openrouter(call.model, outcome.created)
    kept = {key: model[key] for key in ("id", "name", "created", "description", "architecture")}
    endpoint = {
        "name": f"Mockserver | {call.model}",
        "model_id": call.model,
        "model_name": model["name"],
        "context_length": model["context_length"],
        "pricing": model["pricing"],
        "provider_name": "Mockserver",
        "tag": "mockserver",
        "quantization": None,
        "service_tier": None,
        "max_completion_tokens": 64_000,
        "max_prompt_tokens": None,
        "supported_parameters": model["supported_parameters"],
        "supports_diarization": False,
        "supports_implicit_caching": False,
        "supports_tool_choice": dict.fromkeys(("auto", "function", "none", "required"), True),
        "native_tools": {},
        "status": 0,
        **dict.fromkeys(("uptime_last_5m", "uptime_last_30m", "uptime_last_1d"), 100),
        **dict.fromkeys(("latency_last_30m", "throughput_last_30m"), _PERCENTILES),
    }
    return make_json_reply(200, {"data": {**kept, "endpoints": [endpoint]}}, lines=write_request_id(call.http, call))


def _parse_generation(http: HttpRequest, validation: Validation) -> Call:
    name = http.query.get("id", "")
    if not name:
        raise _REFUSE(complain("The query needs the id of a generation: /generation?id=gen-...", "id"))
    return Call(NAME, "generation", model="", http=http, meaning={"id": name}, id=name)


def _render_generation(call: Call, outcome: Stored) -> Reply:
    answer = outcome.answer
    used = answer.usage
    count = count_openrouter(used)
    finish = answer.choices[0].finish if answer.choices else "stop"
    shown: dict[str, Json] = {
        "id": answer.id,
        "upstream_id": None,
        "request_id": f"req-{answer.id}",
        "total_cost": count["cost"],
        "usage": count["cost"],
        "upstream_inference_cost": count["cost"],
        "cache_discount": None,
        "created_at": write_moment(answer.created),
        "model": answer.model,
        "provider_name": find_provider(answer.model),
        "app_id": None,
        "is_byok": False,
        "streamed": outcome.call.stream,
        "cancelled": False,
        "api_type": "completions",
        "origin": "",
        "router": None,
        "latency": 250,
        "moderation_latency": None,
        "generation_time": 500,
        "finish_reason": finish,
        "native_finish_reason": finish,
        "tokens_prompt": used.prompt,
        "tokens_completion": used.completion,
        "native_tokens_prompt": used.prompt,
        "native_tokens_completion": used.completion,
        "native_tokens_reasoning": used.reasoning,
        "native_tokens_cached": used.cached,
        "native_tokens_completion_images": None,
        **dict.fromkeys(("num_media_prompt", "num_media_completion", "num_input_audio_prompt", "num_search_results")),
        **dict.fromkeys(("provider_responses", "external_user", "session_id", "service_tier", "user_agent")),
        **dict.fromkeys(("http_referer", "data_region", "preset_id", "web_search_engine", "num_fetches")),
    }
    return make_json_reply(200, {"data": shown}, lines=write_request_id(call.http, call))


def _parse_code(http: HttpRequest, validation: Validation) -> Call:
    """Return the call that exchanges a code of a login for a key. Raises Failure without a code."""
    code = read_object(http).get("code")
    if not isinstance(code, str) or not code:
        raise _REFUSE(complain("`code` must be a string.", "code"))
    return Call(NAME, "info", model="", http=http, meaning={"code": code})


def _render_key(call: Call, outcome: Models) -> Reply:
    key = f"sk-or-v1-{(call.fingerprint * 4)[:64]}"
    return make_json_reply(200, {"key": key, "user_id": "user_mockserver"}, lines=write_request_id(call.http, call))


def _describe_language_model(name: str) -> Mapping[str, Json]:
    return {
        "id": name,
        "fingerprint": "fp_mockserver",
        "created": 1_700_000_000,
        "object": "model",
        "owned_by": "xai",
        "version": "1.0.0",
        "input_modalities": ["text", "image"],
        "output_modalities": ["text"],
        "prompt_text_token_price": 30_000,
        "cached_prompt_text_token_price": 7_500,
        "completion_text_token_price": 150_000,
        "aliases": [],
    }


def _render_language_models(call: Call, outcome: Models) -> Reply:
    listed = [*map(_describe_language_model, _list_names(XAI, outcome))]
    return make_json_reply(200, {"models": listed}, lines=write_request_id(call.http, call))


def _parse_tokens(http: HttpRequest, validation: Validation) -> Call:
    """Return the call of `/tokenize`, whose text is a prompt or that of messages. Raises Failure without either."""
    body = read_object(http)
    prompt = body.get("prompt")
    messages = body.get("messages")
    if not isinstance(prompt, str):
        if not isinstance(messages, list):
            raise _REFUSE(complain("Either `prompt` or `messages` must be provided.", "prompt"))
        contents = (each.get("content") for each in messages if isinstance(each, dict))
        prompt = "\n".join(text for text in contents if isinstance(text, str))
    model = body.get("model")
    return Call(
        NAME,
        "info",
        model=model if isinstance(model, str) else "",
        http=http,
        meaning={"prompt": prompt},
        raw=body,
    )


def _render_tokens(call: Call, outcome: Models) -> Reply:
    meaning: Mapping[str, Json] = call.meaning
    tokens: Sequence[str] = call.tokenizer.split(meaning["prompt"])
    shown = {
        "count": len(tokens),
        "max_model_len": MAX_MODEL_LENGTH,
        "tokens": [find_token_id(token) for token in tokens],
        "token_strs": [*tokens] if call.raw.get("return_token_strs") else None,
    }
    return make_json_reply(200, shown, lines=write_request_id(call.http, call))


def _parse_numbers(http: HttpRequest, validation: Validation) -> Call:
    """Return the call of `/detokenize`. Raises Failure without numbers of tokens."""
    body = read_object(http)
    numbers = body.get("tokens")
    if not isinstance(numbers, list) or not all(type(each) is int for each in numbers):
        raise _REFUSE(complain("`tokens` must be a list of integers.", "tokens"))
    model = body.get("model")
    named = model if isinstance(model, str) else ""
    return Call(NAME, "info", model=named, http=http, meaning={"tokens": numbers}, raw=body)


def _render_text(call: Call, outcome: Models) -> Reply:
    text = "".join(call.tokenizer.read(call.raw["tokens"]))
    return make_json_reply(200, {"prompt": text}, lines=write_request_id(call.http, call))


def _describe_tokenizer(call: Call) -> Mapping[str, Json]:
    return {
        "tokenizer_class": "Qwen2Tokenizer",
        "add_bos_token": False,
        "bos_token": None,
        "chat_template": _CHAT_TEMPLATE,
        "eos_token": "<|im_end|>",
        "model_max_length": MAX_MODEL_LENGTH,
        "pad_token": "<|endoftext|>",
        "unk_token": None,
    }


def _render_nothing(call: Call, outcome: Models) -> Reply:
    return Reply(200, (("content-length", "0"),))


_CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
_PERCENTILES = {"p50": 250, "p75": 250, "p90": 250, "p99": 250}
_REFUSE = COMPATIBLE.errors.refuse
_OPERATIONS_BY_KIN: Mapping[str, tuple[Operation, ...]] = {
    "cerebras": (_make_info_operation("/tcp_warming", lambda call: {"status": "ok"}),),
    "deepseek": (_make_info_operation("/user/balance", _show_balance),),
    "groq": (
        Operation("delete_model", "DELETE", "/models/{model:path}", parse=_parse_deletion, render=_render_deletion),
    ),
    "openrouter": (
        _make_info_operation("/key", _describe_key),
        _make_info_operation("/auth/key", _describe_key),  # its older path
        Operation("generation", "GET", "/generation", parse=_parse_generation, render=_render_generation),
        Operation("info", "POST", "/auth/keys", parse=_parse_code, render=_render_key),
        _make_info_operation("/credits", _show_credits),
        _make_info_operation("/providers", _list_providers),
        Operation("info", "GET", "/models/count", parse=_parse_info, render=_count_models),
        Operation("info", "GET", "/models/{author}/{slug}/endpoints", parse=_parse_endpoints, render=_render_endpoints),
    ),
    "vllm": (
        Operation("info", "GET", "/health", parse=_parse_info, render=_render_nothing, needs_key=False),
        _make_info_operation("/version", lambda call: {"version": _VERSION}),
        Operation("info", "GET", "/ping", parse=_parse_info, render=_render_nothing, needs_key=False),
        Operation("info", "POST", "/tokenize", parse=_parse_tokens, render=_render_tokens),
        Operation("info", "POST", "/detokenize", parse=_parse_numbers, render=_render_text),
        _make_info_operation("/tokenizer_info", _describe_tokenizer),
    ),
    "xai": (Operation("info", "GET", "/language-models", parse=_parse_info, render=_render_language_models),),
}
