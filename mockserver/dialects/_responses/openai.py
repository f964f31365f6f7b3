"""Responses as OpenAI speaks it, at its own addresses and at Azure's (`wire/openai.md` sections 6 and 7)."""

from mockserver.core.call import Call, IdShape
from mockserver.core.http import HttpRequest
from mockserver.dialects._responses.checks import conflicts, responses_live_only
from mockserver.dialects._responses.models import RESPONSE
from mockserver.dialects._responses.request import Body, Manner, parse_responses
from mockserver.dialects._shared.words import refuse
from mockserver.formats.responses import ResponseStyle

IDS = IdShape("resp_", 50, "hex")


def openai_response_call(http: HttpRequest, body: Body, dialect: str, *, strict: bool) -> Call:
    """The Call of a Responses body; `strict` also refuses what only the live API refuses."""
    call = parse_responses(http, body, Manner(dialect, RESPONSE, conflicts, refuse, IDS))
    if strict:
        for complaint in responses_live_only(body):
            raise refuse(complaint)
    return call


RESPONSE_STYLE = ResponseStyle(
    response=(
        *("id", "object", "created_at", "status", "completed_at", "background", "conversation", "error"),
        *("incomplete_details", "instructions", "max_output_tokens", "max_tool_calls", "model", "output"),
        *("parallel_tool_calls", "previous_response_id", "prompt", "prompt_cache_key", "prompt_cache_retention"),
        *("reasoning", "safety_identifier", "service_tier", "store", "temperature", "text", "tool_choice", "tools"),
        *("top_logprobs", "top_p", "truncation", "usage", "user", "metadata"),
    ),
    unset={
        "model": "gpt-5",
        "background": False,
        "instructions": None,
        "max_output_tokens": None,
        "max_tool_calls": None,
        "parallel_tool_calls": True,
        "previous_response_id": None,
        "reasoning": {"effort": None, "summary": None},
        "service_tier": "default",
        "store": True,
        "temperature": 1.0,
        "text": {"format": {"type": "text"}},
        "tool_choice": "auto",
        "tools": [],
        "top_logprobs": 0,
        "top_p": 1.0,
        "truncation": "disabled",
        "user": None,
        "metadata": {},
    },
)
