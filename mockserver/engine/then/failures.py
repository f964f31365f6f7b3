"""Errors that a rule answers with: a status, a short name, a free table, or a filter that trips on the prompt."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

from mockserver.core.plan import Broken, Failure
from mockserver.core.reasons import REASONS, reason_of
from mockserver.engine.recipe import Recipe, fixed
from mockserver.engine.spec.models import ErrorSpec, FailedSpec, ThenSpec
from mockserver.engine.then.headers import compile_headers
from mockserver.engine.then.safety import check_filter, verdicts
from mockserver.engine.then.site import Site
from mockserver.positions import did_you_mean


def compile_error(then: ThenSpec, site: Site) -> Recipe[Failure]:
    """The failure that `error` states, with what stands beside it."""
    error, here = then.error, site.at("error")
    table = error if isinstance(error, ErrorSpec) else ErrorSpec()
    failure = _free(table, here) if isinstance(error, ErrorSpec) else _short(error, here)
    headers = compile_headers(then.headers, site.at("headers"))
    if then.retry_after is not None and table.retry_after is not None:
        site.at("retry_after").refuse_key('"retry_after" stands inside "error" already; keep one')
    retry_after = then.retry_after if table.retry_after is None else table.retry_after
    failure = replace(failure, retry_after=retry_after, headers=(*failure.headers, *headers))
    return _fresh(failure, here.at("message").text(table.message) if table.message is not None else None)


def compile_trip(then: ThenSpec, site: Site) -> Recipe[Failure]:
    """The failure of a content filter that trips on the prompt."""
    trip = then.content_filter
    assert trip is not None  # noqa: S101  # this kind of answer is chosen by it
    check_filter(trip, site.at("content_filter"))
    safety = verdicts(then.annotate, trip, "prompt")
    headers = compile_headers(then.headers, site.at("headers"))
    return _fresh(Failure("content_filter", details={"safety": safety}, headers=headers), None)


def compile_failed(failed: Literal[True] | FailedSpec | None, site: Site) -> Recipe[Broken | None]:
    """What breaks an answer off, after what it says."""
    if failed is None:
        return fixed(None)
    if not isinstance(failed, FailedSpec):
        return fixed(Broken())
    site.at("code").refuse_template(failed.code or "")
    broken = Broken(code=failed.code or Broken().code, event=failed.event is not None)
    if failed.message is None:
        return fixed(broken)
    return site.at("message").text(failed.message).into(lambda message: replace(broken, message=message))


def _fresh(failure: Failure, message: Recipe[str] | None) -> Recipe[Failure]:
    # A new one for every call: an exception collects the tracebacks of its travels.
    if message is None:
        return Recipe(lambda _: replace(failure))
    make = message.make
    return Recipe(lambda moment: replace(failure, message=make(moment)))


def _short(error: int | str | None, site: Site) -> Failure:
    if isinstance(error, str):
        return Failure(_reason(error, site))
    status = error or 0
    if not 400 <= status <= 599:
        site.refuse(f"{status} is the status of no error; write 400 to 599, or a table with a status and a message")
    return Failure(reason_of(status), status=status)


def _free(error: ErrorSpec, site: Site) -> Failure:
    if error.status is None and error.reason is None:
        site.refuse('"error" needs a status, such as {status: 429, message: Slow down}')
    reason = reason_of(error.status or 400) if error.reason is None else _reason(error.reason, site.at("reason"))
    return Failure(
        reason,
        status=error.status,
        code=error.code,
        kind=error.type,
        param=error.param,
        headers=compile_headers(error.headers, site.at("headers")),
    )


def _reason(name: str, site: Site) -> str:
    if name in _WORDS:
        return _WORDS[name]
    hint = did_you_mean(name, _WORDS) or f"; it is one of {', '.join(_WORDS)}"
    number = "; write the number without quotes" if name.isdecimal() else hint
    site.refuse(f'unknown error "{name[:60]}"{number}')
    return "server_error"


_OURS = (
    *("missing_key", "unmatched", "route_not_found", "method_not_allowed", "bad_json"),
    *("not_found", "previous_not_found", "not_cancellable", "unsupported"),
    *("key_not_allowed", "model_not_allowed", "over_limit"),
)
# The short names of errors, and the reasons that they stand for.
_WORDS: Mapping[str, str] = {name: name for name in REASONS if name not in _OURS}
