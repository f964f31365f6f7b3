"""The signatures of Anthropic's thinking: of a thought, of its place in the answer, and of all that came before it.

Clients send a conversation back with differences that mean nothing (a text as a block, an empty field left out, 1.0 as
1), so that only its content is compared.
"""

from collections.abc import Mapping
from hashlib import blake2b

from msgspec import Struct

from mockserver.core.json import Json, write_canonical
from mockserver.core.seal import CLAIM, Seal, claim, encode_text

Body = Mapping[str, Json]

SIGNATURE = Seal("thinking", b"\x12\xa8\x01\x0a", 240)
_NOTHING = bytes(CLAIM)


class Prefix:
    """What comes before a thinking block: the system prompt and the tools of a request, then each block in turn."""

    def __init__(self, body: Body) -> None:
        self.system = claim(write_canonical([_make_block(block) for block in _list_blocks(body.get("system"))]))
        self.thought = _NOTHING  # the signature of the latest thought
        self._role = ""
        self._content = blake2b(self.system, digest_size=CLAIM)
        self._content.update(write_canonical([_simplify(tool) for tool in body.get("tools") or ()]))

    def add_message(self, message: Body) -> None:
        """Add the blocks of a message."""
        for block in list_message_blocks(message):
            self.add(message["role"], block)

    def add(self, role: str, block: Body) -> None:
        """Add a block; neighbouring messages of one role are one."""
        if block["type"] in ("thinking", "redacted_thinking"):
            self.thought = claim(encode_text(str(block.get("signature") or block.get("data"))))
        elif block.get("text") != "":
            turn = "" if role == self._role else role
            self._role = role
            self._content.update(write_canonical([turn, _make_block(block)]))

    @property
    def has_thought(self) -> bool:
        return self.thought != _NOTHING

    @property
    def content(self) -> bytes:
        """A hash of the system prompt, the tools and the blocks so far, without thoughts."""
        return self._content.digest()


class SignatureClaims(Struct, frozen=True):
    """What a signature vouches for; the last three are empty where thoughts may move to another conversation."""

    text: bytes
    place: int  # among the thoughts of its answer
    system: bytes = b""
    thought: bytes = b""  # the thought before it
    content: bytes = b""  # of all that came before it

    @property
    def is_first(self) -> bool:
        """Whether it was the first thought of its conversation."""
        return self.thought == _NOTHING


def sign(thinking: str, place: int, prefix: Prefix | None) -> str:
    """Return the signature of a thought; with a prefix, it is valid only behind that."""
    bound = () if prefix is None else (prefix.system, prefix.thought, prefix.content)
    return SIGNATURE.close(claim_text(thinking), place.to_bytes(CLAIM, "big"), *bound)


def read_signature(signature: str) -> SignatureClaims | None:
    """Return what a signature vouches for; None for one that somebody else made. Raises SealError."""
    claims = SIGNATURE.open(signature)
    if claims is None:
        return None
    text, place, *bound = claims
    return SignatureClaims(text, int.from_bytes(place, "big"), *bound)


def claim_text(thinking: str) -> bytes:
    """Return what a signature vouches for of the text of a thought."""
    return claim(encode_text(thinking))


def list_message_blocks(message: Body) -> list[Body]:
    """Return the blocks of a message: one for a text, none for a message of the system that only configures."""
    return _list_blocks(message.get("content"))


def _list_blocks(content: Json) -> list[Body]:
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return list(content or ())


def _make_block(block: Body) -> Json:
    match block:
        case {"type": "text", "text": text}:
            return ["text", text]
        case {"type": "tool_use"}:
            return ["tool_use", block.get("id"), block.get("name"), _simplify(block.get("input"))]
        case {"type": "tool_result"}:
            content = [_make_block(inner) for inner in _list_blocks(block.get("content"))]
            return ["tool_result", block.get("tool_use_id"), bool(block.get("is_error")), content]
    return _simplify(block)


def _simplify(value: Json) -> Json:
    """Return a value without nulls and marks for caching, numbers as the doubles that clients may make of them."""
    match value:
        case bool() | str():
            return value
        case int() | float():
            return _write_number(value)
        case Mapping():
            return {key: _simplify(each) for key, each in value.items() if each is not None and key not in _UNCOMPARED}
        case list() | tuple():
            return [_simplify(each) for each in value]
    return None


def _write_number(value: float) -> str:
    try:
        return f"{value + 0.0:.17g}"  # adding 0.0 turns -0.0 into 0.0
    except OverflowError:
        return str(value)


_UNCOMPARED = ("cache_control", "caller")
