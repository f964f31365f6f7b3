"""An answer of OpenAI's as its documentation shows it, for stand-ins that send one they were given."""

from typing import Any

from openai import OpenAI

_NONE = {"reasoning_tokens": 0, "audio_tokens": 0, "accepted_prediction_tokens": 0, "rejected_prediction_tokens": 0}


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
