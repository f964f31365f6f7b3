"""Jina and Voyage: services that only embed and rerank, with OpenAI's form of embeddings and errors of one text."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec import Raw
from msgspec.json import encode

from mockserver.core.call import Call, Message, Options, Prompt, fingerprint
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.lazy import FEW, LazySequence
from mockserver.core.plan import Failure
from mockserver.dialects._errors import ErrorTable, retry_lines
from mockserver.dialects._openai_api.embeddings import ENCODINGS
from mockserver.dialects._parse import BAD_JSON, OTHER_MEDIA, Body
from mockserver.dialects._reply import json_reply, request_id_line
from mockserver.kinds.embeddings import Embeddings, Vector

MAX_INPUTS = 1000
MAX_DIMENSIONS = 4096
_BOOKKEEPING = frozenset(("embedding_type", "encoding_format", "output_dtype", "input"))


def make_embedding_call(
    http: HttpRequest, dialect: str, body: Body, inputs: Sequence[Json], *, dimensions: int | None
) -> Call:
    """Return the Call of a body with these inputs: texts, or objects that have a text or an image."""
    messages = tuple(map(_read_input, inputs))
    texts = [name_input(message) for message in messages]
    meaning = {key: value for key, value in body.items() if key not in _BOOKKEEPING and value is not None}
    return Call(
        dialect=dialect,
        operation="embeddings",
        model=str(body["model"]),
        http=http,
        meaning={**meaning, "input": texts[0] if len(texts) == 1 else texts},
        raw=body,
        messages=messages,
        prompts=tuple(map(Prompt, texts)),
        options=Options(dimensions=dimensions),
    )


def _read_input(given: Json) -> Message:
    if isinstance(given, str):
        return Message("user", given)
    text, image = given.get("text"), given.get("image")
    parts = () if image is None else ({"type": "image_url", "image_url": {"url": image}},)
    return Message("user", text or "", parts=parts)


def name_input(message: Message) -> str:
    """Return what is embedded of an input: its text, or a short one for its images; equal images get equal vectors."""
    if message.text or not message.parts:
        return message.text
    return f"image {fingerprint(message.parts[0])[:8]}"


Write = Callable[[Vector], Json]


def find_writer(kind: str, *, is_coded: bool = False) -> Write:
    """Return what writes a vector in numbers of a kind; `is_coded`: as the bytes of these numbers in base64."""
    if not is_coded:
        return ENCODINGS[kind]
    if kind == "float":
        return ENCODINGS["base64"]
    return lambda vector: Raw(encode(bytes([number & 0xFF for number in ENCODINGS[kind](vector)])))


def detail_fail(errors: ErrorTable) -> Callable[[HttpRequest, Failure, Call | None], Reply]:
    """Return what makes a failure an error of one text, `{"detail": ...}`."""

    def fail(http: HttpRequest, failure: Failure, call: Call | None) -> Reply:
        if (failure.message or "").startswith((BAD_JSON, OTHER_MEDIA)):  # which is OpenAI's
            failure = failure.changed(message=None)
        resolved = errors.resolve(failure, http, call)
        lines = request_id_line(http, call) + retry_lines(failure)
        return json_reply(resolved.status, {"detail": resolved.message}, lines, failure.headers)

    return fail


def embedding_reply(call: Call, outcome: Embeddings, write: Write, usage: Mapping[str, Json]) -> Reply:
    def make() -> Iterator[Json]:
        for index, vector in enumerate(outcome.vectors):
            yield {"object": "embedding", "embedding": write(vector), "index": index}

    count = len(outcome.vectors)
    body = {
        "object": "list",
        "data": [*make()] if count <= FEW else LazySequence(make, count),
        "model": outcome.model,
        "usage": usage,
    }
    return json_reply(200, body, request_id_line(call.http, call), outcome.headers)
