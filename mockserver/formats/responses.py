"""Response: an Answer as one body. `responses_stream.py` tells the same as typed events.

The object holds what the answer says and what repeats the request; a ResponseStyle says which of it a provider shows.
"""

from collections.abc import Sequence
from dataclasses import replace

from mockserver.core.call import Json
from mockserver.core.plan import Answer, Broken, Usage
from mockserver.formats.chat import pick
from mockserver.formats.responses_items import Output, is_cut, outputs
from mockserver.formats.responses_objects import IncompleteDetails, ResponseError, ResponseUsage, Status
from mockserver.formats.responses_objects import Response as ResponseObject
from mockserver.formats.responses_style import Asked, ResponseStyle

__all__ = ["Asked", "ResponseStyle", "begun", "response", "status_of", "usage_block", "whole"]


def response(answer: Answer, style: ResponseStyle, asked: Asked) -> dict[str, Json]:
    """The body of a plain answer (`wire/openai.md` section 6, in the style's keys and order)."""
    return whole(answer, style, asked, outputs(answer, style, asked))


def whole(answer: Answer, style: ResponseStyle, asked: Asked, built: Sequence[Output]) -> dict[str, Json]:
    """The same, of items that are already built."""
    status = status_of(answer, style)
    ended = status in ("completed", "incomplete")
    full: ResponseObject = {
        "id": answer.id,
        "object": "response",
        "created_at": answer.created,
        "status": status,
        "completed_at": answer.created if status == "completed" else None,
        "error": _error(answer) if status == "failed" else None,
        "incomplete_details": _incomplete(answer) if status == "incomplete" else None,
        "model": answer.model,
        "output": [dict(each.item) for each in built],
        "usage": usage_block(answer.usage, style) if ended else None,
    }
    return pick({**asked.echo, **full}, style.response)


def begun(answer: Answer, style: ResponseStyle, asked: Asked, *, queued: bool = False) -> dict[str, Json]:
    """The object while nothing of the answer is there yet."""
    started = replace(answer, phase="queued" if queued else "in_progress", broken=None)
    return whole(started, style, asked, ())


def status_of(answer: Answer, style: ResponseStyle) -> Status:
    """Where an answer stands, in the provider's word."""
    match answer:
        case Answer(phase="queued"):
            return "queued" if style.queued else "in_progress"
        case Answer(phase="in_progress" | "cancelled" as phase):
            return phase
        case Answer(broken=Broken()):
            return "failed"
    return "incomplete" if is_cut(answer) else "completed"


def usage_block(usage: Usage, style: ResponseStyle) -> ResponseUsage:
    """Token counts, with their details where the provider gives them."""
    full: ResponseUsage = {
        "input_tokens": usage.prompt,
        "input_tokens_details": {"cached_tokens": usage.cached, "cache_write_tokens": 0},
        "output_tokens": usage.completion,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.total,
    }
    return pick(full, style.usage)  # type: ignore[return-value]  # some of the keys of a ResponseUsage


def _error(answer: Answer) -> ResponseError | None:
    if answer.broken is None:
        return None
    return {"code": answer.broken.code, "message": answer.broken.message}


def _incomplete(answer: Answer) -> IncompleteDetails:
    return {"reason": "content_filter" if answer.choices[0].finish == "content_filter" else "max_output_tokens"}
