"""The models that an Ollama server holds: listed, shown, loaded, pulled, pushed, created, copied and deleted.

Every model exists unless the settings list them; what changes the list at a real server changes nothing here.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256

from pydantic_core import to_json

from mockserver.core.call import Call
from mockserver.core.frames import Frame
from mockserver.core.http import HeaderLines, HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import Failure, Models
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._fields import BodyModel, open_shape, optional
from mockserver.dialects._parse import Body
from mockserver.dialects._reply import make_data_reply
from mockserver.dialects.ollama.errors import JSON_TYPE, LINES_TYPE, make_refuse, write_error_line
from mockserver.dialects.ollama.request import NAME, read
from mockserver.wire.parts import write_moment

VERSION = "0.12.6"
USUAL_MODELS = ("llama3.2:latest", "qwen3:latest", "gpt-oss:20b", "nomic-embed-text:latest")
USUAL_WINDOW = 131_072  # tokens
EMBEDDING_WINDOW = 2048  # tokens
LOADED_FOR = 300  # seconds that a model stays in memory
_STEPS = 4  # lines about the download of a layer

_NAMED = BodyModel(open_shape(model=optional(str), name=optional(str), stream=optional(bool)), needed=())
_COPIED = BodyModel(open_shape(source=optional(str), destination=optional(str)), needed=())
Object = dict[str, Json]


def make_model_operations() -> tuple[Operation, ...]:
    """Return the operations on models, and those that tell that the server runs."""
    return (
        Operation("models", "GET", "/api/tags", parse=_make_bare_parser("models"), render=_render_list),
        Operation("model", "POST", "/api/show", parse=_make_name_parser("model", "ShowRequest"), render=_render_show),
        Operation(
            "running_models", "GET", "/api/ps", parse=_make_bare_parser("running_models"), render=_render_running
        ),
        _make_transfer_operation("pull_model", "pull", struct="PullRequest", steps=_list_pull_steps),
        _make_transfer_operation("push_model", "push", struct="PushRequest", steps=_list_push_steps),
        _make_transfer_operation("create_model", "create", struct="CreateRequest", steps=_list_create_steps),
        Operation(
            "delete_model",
            "DELETE",
            "/api/delete",
            parse=_make_name_parser("delete_model", "DeleteRequest"),
            render=_render_done,
        ),
        Operation("copy_model", "POST", "/api/copy", parse=_parse_copy, render=_render_done),
        Operation("blob", "GET", "/api/blobs/{digest}", parse=_make_bare_parser("blob"), render=_render_done),
        Operation(
            "create_blob", "POST", "/api/blobs/{digest}", parse=_make_bare_parser("create_blob"), render=_render_created
        ),
        Operation("version", "GET", "/api/version", parse=_make_bare_parser("version"), render=_render_version),
        Operation("server_status", "GET", "", parse=_make_bare_parser("server_status"), render=_render_status),
    )


def make_reply(body: Body) -> Reply:
    """Return JSON as Ollama sends it."""
    return make_data_reply(200, to_json(body), lines="", json_type=JSON_TYPE)


def _make_bare_parser(operation: str) -> Callable[[HttpRequest, Validation], Call]:
    def parse(http: HttpRequest, validation: Validation) -> Call:
        return Call(NAME, operation, model="", http=http, meaning={"model": "", **http.path_params})

    return parse


def _make_name_parser(operation: str, struct: str) -> Callable[[HttpRequest, Validation], Call]:
    """Return the `parse` of a request that names a model; older clients call the field `name`."""
    refuse = make_refuse(struct)

    def parse(http: HttpRequest, validation: Validation) -> Call:
        body, parsed = read(_NAMED, http, refuse=refuse, validation=validation, named=False)
        model = parsed.get("model") or parsed.get("name") or ""
        if not model:
            raise Failure("bad_parameter", "model is required")
        is_streamed = operation.endswith("_model") and operation != "delete_model"
        stream = is_streamed and parsed.get("stream") is not False
        return Call(NAME, operation, model=model, http=http, meaning={"model": model}, raw=body, stream=stream)

    return parse


def _parse_copy(http: HttpRequest, validation: Validation) -> Call:
    body, parsed = read(_COPIED, http, refuse=make_refuse("CopyRequest"), validation=validation, named=False)
    for key in ("source", "destination"):
        if not parsed.get(key):
            raise Failure("bad_parameter", f'{key} "" is invalid')
    return Call(NAME, "copy_model", model=parsed["source"], http=http, meaning=dict(parsed), raw=body)


def _render_list(call: Call, outcome: Models) -> Reply:
    return make_reply({"models": [_describe(name, outcome.created) for name in outcome.names]})


def _render_running(call: Call, outcome: Models) -> Reply:
    """Return the first model as the one in memory."""
    known = zip(outcome.names[:1], outcome.limits, strict=False)
    return make_reply({"models": [_describe_running(name, outcome.created, each.context) for name, each in known]})


def _describe(name: str, created: int) -> Object:
    return {
        **_write_name(name),
        "modified_at": write_moment(created),
        **_describe_size(name),
        "details": _describe_details(name),
        "capabilities": _list_capabilities(name),
    }


def _describe_running(name: str, created: int, window: int | None) -> Object:
    measures = _describe_size(name)
    return {
        **_write_name(name),
        **measures,
        "details": _describe_details(name),
        "expires_at": write_moment(created + LOADED_FOR),
        "size_vram": measures["size"],
        "context_length": window or _find_window(name),
    }


def _write_name(name: str) -> Object:
    return {"name": name, "model": name}


def _describe_size(name: str) -> Object:
    digest = _compute_digest(name)
    return {"size": 1_000_000_000 + int(digest[:8], 16), "digest": digest}


def _compute_digest(name: str) -> str:
    return sha256(name.encode("utf-8", "surrogatepass")).hexdigest()


def _describe_details(name: str) -> Object:
    family = _find_family(name)
    return {
        "parent_model": "",
        "format": "gguf",
        "family": family,
        "families": [family],
        "parameter_size": "137M" if _embeds(name) else "8.0B",
        "quantization_level": "F16" if _embeds(name) else "Q4_K_M",
    }


def _find_family(name: str) -> str:
    """Return the family of a model: the first letters of its own name."""
    found = _LETTERS.match(name.rpartition("/")[2].lower())
    return found[0] if found else "llama"


_LETTERS = re.compile(r"[a-z]+")


def _embeds(name: str) -> bool:
    return any(word in name.lower() for word in ("embed", "minilm", "bge-"))


def _find_window(name: str) -> int:
    return EMBEDDING_WINDOW if _embeds(name) else USUAL_WINDOW


def _list_capabilities(name: str) -> list[str]:
    return ["embedding"] if _embeds(name) else ["completion", "tools", "thinking", "vision", "insert"]


def _render_show(call: Call, outcome: Models) -> Reply:
    name = outcome.names[0]
    window = outcome.limits[0].context
    family = _find_family(name)
    embeds = _embeds(name)
    shown: Object = {
        "license": "",
        "modelfile": f"FROM {name}\nTEMPLATE {{{{ .Prompt }}}}\n",
        "parameters": "" if embeds else 'stop                           "<|im_end|>"',
        "template": "{{ .Prompt }}" if embeds else _TEMPLATE,
        "details": _describe_details(name),
        "model_info": {
            "general.architecture": family,
            "general.parameter_count": 137_000_000 if embeds else 8_030_261_248,
            f"{family}.context_length": window or _find_window(name),
            f"{family}.embedding_length": 768 if embeds else 4096,
        },
        "capabilities": _list_capabilities(name),
        "modified_at": write_moment(outcome.created),
    }
    return make_reply({key: value for key, value in shown.items() if value != ""})


_TEMPLATE = (
    "{{- if .Suffix }}<|fim_prefix|>{{ .Prompt }}<|fim_suffix|>{{ .Suffix }}<|fim_middle|>{{- else }}"
    "{{- if .System }}<|im_start|>system\n{{ .System }}{{ if .Tools }}\n{{ .Tools }}{{ end }}<|im_end|>\n{{ end }}"
    "{{- range .Messages }}<|im_start|>{{ .Role }}\n{{ .Content }}<|im_end|>\n{{ end }}<|im_start|>assistant\n{{ end }}"
)


def _render_version(call: Call, outcome: Models) -> Reply:
    return make_reply({"version": VERSION})


def _render_status(call: Call, outcome: Models) -> Reply:
    text = b"Ollama is running"
    lines = f"content-type: text/plain; charset=utf-8\r\ncontent-length: {len(text)}\r\n"
    return Reply(200, HeaderLines(lines, sized=True), text)


def _render_done(call: Call, outcome: Models) -> Reply:
    return Reply(200, HeaderLines("content-length: 0\r\n", sized=True))


def _render_created(call: Call, outcome: Models) -> Reply:
    return Reply(201, HeaderLines("content-length: 0\r\n", sized=True))


def _make_transfer_operation(name: str, verb: str, struct: str, steps: Callable[[str], Iterable[Object]]) -> Operation:
    """Return an operation that reports its progress in lines; only the last one if it is not streamed."""

    def render(call: Call, outcome: Models) -> Reply:
        reports = list(steps(call.model))
        if not call.stream:
            return make_reply(reports[-1])
        frames = [Frame(to_json(report) + b"\n", None, 1, "text", "bare") for report in reports]
        return Reply(200, HeaderLines(LINES_TYPE), frames=tuple(frames))

    return Operation(
        name,
        "POST",
        f"/api/{verb}",
        parse=_make_name_parser(name, struct),
        render=render,
        error=write_error_line,
        body=_ask_nothing,
    )


def _ask_nothing(text: str) -> dict[str, Json]:
    return {}


def _list_pull_steps(model: str) -> Iterator[Object]:
    yield {"status": "pulling manifest"}
    yield from _list_layer_steps("pulling", model)
    yield from ({"status": status} for status in ("verifying sha256 digest", "writing manifest", "success"))


def _list_push_steps(model: str) -> Iterator[Object]:
    yield {"status": "retrieving manifest"}
    yield from _list_layer_steps("pushing", model)
    yield from ({"status": status} for status in ("pushing manifest", "success"))


def _list_create_steps(model: str) -> Iterator[Object]:
    yield {"status": f"using existing layer sha256:{_compute_digest(model)}"}
    yield from ({"status": status} for status in ("writing manifest", "success"))


def _list_layer_steps(verb: str, model: str) -> Iterator[Object]:
    measures = _describe_size(model)
    digest = measures["digest"]
    total = measures["size"]
    layer = {"status": f"{verb} {digest[:12]}", "digest": f"sha256:{digest}", "total": total}
    yield layer
    for step in range(1, _STEPS + 1):
        yield {**layer, "completed": total * step // _STEPS}
