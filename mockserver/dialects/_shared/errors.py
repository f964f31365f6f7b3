"""From a Failure to what a provider says: a row of the dialect's table, overlaid with what the failure itself states.

The words are OpenAI's, whose openings wrappers and gateways recognise (`wire/errors.md`); a dialect may bring its own.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mockserver.core.call import Call, Json
from mockserver.core.http import Headers, HttpRequest
from mockserver.core.plan import REASONS, Failure, reason_of
from mockserver.dialects._shared.parse import clip
from mockserver.dialects._shared.schemas import of_schema


@dataclass(frozen=True, slots=True)
class Row:
    """How a dialect answers one reason: status, type, code, and the field that is named."""

    status: int
    kind: str | None = None
    code: str | int | None = None
    param: str | None = None


@dataclass(frozen=True, slots=True)
class Said:
    """A failure as one provider says it."""

    status: int
    message: str
    kind: str | None
    code: str | int | None
    param: str | None


Rows = Mapping[str, Row]
Words = Mapping[str, str]
Credential = Callable[[HttpRequest], str | None]


@dataclass(frozen=True, slots=True)
class Phrasebook:
    """A dialect's table of errors: a row and words for each reason, and where the client's key stands."""

    rows: Rows
    words: Words
    credential: Credential

    def say(self, failure: Failure, http: HttpRequest, call: Call | None) -> Said:
        """Status, words and codes; what the failure states wins over the table."""
        reason = failure.reason if failure.reason in REASONS else reason_of(failure.status or 500)
        row = self._row(reason)
        failure = of_schema(failure, call, coded=row.code is None and row.kind == "invalid_request_error")
        return Said(
            status=row.status if failure.status is None else failure.status,
            message=self._message(reason, failure, http, call) if failure.message is None else failure.message,
            kind=row.kind if failure.kind is None else failure.kind,
            code=row.code if failure.code is None else failure.code,
            param=_param(row, call) if failure.param is None else failure.param,
        )

    def _row(self, reason: str) -> Row:
        """The row of a reason; one that the provider has no own answer for has that of its status."""
        return self.rows.get(reason) or self.rows[reason_of(REASONS[reason])]

    def _words(self, reason: str, failure: Failure) -> str:
        """The words for a reason; others where not the prompt is too long, but what is to come after it."""
        return TOO_MUCH_ASKED if "completion" in failure.details else self.words[reason]

    def _message(self, reason: str, failure: Failure, http: HttpRequest, call: Call | None) -> str:
        facts: dict[str, Json] = {
            "limit": 8192,
            "tokens": 8193,
            "model": call.model if call is not None else "",
            "id": call.previous or call.id if call is not None else "",
            "object": _sought(call),
            "key": self.credential(http) or "",
            **failure.details,
            "method": http.method,
            "path": http.path,
            "wait": duration(failure.retry_after or 1.0),
            "seconds": f"{failure.retry_after or 1:g}",
        }
        facts["key"] = masked(str(facts["key"]))
        words = self._words(reason, failure).format_map({key: clip(str(value)) for key, value in facts.items()})
        if "nearest" not in failure.details:
            return words
        return f"{words.removesuffix('.')}. Did you mean {failure.details['nearest']}?"


def _param(row: Row, call: Call | None) -> str | None:
    """The field that is named; what a chat has in its messages, other bodies have elsewhere."""
    return row.param if call is None or row.param != "messages" else _ASKED_IN.get(call.operation, row.param)


def _sought(call: Call | None) -> str:
    """What a look-up did not find, as providers call it."""
    if call is None or not call.id:
        return "The requested object was"
    return f"{'Chat completion' if 'chat' in call.operation else 'Response'} with id '{clip(call.id)}'"


def masked(key: str) -> str:
    """A key as OpenAI shows it in its 401: `sk-te**********cdef`; never whole."""
    shown = min(4, len(key) // 4)
    head = shown + 1 if len(key) > 16 else shown
    hidden = len(key) - head - shown
    return f"{key[:head]}{'*' * min(hidden, 60)}{key[len(key) - shown :]}"


def duration(seconds: float) -> str:
    """Seconds as OpenAI writes them: `12ms`, `1s`, `6m0s`."""
    if seconds < 1:
        return f"{round(seconds * 1000)}ms"
    minutes, rest = divmod(seconds, 60)
    return f"{int(minutes)}m{rest:g}s" if minutes else f"{rest:g}s"


def retry_after(failure: Failure) -> Headers:
    """When the client may come back, in seconds; nothing unless the failure says so."""
    wait = failure.retry_after
    return () if wait is None else (("retry-after", str(int(wait) if float(wait).is_integer() else wait)),)


TOO_MUCH_ASKED = (
    "This model's maximum context length is {limit} tokens. However, you requested {tokens} tokens "
    "({prompt} in the prompt, {completion} in the completion). Please reduce the length of the prompt or completion."
)
_ASKED_IN: Mapping[str, str] = {"completions": "prompt", "responses": "input"}

OPENAI_WORDS: Words = {
    "bad_json": "We could not parse the JSON body of your request. The API expects a JSON payload.",
    "bad_parameter": "Invalid request: a parameter has a value that is not supported.",
    "content_filter": "Your request was rejected as a result of our safety system.",
    "context_length": (
        "This model's maximum context length is {limit} tokens. However, your messages resulted in {tokens} tokens. "
        "Please reduce the length of the messages."
    ),
    "invalid_key": (
        "Incorrect API key provided: {key}. You can find your API key at https://platform.openai.com/account/api-keys."
    ),
    "missing_key": (
        "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth "
        "(i.e. Authorization: Bearer YOUR_KEY). "
        "You can obtain an API key from https://platform.openai.com/account/api-keys."
    ),
    "billing": "Your account is not active, please check your billing details on our website.",
    "forbidden": "Country, region, or territory not supported",
    "model_not_found": "The model `{model}` does not exist or you do not have access to it.",
    "unknown_model": "The model `{model}` does not exist or you do not have access to it.",
    "not_found": "{object} not found.",
    "previous_not_found": "Previous response with id '{id}' not found.",
    "not_cancellable": "Only responses that are still made in the background can be cancelled.",
    "unmatched": "No rule answers this request.",
    "route_not_found": "Invalid URL ({method} {path})",
    "method_not_allowed": "Not allowed to {method} on {path}.",
    "timeout": "Request timed out.",
    "conflict": "The resource was changed by another request. Please try again.",
    "too_large": "The request body is too large.",
    "unsupported_media_type": "Invalid Content-Type header, expected application/json.",
    "unprocessable": "The request was well-formed, but could not be processed.",
    "rate_limit": (
        "Rate limit reached for {model} in organization mockserver on requests per min (RPM): Limit 60, Used 60, "
        "Requested 1. Please try again in {wait}. "
        "Visit https://platform.openai.com/account/rate-limits to learn more."
    ),
    "quota": (
        "You exceeded your current quota, please check your plan and billing details. For more information on this "
        "error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors."
    ),
    "server_error": "The server had an error while processing your request. Sorry about that!",
    "bad_gateway": "Bad gateway.",
    "overloaded": "The engine is currently overloaded, please try again later.",
    "gateway_timeout": "The server did not answer in time.",
}
