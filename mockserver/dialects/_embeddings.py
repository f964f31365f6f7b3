"""Embeddings of any provider: what is embedded as a Call, and vectors as JSON."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from struct import pack

from msgspec import Raw
from msgspec.json import encode
from pydantic_core import to_json

from mockserver.core.call import Call, Message, Options, Prompt, compute_fingerprint
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.lazy import FEW_ITEMS, LazySequence
from mockserver.core.vectors import PaletteVector
from mockserver.dialects._parse import Body
from mockserver.dialects._reply import make_json_reply, write_request_id
from mockserver.kinds.embeddings import Embeddings, Vector

Write = Callable[[Vector], Json]
MAX_DIMENSIONS = 4096  # more than any model has


def make_embedding_call(
    http: HttpRequest,
    body: Body,
    *,
    dialect: str,
    inputs: Sequence[Message],
    model: str,
    meaning: Body,
    dimensions: int | None,
    prompts: Sequence[Prompt] | None = None,
) -> Call:
    """Return the Call of a body with these inputs, each with a text or images.

    `meaning` has the other fields that change the vectors, and `prompts` the inputs as the model reads them, by default
    their texts.
    """
    if prompts is None:
        prompts = [Prompt(_name_input(message)) for message in inputs]
    texts = [prompt.text for prompt in prompts]
    return Call(
        dialect=dialect,
        operation="embeddings",
        model=model,
        http=http,
        meaning={**meaning, "input": texts[0] if len(texts) == 1 else texts},
        raw=body,
        messages=tuple(inputs),
        prompts=tuple(prompts),
        options=Options(dimensions=dimensions),
    )


def _name_input(message: Message) -> str:
    """Return the text to embed of an input, or one that stands for its first image, so that equal images are alike."""
    if message.text or not message.parts:
        return message.text
    return f"image {compute_fingerprint(message.parts[0])[:8]}"


def list_embeddings(outcome: Embeddings, show: Callable[[int, Vector], Json]) -> Sequence[Json]:
    """Return each vector as `show(index, vector)` writes it; many vectors are written while they are sent."""

    def make() -> Iterator[Json]:
        return map(show, count(), outcome.vectors)

    many = len(outcome.vectors)
    return [*make()] if many <= FEW_ITEMS else LazySequence(make, many)


def make_embedding_reply(call: Call, outcome: Embeddings, *, write: Write, usage: Mapping[str, Json]) -> Reply:
    """Return a reply of Jina's and Voyage's, whose body is like OpenAI's, with vectors as `write` encodes them."""

    def show(index: int, vector: Vector) -> Json:
        return {"object": "embedding", "embedding": write(vector), "index": index}

    body = {"object": "list", "data": list_embeddings(outcome, show), "model": outcome.model, "usage": usage}
    return make_json_reply(200, body, lines=write_request_id(call.http, call), headers=outcome.headers)


def find_writer(kind: str, *, is_coded: bool = False) -> Write:
    """Return a function that writes a vector in numbers of a kind (`float`, `int8`, ...), a key of ENCODINGS.

    If `is_coded`, it writes the bytes of these numbers in base64.
    """
    if not is_coded:
        return ENCODINGS[kind]
    if kind == "float":
        return ENCODINGS["base64"]
    return lambda vector: Raw(encode(bytes([number & 0xFF for number in ENCODINGS[kind](vector)])))


def _write_floats(vector: Vector) -> Json:
    return Raw(vector.write_json() if isinstance(vector, PaletteVector) else to_json([*vector]))


def _write_base64(vector: Vector) -> Json:
    """Return little-endian floats of 32 bits, which msgspec writes in base64."""
    packed = vector.pack() if isinstance(vector, PaletteVector) else pack(f"<{len(vector)}f", *vector)
    return Raw(encode(packed))


def _round_to_int8(vector: Vector) -> list[int]:
    return [max(-128, min(127, round(number * 127))) for number in vector]


def _round_to_uint8(vector: Vector) -> list[int]:
    return [number + 128 for number in _round_to_int8(vector)]


def _pack_bits(vector: Vector) -> list[int]:
    """Return eight signs per byte, the first as the highest bit."""
    bits = "".join("1" if number > 0 else "0" for number in vector)
    return [int(bits[at : at + 8].ljust(8, "0"), 2) for at in range(0, len(bits), 8)]


def _pack_signed_bits(vector: Vector) -> list[int]:
    return [byte - 128 for byte in _pack_bits(vector)]


ENCODINGS: Mapping[str, Callable[[Vector], Json]] = {
    "float": _write_floats,
    "base64": _write_base64,
    "int8": _round_to_int8,
    "uint8": _round_to_uint8,
    "binary": _pack_signed_bits,
    "ubinary": _pack_bits,
}
