"""Errors as AWS's JSON services send them: a type in a header, and a message."""

import re
from collections.abc import Mapping

from pydantic_core import to_json

from mockserver.core.call import Call
from mockserver.core.event_stream import make_error, make_event
from mockserver.core.frames import Frame
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json, compact, try_parse
from mockserver.core.plan import Failure
from mockserver.dialects._errors import (
    UNSUPPORTED_MESSAGES,
    ErrorRow,
    make_error_rows,
    make_plain_errors,
    write_retry_lines,
)
from mockserver.dialects._parse import Complaint, clip, name_json_type, read_bearer, reword_unreadable
from mockserver.dialects._reply import make_json_reply, make_request_uuid

SERIALIZATION = "SerializationException"
VALIDATION = "ValidationException"


def read_credential(http: HttpRequest) -> str | None:
    """Return the bearer token, or the access key id of a signature, which nobody checks."""
    stated = http.find_header("authorization") or ""
    found = _SIGNED.search(stated) or _SIGNED_QUERY.search(http.query.get("X-Amz-Credential", ""))
    return found[1] if found else read_bearer(http)


_SIGNED = re.compile(r"^AWS4-[A-Z0-9-]+\s.*?Credential=([^/,\s]+)", re.IGNORECASE)
_SIGNED_QUERY = re.compile(r"^([^/]+)/")


def write_request_id(http: HttpRequest, call: Call | None) -> str:
    """Return the header line with the id of a request."""
    return f"x-amzn-requestid: {make_request_uuid(http, call)}\r\n"


def fail_plainly(http: HttpRequest, failure: Failure, call: Call | None) -> Reply:
    """Return the reply to a request that is refused."""
    resolved = ERRORS.resolve(_word_failure(failure), http, call)
    row = ROWS.get(failure.reason)
    usual = resolved.kind if row is not None and row.status == resolved.status else _KINDS.get(resolved.status)
    kind = failure.kind or (failure.code if isinstance(failure.code, str) else usual)
    body: dict[str, Json] = {"message": resolved.message}
    if kind in ("ModelErrorException", "ModelStreamErrorException"):
        body |= {"originalStatusCode": 500}
    typed = "" if kind is None else f"x-amzn-errortype: {_HEADER.sub('', kind)}:{_NAMESPACE}\r\n"
    lines = write_request_id(http, call) + typed + _write_retry_headers(failure)
    return make_json_reply(resolved.status, body, lines=lines, headers=failure.headers)


_NAMESPACE = "http://internal.amazon.com/coral/com.amazon.bedrock/"
_HEADER = re.compile(r"[^\w.#-]")


def _write_retry_headers(failure: Failure) -> str:
    """Return header lines with the time of a retry, for each client in the header that it reads."""
    wait = failure.retry_after
    if wait is None:
        return ""
    return f"{write_retry_lines(failure, in_ms=True)}x-amz-retry-after: {round(wait * 1000)}\r\n"


def _word_failure(failure: Failure) -> Failure:
    """Return the failure without OpenAI's words about the body; a 404 that a rule states means "not found" here."""
    failure = reword_unreadable(failure, "", "The content type must be application/json.")
    if failure.status == 404 and failure.reason in ("model_not_found", "unknown_model"):  # a 400 here
        return failure.replace(reason="not_found")
    return failure


def make_exception(failed: Reply, last: bytes) -> Frame:
    """Return a failed reply as an exception of a stream; as an error, if the service's model has no such exception."""
    headers = dict(failed.headers)
    kind = headers.get("x-amzn-errortype", "").partition(":")[0]
    body = try_parse(failed.body.decode("utf-8", "replace"))
    message = str(body.get("message")) if isinstance(body, dict) else ""
    if failed.frames is not None:  # a blocked prompt, which is only an error once the stream has begun
        kind = VALIDATION
        message = MESSAGES["content_filter"]
    if (name := _EXCEPTIONS.get(kind)) is None:
        written = make_error(kind or "InternalFailure", message)
    else:
        more = {"originalMessage": message, "originalStatusCode": 500} if name == "modelStreamErrorException" else {}
        written = make_event(name, to_json({"message": message, **more}), ":exception-type")
    return Frame(written.write(), part="finish", framing="bare")


_EXCEPTIONS = {
    kind: kind[0].lower() + kind[1:]
    for kind in (
        "InternalServerException",
        "ModelStreamErrorException",
        "ValidationException",
        "ThrottlingException",
        "ServiceUnavailableException",
        "ModelTimeoutException",
    )
}


def refuse(complaint: Complaint) -> Failure:
    """Return the Failure of a body that does not fit the service's model, in Smithy's words."""
    if complaint.message is not None:
        return Failure("bad_parameter", complaint.message, param=complaint.where or None)
    if complaint.kind == "type":
        return Failure("bad_parameter", _word_type(complaint), kind=SERIALIZATION, param=complaint.where or None)
    got = complaint.got if isinstance(complaint.got, str) else compact(complaint.got)
    stated = "null" if complaint.kind == "missing" else f"'{clip(got)}'"
    place = "".join(f".{step + 1}.member" if isinstance(step, int) else f".{clip(step)}" for step in complaint.path)
    why = f"failed to satisfy constraint: Member must {_word_constraint(complaint)}"
    message = f"1 validation error detected: Value {stated} at '{place.lstrip('.')}' {why}"
    return Failure("bad_parameter", message, param=complaint.where or None)


def _word_type(complaint: Complaint) -> str:
    """Return the words of AWS's reader of JSON about a value of another type."""
    if complaint.got is None:
        return f"NULL_VALUE cannot be converted to {_NAMES.get(complaint.expected[0], complaint.expected[0])}"
    if isinstance(complaint.got, dict | list):
        return f"Start of {'structure' if isinstance(complaint.got, dict) else 'list'} found where not expected."
    got = _TOKENS[type(complaint.got)]
    return f"{got} can not be converted to {_NAMES.get(complaint.expected[0], name_json_type(complaint.got))}"


_TOKENS: Mapping[type, str] = {
    str: "STRING_VALUE",
    bool: "BOOLEAN_VALUE",
    int: "NUMBER_VALUE",
    float: "DECIMAL_VALUE",
}
_NAMES: Mapping[str, str] = {
    "a string": "a String",
    "an integer": "an Integer",
    "a decimal": "a Float",
    "a boolean": "a Boolean",
    "an array": "a List",
    "an object": "a Structure",
}


def _word_constraint(complaint: Complaint) -> str:
    bound = complaint.bound
    match complaint.kind:
        case "missing":
            return "not be null"
        case "value":
            return f"satisfy enum value set: [{', '.join(complaint.expected)}]"
        case "pattern":
            return f"satisfy regular expression pattern: {str(bound).strip('^$')}"
        case "short":
            return f"have length greater than or equal to {bound}"
        case "long":
            return f"have length less than or equal to {bound}"
    sides = {"below": "greater", "above": "less"}
    number = f"{bound:g}" if isinstance(bound, float) else bound
    return f"have value {sides.get(complaint.kind, 'greater')} than or equal to {number}"


_KINDS: Mapping[int, str] = {
    400: VALIDATION,
    401: "UnrecognizedClientException",
    402: "AccessDeniedException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    405: "UnknownOperationException",
    408: "ModelTimeoutException",
    409: "ConflictException",
    413: "RequestEntityTooLargeException",
    415: "UnsupportedMediaTypeException",
    422: VALIDATION,
    424: "ModelErrorException",
    429: "ThrottlingException",
    500: "InternalServerException",
    503: "ServiceUnavailableException",
}
_TOKEN = "UnrecognizedClientException"  # noqa: S105  # an exception
_DENIED = "AccessDeniedException"
_IDENTIFIER = ErrorRow(status=400, kind=VALIDATION)
ROWS = make_error_rows(
    lambda status: ErrorRow(status=status, kind=_KINDS.get(status)),
    bad_json=ErrorRow(status=400, kind=SERIALIZATION),
    invalid_key=ErrorRow(status=403, kind=_TOKEN),
    missing_key=ErrorRow(status=403, kind="MissingAuthenticationTokenException"),
    billing=ErrorRow(status=403, kind=_DENIED),
    model_not_found=_IDENTIFIER,
    unknown_model=_IDENTIFIER,
    route_not_found=ErrorRow(status=404, kind="UnknownOperationException"),
    unprocessable=ErrorRow(status=400, kind=VALIDATION),
    quota=ErrorRow(status=400, kind="ServiceQuotaExceededException"),
    bad_gateway=ErrorRow(status=502),
    gateway_timeout=ErrorRow(status=504),
)
_RATE = "Too many {kind}, please wait before trying again."
_NO_ACCESS = "You don't have access to the model with the specified model ID."
MESSAGES: Mapping[str, str] = {
    "bad_json": "The request body is not valid JSON.",
    "bad_parameter": "The request is not valid.",
    "content_filter": "The request was blocked by our content filters.",
    "context_length": "Input is too long for requested model.",
    "completion_too_long": (
        "The maximum tokens you requested exceeds the model limit of {limit}. "
        "Try again with a maximum tokens value that is lower than {limit}."
    ),
    "invalid_key": "The security token included in the request is invalid.",
    "missing_key": "Missing Authentication Token",
    "billing": _NO_ACCESS,
    "forbidden": "User is not authorized to perform: bedrock:InvokeModel with an explicit deny.",
    "key_not_allowed": "The security token included in the request is not allowed to make this call.",
    "model_not_allowed": _NO_ACCESS,
    "model_not_found": "The provided model identifier is invalid.",
    "not_found": "The requested resource could not be found.",
    "previous_not_found": "The requested resource could not be found.",
    "not_cancellable": "The operation is not valid now.",
    "route_not_found": "There is no operation {method} {path}.",
    "method_not_allowed": "Method {method} is not supported for {path}.",
    "timeout": "Model has timed out in processing the request. Try your request again.",
    "conflict": "The resource was changed by another request.",
    "too_large": "The request body is too large.",
    "unsupported_media_type": "The content type must be application/json.",
    "unprocessable": "The request could not be processed.",
    "rate_limit": _RATE,
    "over_limit": _RATE,
    "quota": "Your request exceeds the service quota for your account.",
    "server_error": "The system encountered an unexpected error during processing. Try your request again.",
    "bad_gateway": "Bad gateway",
    "overloaded": "Bedrock is unable to process your request.",
    "gateway_timeout": "Endpoint request timed out",
}
UNSUPPORTED: Mapping[str, str] = {
    **UNSUPPORTED_MESSAGES,
    "parameter": "This model doesn't support the {param} field. Remove {param} and try again.",
    "value": "This model doesn't support the {param} field. Remove {param} and try again.",
    "max_tokens": "This model doesn't support the {param} field. Remove {param} and try again.",
    "vision": "This model doesn't support the image content block that you provided.",
    "json_schema": "This model doesn't support the outputConfig.textFormat field. Remove it and try again.",
    "max_output_tokens": MESSAGES["completion_too_long"],
}
ERRORS = make_plain_errors(ROWS, MESSAGES, read_credential=read_credential, unsupported=UNSUPPORTED)
