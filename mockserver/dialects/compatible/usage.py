"""How the hosts count: each function returns the `usage` of an answer with a host's keys.

Times and prices are constants.
"""

from collections.abc import Mapping

from mockserver.core.json import Json
from mockserver.core.plan import Usage

Count = Mapping[str, Json]
_PROMPT_PRICE = 3e-6  # dollars for a token
_COMPLETION_PRICE = 15e-6  # dollars for a token
_PROMPT_TICKS, _COMPLETION_TICKS = 30_000, 150_000  # the same in xAI's unit, of which a dollar has 10,000,000,000
_QUEUE_TIME = 0.01  # seconds
_PROMPT_TIME = 0.02  # seconds
_COMPLETION_TIME = 0.25  # seconds


def count_deepseek(usage: Usage) -> Count:
    return {
        **_count_tokens(usage),
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        **_count_reasoning(usage),
        "prompt_cache_hit_tokens": usage.cached,
        "prompt_cache_miss_tokens": usage.prompt - usage.cached,
    }


def count_openrouter(usage: Usage) -> Count:
    prompt = usage.prompt * _PROMPT_PRICE
    completion = usage.completion * _COMPLETION_PRICE
    cost = round(prompt + completion, 9)
    return {
        **_count_tokens(usage),
        "cost": cost,
        "is_byok": False,
        "prompt_tokens_details": {
            "cached_tokens": usage.cached,
            "cache_write_tokens": usage.cache_write,
            "audio_tokens": usage.prompt_audio,
            "video_tokens": 0,
        },
        "cost_details": {
            "upstream_inference_cost": cost,
            "upstream_inference_prompt_cost": round(prompt, 9),
            "upstream_inference_completions_cost": round(completion, 9),
        },
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning,
            "image_tokens": 0,
            "audio_tokens": usage.completion_audio,
        },
    }


def count_xai(usage: Usage) -> Count:
    """Return a count whose `completion_tokens` leave the reasoning out, while `total_tokens` include it."""
    return {
        **_count_tokens(usage),
        "completion_tokens": max(usage.completion - usage.reasoning, 0),
        "prompt_tokens_details": {
            "text_tokens": usage.prompt,
            "audio_tokens": usage.prompt_audio,
            "image_tokens": 0,
            "cached_tokens": usage.cached,
        },
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning,
            "audio_tokens": usage.completion_audio,
            "accepted_prediction_tokens": usage.accepted_prediction,
            "rejected_prediction_tokens": usage.rejected_prediction,
        },
        "num_sources_used": 0,
        "cost_in_usd_ticks": usage.prompt * _PROMPT_TICKS + usage.completion * _COMPLETION_TICKS,
    }


def count_groq(usage: Usage) -> Count:
    details = _count_reasoning(usage) if usage.reasoning else {}
    return {
        "queue_time": _QUEUE_TIME,
        "prompt_tokens": usage.prompt,
        "prompt_time": _PROMPT_TIME,
        "completion_tokens": usage.completion,
        "completion_time": _COMPLETION_TIME,
        "total_tokens": usage.total,
        "total_time": _PROMPT_TIME + _COMPLETION_TIME,
        **({"prompt_tokens_details": {"cached_tokens": usage.cached}} if usage.cached else {}),
        **details,
    }


def count_together(usage: Usage) -> Count:
    return {**_count_tokens(usage), "cached_tokens": usage.cached}


def count_perplexity(usage: Usage) -> Count:
    prompt = usage.prompt * 1e-6
    completion = usage.completion * 1e-6
    request = 0.005
    return {
        **_count_tokens(usage),
        "search_context_size": "low",
        **({"reasoning_tokens": usage.reasoning} if usage.reasoning else {}),
        "cost": {
            "input_tokens_cost": round(prompt, 9),
            "output_tokens_cost": round(completion, 9),
            "request_cost": request,
            "total_cost": round(prompt + completion + request, 9),
        },
    }


def count_plainly(usage: Usage) -> Count:
    """Return the count of most hosts."""
    return {
        **_count_tokens(usage),
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        **_count_reasoning(usage),
    }


def make_time_info(created: int) -> Count:
    """Return Cerebras' `time_info`."""
    return {
        "queue_time": _QUEUE_TIME,
        "prompt_time": _PROMPT_TIME,
        "completion_time": _COMPLETION_TIME,
        "total_time": _QUEUE_TIME + _PROMPT_TIME + _COMPLETION_TIME,
        "created": created,
    }


def _count_tokens(usage: Usage) -> dict[str, Json]:
    return {
        "prompt_tokens": usage.prompt,
        "completion_tokens": usage.completion,
        "total_tokens": usage.total,
    }


def _count_reasoning(usage: Usage) -> Count:
    return {"completion_tokens_details": {"reasoning_tokens": usage.reasoning}}
