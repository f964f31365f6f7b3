"""An answer of OpenAI's, head and body, for stand-ins that send one: to read it takes a client as long as ours."""

from typing import Any

from openai import OpenAI

_NONE = {"reasoning_tokens": 0, "audio_tokens": 0, "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0}

HEADERS = {
    "x-request-id": "req_f91eec648c4cc53db0e4449d4fb85bb5",
    "openai-organization": "example",
    "openai-processing-ms": "269",
    "openai-version": "2020-10-01",
    "x-ratelimit-limit-requests": "10000",
    "x-ratelimit-limit-tokens": "2000000",
    "x-ratelimit-remaining-requests": "9999",
    "x-ratelimit-remaining-tokens": "1999993",
    "x-ratelimit-reset-requests": "6ms",
    "x-ratelimit-reset-tokens": "0ms",
}


def completion(text: str) -> dict[str, Any]:
    """A chat completion that says this."""
    message = {"role": "assistant", "content": text, "refusal": None, "annotations": []}
    return {
        "id": "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT",
        "object": "chat.completion",
        "created": 1741569952,
        "model": "gpt-4o-2024-08-06",
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}],
        "usage": {
            "prompt_tokens": 19,
            "completion_tokens": 10,
            "total_tokens": 29,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
            "completion_tokens_details": _NONE,
        },
        "service_tier": "default",
        "system_fingerprint": "fp_fc9f1d7035",
    }


def greeted(client: OpenAI, turn: int) -> str | None:
    """What the client is told when it says hello for the so-manieth time."""
    asked = client.chat.completions.create(model="gpt-4o", messages=[{"role": "user", "content": f"hello {turn}"}])
    return asked.choices[0].message.content
