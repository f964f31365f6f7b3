"""Text completions of OpenAI and similar APIs: from the body to the Call, and from the answer to the wire format."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from mockserver.core.call import Call, IdShape, Message, Options, Prompt
from mockserver.core.http import HttpRequest
from mockserver.core.json import Json
from mockserver.core.tokens import APPROX
from mockserver.core.validation import Validation
from mockserver.dialects._errors import refuse
from mockserver.dialects._fields import (
    STRING,
    BodyModel,
    fields_of,
    integer,
    label_member,
    list_of,
    nullable,
    optional,
    shape,
    union,
    usually,
)
from mockserver.dialects._meaning import find_meaning
from mockserver.dialects._openai_api.chat import find_unmet_stream_options, read_stop_sequences
from mockserver.dialects._openai_api.chat_bodies import ChatBody
from mockserver.dialects._openai_api.lengths import LENGTHENING, read_least_length
from mockserver.dialects._parse import (
    Body,
    Complaint,
    complain,
    find_unknown_fields,
    find_usual,
    read_request,
    refuse_first,
)
from mockserver.wire.logprobs import LogprobsShape
from mockserver.wire.text import CompletionOptions, TextLayout

MAX_PROMPTS = 2048
Tokens = list_of(int, 1)
_Texts = label_member("<an array of strings>", list_of(str, 1, MAX_PROMPTS))
Prompts = usually(
    union(STRING, _Texts),
    union(
        STRING,
        _Texts,
        label_member("<an array of integers>", Tokens),
        label_member("<an array of integer arrays>", list_of(Tokens, 1, MAX_PROMPTS)),
    ),
)

_CHAT_FIELDS = (
    "frequency_penalty", "logit_bias", "n", "presence_penalty", "seed", "stop", "stream", "stream_options",
    "temperature", "top_p", "user",
)  # fmt: skip
# `POST /completions` (https://platform.openai.com/docs/api-reference/completions).
CompletionBody = shape(
    model=str,
    prompt=nullable(Prompts),
    best_of=optional(integer(0, 20)),
    echo=optional(bool),
    logprobs=optional(integer(0, 5)),
    max_tokens=optional(integer(0)),
    suffix=optional(str),
    **fields_of(ChatBody, *_CHAT_FIELDS),
)
COMPLETION = BodyModel(CompletionBody)

MAX_COMPLETION_CHOICES = 2048  # for all prompts together
MAX_ECHOED_TOKENS = 131_072  # tokens of prompts, in all choices together
WHOLE_PROMPT = 1 << 62  # more tokens than any prompt has: all of it is repeated
USUAL_TOKENS = 16
_IDS = IdShape("cmpl-")


def parse_completion(
    http: HttpRequest, dialect: str, url_fields: Body, *, validation: Validation, model: BodyModel = COMPLETION
) -> Call:
    """Return the Call of a body of this form; `url_fields` are those of the path or query."""
    body, parsed = read_request(model, http, refuse=refuse, validation=validation, url_fields=url_fields)
    if validation is not Validation.OFF and not _CONFLICTING.isdisjoint(parsed):
        refuse_first(_find_conflicts(parsed), refuse)
    options = _USUAL if _ASKING.isdisjoint(parsed) else _read_options(parsed)
    call = make_completion_call(http, body, parsed=parsed, options=options, dialect=dialect)
    if call.options.echo and (message := explain_long_echo(call)) is not None:
        raise refuse(complain(message, "echo"))
    if validation is Validation.LIVE:
        refuse_first(find_live_completion_mistakes(body), refuse)
    return call


def make_completion_call(
    http: HttpRequest, body: Body, parsed: Body, options: Options, *, dialect: str, ids: IdShape = _IDS
) -> Call:
    """Return the Call of a body; `parsed` is that body as its request model read it, with only known keys."""
    prompts = parse_prompts(parsed["prompt"])
    if suffix := parsed.get("suffix"):
        prompts = tuple([replace(prompt, suffix=suffix) for prompt in prompts])
    texts = [prompt.text for prompt in prompts]
    meaning = find_meaning(body, dialect, "completions")
    meaning["prompt"] = texts[0] if len(texts) == 1 else texts
    if not LENGTHENING.isdisjoint(body):
        options = read_least_length(options, body, choices=options.n * len(prompts))
    return Call(
        dialect=dialect,
        operation="completions",
        model=parsed["model"],
        http=http,
        meaning=meaning,
        raw=body,
        messages=tuple([Message("user", text) for text in texts]),
        prompts=prompts,
        stream=parsed.get("stream") is True,
        options=options,
        ids=ids,
    )


def _read_options(parsed: Body) -> Options:
    most = parsed.get("max_tokens")
    return Options(
        include_usage=bool((parsed.get("stream_options") or {}).get("include_usage")),
        n=parsed.get("n") or 1,
        max_tokens=most,
        usual_tokens=USUAL_TOKENS if most is None else None,
        echo=WHOLE_PROMPT if parsed.get("echo") else 0,
        stop=read_stop_sequences(parsed.get("stop")),
        logprobs=parsed.get("logprobs"),
        seed=parsed.get("seed"),
    )


_USUAL, _ASKING = find_usual(_read_options)
_CONFLICTING = frozenset(("stream_options", "best_of", "n"))


def parse_prompts(prompt: Json) -> tuple[Prompt, ...]:
    """Return the prompts of any of the four kinds; null and an empty list are one empty prompt."""
    if not isinstance(prompt, list) or not prompt:
        return (Prompt(prompt or ""),)
    match prompt[0]:
        case str():
            return tuple(map(Prompt, prompt))
        case int():
            return (_read_numbers(prompt),)
    return tuple(map(_read_numbers, prompt))


def _read_numbers(numbers: Sequence[int]) -> Prompt:
    return Prompt("".join(APPROX.read(numbers)), tuple(numbers))


def count_choices(parsed: Body) -> int:
    """Return how many choices a body asks for, for all prompts together."""
    prompt = parsed["prompt"]
    several = isinstance(prompt, list) and prompt and not isinstance(prompt[0], int)
    return (parsed.get("n") or 1) * (len(prompt) if several else 1)


def explain_many_choices(parsed: Body) -> str | None:
    """Return the message about more choices than are made at once; None if a body asks for fewer."""
    choices = count_choices(parsed)
    if choices <= MAX_COMPLETION_CHOICES:
        return None
    most = MAX_COMPLETION_CHOICES
    return f"You requested {choices} choices (n for each prompt), but at most {most} can be made at once."


def explain_long_echo(call: Call) -> str | None:
    """Return the message about more tokens of prompts than an answer repeats; None if there are fewer."""
    tokens = call.options.n * call.prompt_tokens
    if tokens <= MAX_ECHOED_TOKENS:
        return None
    return f"You requested {tokens} tokens of prompts to be repeated, but at most {MAX_ECHOED_TOKENS} can be at once."


def _find_conflicts(parsed: Body) -> Iterator[Complaint]:
    n = parsed.get("n") or 1
    best_of = parsed.get("best_of")
    yield from find_unmet_stream_options(parsed)
    if best_of is not None and best_of < n:
        yield complain(f"{_FEWER} (HINT: 'n' is {n}, and must be at most 'best_of', which is {best_of}).", "best_of")
    if best_of is not None and best_of > 1 and parsed.get("stream"):
        yield complain("Results cannot be streamed when 'best_of' is greater than 1.", "best_of")
    if (message := explain_many_choices(parsed)) is not None:
        yield complain(message, "n")


def find_live_completion_mistakes(body: Body) -> Iterator[Complaint]:
    """Yield what OpenAI's live API refuses although its published schema allows it."""
    yield from find_unknown_fields(body, COMPLETION.fields)
    if not body["model"]:
        yield complain("you must provide a model parameter", "model")


def make_completion_options(call: Call) -> CompletionOptions:
    """Return the options of the answer to a completion."""
    shape = LogprobsShape("legacy", call.options.logprobs or 0, null_first=True)
    return CompletionOptions(prompts=call.prompts, logprobs=shape, usage=call.options.include_usage)


TEXT_LAYOUT = TextLayout(
    completion=("id", "object", "created", "model", "choices", "usage"),
    choice=("text", "index", "logprobs", "finish_reason"),
    usage=("prompt_tokens", "completion_tokens", "total_tokens"),
    finishes=dict.fromkeys(("tool_calls", "function_call", "error"), "stop"),
)
_FEWER = "You requested that the server return more choices than it will generate"
