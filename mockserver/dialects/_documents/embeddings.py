"""Requests for embeddings to Calls, for OpenAI and its look-alikes; Azure's own request too."""

from collections.abc import Callable, Iterator, Mapping

from mockserver.core.call import Call, Json, Message
from mockserver.core.http import HttpRequest
from mockserver.core.plan import Failure
from mockserver.dialects._completions.request import prompts_of
from mockserver.dialects._documents.embeddings_models import EMBEDDING, EMBEDDING_FIELDS
from mockserver.dialects._shared.parse import Complaint, unknown_keys, validated
from mockserver.dialects._shared.words import refuse

Body = Mapping[str, Json]
Refuse = Callable[[Complaint], Failure]

MOST_TOKENS = 300_000  # of all inputs together
MOST_TOKENS_OF_ONE = 8192  # of one input; only the live service counts so exactly


def parse_embeddings(http: HttpRequest, body: Body, dialect: str, *, strict: bool) -> Call:
    """The Call of OpenAI's body, which is closed, or the 400 in which OpenAI words what is wrong with it."""
    asked = validated(EMBEDDING, body, refuse)
    for found in (*_unknown(body), *_empty(asked["input"])):
        raise refuse(found)
    call = embeddings_call(http, body, asked, dialect=dialect, refuse=refuse)
    if strict and (failure := too_long(call)):
        raise failure
    return call


def embeddings_call(  # size: what was sent, and what of it is valid
    http: HttpRequest, body: Body, asked: Body, *, dialect: str, refuse: Refuse
) -> Call:
    """The Call of a validated body. Raises Failure where its inputs are too long together."""
    prompts = prompts_of(asked["input"])
    texts = [prompt.text for prompt in prompts]
    meaning = {key: body[key] for key in body if key not in _BOOKKEEPING}
    call = Call(
        dialect=dialect,
        operation="embeddings",
        model=asked.get("model") or "",
        http=http,
        meaning={**meaning, "input": texts[0] if len(texts) == 1 else texts},
        raw=body,
        messages=tuple(Message("user", text) for text in texts),
        prompts=prompts,
        dimensions=asked.get("dimensions"),
    )
    if call.prompt_tokens > MOST_TOKENS:
        message = f"Requested {call.prompt_tokens:,} tokens, max {MOST_TOKENS:,} tokens per request"
        raise refuse(Complaint("conflict", ("input",), message=message))
    return call


def too_long(call: Call) -> Failure | None:
    """The refusal of a call one of whose inputs is longer than the live service takes."""
    longest = max(len(prompt.tokens(call.tokenizer)) for prompt in call.prompts)
    if longest <= MOST_TOKENS_OF_ONE:
        return None
    message = (
        f"This model's maximum context length is {MOST_TOKENS_OF_ONE} tokens, however you requested {longest} tokens "
        f"({longest} in your prompt; 0 for the completion). Please reduce your prompt; or completion length."
    )
    return Failure("context_length", message, param="input")


def encoding(call: Call) -> str:
    """How the client wants its vectors."""
    wish = call.raw.get("encoding_format")
    return wish if isinstance(wish, str) else "float"


def _unknown(body: Body) -> Iterator[Complaint]:
    return (Complaint("unknown", (key,)) for key in unknown_keys(body, EMBEDDING_FIELDS))


def _empty(given: Json) -> Iterator[Complaint]:
    """Texts without anything in them."""
    if given == "":
        yield _nothing("input")
    elif isinstance(given, list) and "" in given:
        yield _nothing("input", given.index(""))


def _nothing(*path: str | int) -> Complaint:
    complaint = Complaint("conflict", path)
    return Complaint("conflict", path, message=f"Invalid '{complaint.where}': input cannot be an empty string.")


_BOOKKEEPING = ("encoding_format", "user")
