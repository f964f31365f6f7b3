"""Embeddings of an Ollama server: of one text or several, and the older form that takes a prompt."""

from collections.abc import Callable
from typing import Any

from mockserver.core.call import Call, Message
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import Failure, Models
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._embeddings import ENCODINGS, MAX_DIMENSIONS, make_embedding_call
from mockserver.dialects._fields import BodyModel, Object, open_shape, optional
from mockserver.dialects._reply import make_json_reply
from mockserver.dialects.ollama.errors import make_refuse
from mockserver.dialects.ollama.request import NAME, make_load_call, read
from mockserver.kinds.embeddings import Embeddings
from mockserver.wire.ollama import LOAD, PROMPT_TOKEN

MAX_TOKENS = 8192  # of one text that must not be truncated
_OPTIONS = {
    "model": optional(str),
    "options": optional(Object),
    "keep_alive": optional(Any),
    "truncate": optional(bool),
}
EMBED = BodyModel(open_shape(input=optional(Any), dimensions=optional(int), **_OPTIONS), needed=("model",))
EMBED_PROMPT = BodyModel(open_shape(prompt=optional(str), **_OPTIONS), needed=("model",))
_refuse_embed = make_refuse("EmbedRequest")
_refuse_prompt = make_refuse("EmbeddingRequest")


def make_embedding_operations() -> tuple[Operation, ...]:
    return (
        Operation("embeddings", "POST", "/api/embed", parse=_parse, render=_render, body=_make_ask("input")),
        Operation(
            "embeddings", "POST", "/api/embeddings", parse=_parse_prompt, render=_render_one, body=_make_ask("prompt")
        ),
    )


def _make_ask(key: str) -> Callable[[str], dict[str, Json]]:
    return lambda text: {key: text}


def _parse(http: HttpRequest, validation: Validation) -> Call:
    body, parsed = read(EMBED, http, refuse=_refuse_embed, validation=validation)
    given = parsed.get("input") or []
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise Failure("bad_parameter", "invalid input type")
    call = _make_call(http, body, parsed=parsed, texts=texts)
    if parsed.get("truncate") is False:
        longest = max((len(prompt.find_tokens(call.tokenizer)) for prompt in call.prompts), default=0)
        if longest > MAX_TOKENS:
            raise Failure("context_length")
    return call


def _parse_prompt(http: HttpRequest, validation: Validation) -> Call:
    body, parsed = read(EMBED_PROMPT, http, refuse=_refuse_prompt, validation=validation)
    prompt = parsed.get("prompt")
    return _make_call(http, body, parsed={**parsed, "dimensions": None}, texts=[prompt] if prompt else [])


def _make_call(http: HttpRequest, body: Any, *, parsed: Any, texts: list[str]) -> Call:
    """Return the Call of texts to embed; without any, it only loads the model."""
    if not texts:
        return make_load_call(http, body)
    size = parsed.get("dimensions") or None
    if size is not None and not 0 < size <= MAX_DIMENSIONS:
        raise Failure("bad_parameter", f"dimensions must be between 1 and {MAX_DIMENSIONS}")
    model = parsed.get("model") or ""
    return make_embedding_call(
        http,
        body,
        dialect=NAME,
        inputs=[Message("user", text) for text in texts],
        model=model,
        meaning={"model": model, **({"dimensions": size} if size else {})},
        dimensions=size,
    )


def _render(call: Call, outcome: Embeddings | Models) -> Reply:
    if isinstance(outcome, Models):
        return make_json_reply(200, {"model": call.model, "embeddings": []})
    write = ENCODINGS["float"]
    prompt = outcome.prompt_tokens
    body: dict[str, Json] = {
        "model": outcome.model,
        "embeddings": [write(vector) for vector in outcome.vectors],
        "total_duration": LOAD + prompt * PROMPT_TOKEN,
        "load_duration": LOAD,
        "prompt_eval_count": prompt,
    }
    return make_json_reply(200, body, lines="", headers=outcome.headers)


def _render_one(call: Call, outcome: Embeddings | Models) -> Reply:
    if isinstance(outcome, Models):
        return make_json_reply(200, {"embedding": []})
    return make_json_reply(
        200, {"embedding": ENCODINGS["float"](outcome.vectors[0])}, lines="", headers=outcome.headers
    )
