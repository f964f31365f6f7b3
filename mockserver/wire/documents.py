"""Lists of vectors, each in the encoding that the client asks for. Knows no provider."""

from array import array
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from sys import byteorder

from mockserver.core.json import Json
from mockserver.core.plan import CATEGORIES, Embeddings, Judgement, Moderations, Vector


def embeddings(outcome: Embeddings, encoding: str) -> dict[str, Json]:
    """The body (`wire/openai.md` section 8); `encoding` is a key of ENCODINGS."""
    encode = ENCODINGS[encoding]
    return {
        "object": "list",
        "data": [
            {"object": "embedding", "index": index, "embedding": encode(vector)}
            for index, vector in enumerate(outcome.vectors)
        ],
        "model": outcome.model,
        "usage": {"prompt_tokens": outcome.prompt_tokens, "total_tokens": outcome.prompt_tokens},
    }


def _base64(vector: Vector) -> str:
    """Little-endian floats of 32 bits."""
    floats = array("f", vector)
    if byteorder == "big":
        floats.byteswap()
    return b64encode(floats.tobytes()).decode("ascii")


def _int8(vector: Vector) -> list[int]:
    return [max(-128, min(127, round(number * 127))) for number in vector]


def _uint8(vector: Vector) -> list[int]:
    return [number + 128 for number in _int8(vector)]


def _bits(vector: Vector) -> list[int]:
    """Eight signs to a byte, the first being the highest bit."""
    bits = "".join("1" if number > 0 else "0" for number in vector)
    return [int(bits[at : at + 8].ljust(8, "0"), 2) for at in range(0, len(bits), 8)]


def _signed_bits(vector: Vector) -> list[int]:
    return [byte - 128 for byte in _bits(vector)]


ENCODINGS: Mapping[str, Callable[[Vector], Json]] = {
    "float": list,
    "base64": _base64,
    "int8": _int8,
    "uint8": _uint8,
    "binary": _signed_bits,
    "ubinary": _bits,
}


def moderations(outcome: Moderations, inputs: Sequence[str]) -> dict[str, Json]:
    """The body (`wire/openai.md` section 8); `inputs` names the kinds of input that were judged: text, image."""
    return {
        "id": outcome.id,
        "model": outcome.model,
        "results": [_result(result, inputs) for result in outcome.results],
    }


def _result(result: Judgement, inputs: Sequence[str]) -> Mapping[str, Json]:
    applied = {name: [kind for kind in inputs if kind == "text" or name in _OF_IMAGES] for name in CATEGORIES}
    return {
        "flagged": bool(result.flagged),
        "categories": {name: name in result.flagged for name in CATEGORIES},
        "category_scores": {name: result.scores.get(name, 0.0) for name in CATEGORIES},
        "category_applied_input_types": applied,
    }


# What is looked for in images too.
_OF_IMAGES = frozenset(
    ("self-harm", "self-harm/instructions", "self-harm/intent", "sexual", "violence", "violence/graphic")
)
