"""Why a request can fail, and what a bare status stands for. Knows no provider's words."""

# Why a request can fail, and the status that most providers give it.
REASONS: dict[str, int] = {
    "bad_json": 400,
    "bad_parameter": 400,
    "content_filter": 400,
    "context_length": 400,
    "unsupported": 400,  # what the model lacks; `details` name the feature
    "invalid_key": 401,
    "missing_key": 401,
    "billing": 402,
    "forbidden": 403,
    "key_not_allowed": 403,  # it is known, but may not ask
    "model_not_allowed": 403,  # its key may ask others only
    "model_not_found": 404,
    "unknown_model": 404,  # one that the settings do not list: the client's mistake in every dialect
    "not_found": 404,  # an object, a response id
    "previous_not_found": 404,  # the answer that a call goes on from
    "not_cancellable": 400,  # it is over, or was never made in the background
    "unmatched": 404,  # no rule answers, and generating is off
    "route_not_found": 404,
    "method_not_allowed": 405,
    "timeout": 408,
    "conflict": 409,
    "too_large": 413,
    "unsupported_media_type": 415,
    "unprocessable": 422,
    "rate_limit": 429,
    "over_limit": 429,  # more in one request than a limit lets through in all its time
    "quota": 429,
    "server_error": 500,
    "bad_gateway": 502,
    "overloaded": 503,
    "gateway_timeout": 504,
}

# The reason that a bare status in a rule (`error: 429`) stands for.
REASON_OF_STATUS: dict[int, str] = {
    400: "bad_parameter",
    401: "invalid_key",
    402: "billing",
    403: "forbidden",
    404: "unknown_model",
    405: "method_not_allowed",
    408: "timeout",
    409: "conflict",
    413: "too_large",
    415: "unsupported_media_type",
    422: "unprocessable",
    429: "rate_limit",
    500: "server_error",
    502: "bad_gateway",
    503: "overloaded",
    504: "gateway_timeout",
}


def reason_of(status: int) -> str:
    """The reason that a bare status stands for; any other 4xx is a bad parameter, any other 5xx a server error."""
    return REASON_OF_STATUS.get(status, "bad_parameter" if status < 500 else "server_error")
