"""What an answer may be, whatever was asked: strict JSON or a whole stream, by the types of its kind, in its dialect.

Knows each operation by its name, no request and no rule.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from openai.types import CreateEmbeddingResponse, ModerationCreateResponse
from openai.types.responses.input_token_count_response import InputTokenCountResponse
from pydantic import TypeAdapter

from tests.dialects.invariants import has_shape
from tests.fuzz.document import WITH_OWN_TESTS, Place
from tests.fuzz.wire import Connection, Request
from tests.kit.raw import RawResponse
from tests.kit.strict import check_chunk, check_completion, check_text, check_text_chunk, frames
from tests.kit.strict_contents import CHECKS as GEMINI
from tests.kit.strict_messages import CHECKS as ANTHROPIC
from tests.kit.strict_responses import check_event, check_response, check_tzafon, list_typed_frames

Json = Any
Check = Callable[[bytes, str], object]
SOURCES = ("invalid", "unmatched", "generated", "stored")  # of an error; a rule of these tests gives none
SUCCESSES = (200, 201)
JSON, STREAM = "application/json", "text/event-stream; charset=utf-8"


def judge(answer: RawResponse, dialect: str, operation: str, method: str = "POST") -> None:
    """Raises AssertionError or ValidationError unless this is what the operation of the dialect may answer.

    An empty operation is one that nobody serves: only a refusal will do.
    """
    assert answer.status < 500, answer
    assert answer.headers.get("x-mockserver-source"), answer.headers
    if method == "HEAD":
        assert answer.body == b""
    elif answer.status == 204 and method in ("OPTIONS", "DELETE"):
        assert method == "DELETE" or answer.headers.get("allow"), answer.headers
        assert "content-length" not in answer.headers
    elif answer.status in SUCCESSES:
        assert operation, f"a success of nothing: {answer}"
        _success(answer, dialect, operation)
    else:
        assert answer.status >= 400, answer
        refused(answer, dialect)


def judged(server: Connection, place: Place, request: Request) -> RawResponse:
    """A request to an operation, whose answer is judged; what is wrong with it tells what was asked."""
    return checked(server, request, lambda answer: judge(answer, place.dialect, place.operation.name, request.method))


def checked(server: Connection, request: Request, check: Callable[[RawResponse], object]) -> RawResponse:
    try:
        answer = server.ask(request)
        check(answer)
    except Exception as error:
        error.add_note(f"asked: {request}"[:5000])
        raise
    return answer


def refused(answer: RawResponse, dialect: str) -> Json:
    assert answer.headers.get("content-length") == str(len(answer.body))
    assert answer.headers.get("x-mockserver-source") in SOURCES, answer.headers
    media = answer.headers.get("content-type", "").lower()
    if dialect == "ollama" and answer.status in (404, 405) and media == "text/plain":  # its router knows no JSON
        return answer.body.decode()
    assert media.removesuffix("; charset=utf-8") == JSON, answer.headers
    said = strict(answer.body)
    if dialect in ("gemini", "openai") and isinstance(said, list):  # where the answer would have been an array, or
        (said,) = said  # Google answers clients of OpenAI
        dialect = "gemini"
    has_shape(said, _find_author(said, dialect), "error")
    return said


def _find_author(error: Json, dialect: str) -> str:
    """Whose form an error has: below `/v1`, Ollama writes those of OpenAI and Anthropic."""
    if dialect != "ollama" or isinstance(error["error"], str):
        return dialect
    return "anthropic" if "type" in error else "openai"


def strict(body: bytes) -> Json:
    """JSON by the letter: UTF-8, finite numbers, no key twice, no half of a character."""
    found = json.loads(body.decode("utf-8"), parse_constant=_no_number, object_pairs_hook=_no_key_twice)
    json.dumps(found, ensure_ascii=False).encode("utf-8")
    return found


def _no_number(name: str) -> Json:
    raise AssertionError(f"{name} is no JSON")


def _no_key_twice(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    assert len(found) == len(pairs), f"a key stands there twice: {pairs}"
    return found


def _success(answer: RawResponse, dialect: str, operation: str) -> None:
    if dialect == "anthropic" and operation in ANTHROPIC:
        ANTHROPIC[operation](answer.body)
        return
    if dialect == "gemini":
        GEMINI[operation](answer.body)
        return
    if dialect in ("cohere", "jina", "voyage"):
        check_cohere(answer.body, answer.headers.get("content-type", ""))
        return
    if operation not in PLAIN or dialect in WITH_OWN_TESTS:  # kept objects, pictures and sounds have them, too
        if answer.headers.get("content-type") == JSON:
            strict(answer.body)
        return
    if answer.headers.get("content-type") == STREAM:
        _STREAMS[operation](answer.body, dialect)
        return
    assert answer.headers.get("content-type") == JSON, answer.headers
    strict(answer.body)
    PLAIN[operation](answer.body, dialect)


def check_cohere(body: bytes, media: str) -> None:
    """A message, events, or lines of JSON; other bodies are any JSON."""
    if media == "application/stream+json":
        for line in body.splitlines():
            assert strict(line)["event_type"]
    elif media == STREAM:
        *events, last = [frame.rpartition(b"data: ")[2] for frame in body.removesuffix(b"\n\n").split(b"\n\n")]
        assert last == b"[DONE]"
        kinds = [strict(event)["type"] for event in events]
        assert (kinds[0], kinds[-1]) == ("message-start", "message-end")
    elif "message" in (said := strict(body)):
        has_shape(said, "cohere", "response")


def _chat_stream(body: bytes, dialect: str) -> None:
    _done(body, dialect, _chunk)


def _chunk(data: bytes, dialect: str) -> None:
    if b'"custom":' in data:  # the client's types of a chunk do not know custom tools
        has_shape(json.loads(data), dialect, "chunk")
    else:
        check_chunk(data, dialect)


def _text_stream(body: bytes, dialect: str) -> None:
    _done(body, dialect, check_text_chunk)


def _done(body: bytes, dialect: str, check: Check) -> None:
    assert body.endswith(b"\n\n"), "the last frame has no end"
    *said, last = frames(body)
    assert last == b"[DONE]"
    for data in said:
        strict(data)
        check(data, dialect)


def _response_stream(body: bytes, dialect: str) -> None:
    said = list_typed_frames(body)
    for data in said:
        strict(data)
        if dialect != "tzafon":
            check_event(_unrepeated(data))
    if not said:  # one that is told from a later event on
        return
    assert json.loads(said[-1])["type"] in _LAST, said[-1]
    numbers = [json.loads(data)["sequence_number"] for data in said]
    assert numbers == list(range(numbers[0], numbers[0] + len(said)))


def _response(body: bytes, dialect: str) -> None:
    if dialect == "tzafon":
        check_tzafon(_unrepeated(body))
    else:
        check_response(_unrepeated(body))


def _unrepeated(body: bytes) -> bytes:
    """A response, or an event with one, without what it repeats of the request: that is as good as the request was."""
    found = json.loads(body)
    within = found.get("response")
    (within if isinstance(within, dict) else found).update(REPEATED if "output" in (within or found) else {})
    return json.dumps(found).encode()


def _embeddings(body: bytes, dialect: str) -> None:
    found = json.loads(body)
    for entry in found["data"]:
        if isinstance(entry["embedding"], str):  # base64, which the client's types do not know
            entry["embedding"] = []
    _EMBEDDINGS.validate_python(found)


def _shape(name: str) -> Check:
    return lambda body, dialect: has_shape(json.loads(body), dialect, name)


def _typed(adapter: TypeAdapter[Any]) -> Check:
    return lambda body, dialect: adapter.validate_json(body, strict=True)


def _with_keys(*keys: str) -> Check:
    def check(body: bytes, dialect: str) -> None:
        assert set(keys) <= set(json.loads(body)), body

    return check


REPEATED: Mapping[str, Json] = {"tools": [], "tool_choice": "auto", "prompt": None}
_EMBEDDINGS = TypeAdapter(CreateEmbeddingResponse)
_LAST = ("response.completed", "response.incomplete", "response.failed", "error")
_LIST = _with_keys("object", "data", "has_more", "first_id", "last_id")
_STREAMS: Mapping[str, Check] = {
    "chat": _chat_stream,
    "completions": _text_stream,
    "responses": _response_stream,
    "response": _response_stream,
}
PLAIN: Mapping[str, Check] = {
    "chat": check_completion,
    "completions": check_text,
    "responses": _response,
    "response": _response,
    "cancel_response": _response,
    "delete_model": _with_keys("id", "object", "deleted"),
    "delete_response": _with_keys("id", "object", "deleted"),
    "input_items": _LIST,
    "input_tokens": _typed(TypeAdapter(InputTokenCountResponse)),
    "compact_response": _with_keys("id", "object", "created_at", "output", "usage"),
    "stored_chats": _LIST,
    "stored_chat": _with_keys("id", "object", "choices", "metadata"),
    "update_chat": _with_keys("id", "object", "choices", "metadata"),
    "delete_chat": _with_keys("id", "object", "deleted"),
    "chat_messages": _LIST,
    "embeddings": _embeddings,
    "moderations": _typed(TypeAdapter(ModerationCreateResponse)),
    "models": _shape("models"),
    "model": _shape("model"),
    "info": _shape("info"),
}
