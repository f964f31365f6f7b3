"""Explains words, and remembers what it has explained."""

import os

import httpx

ORDERS = "Explain the word in one sentence for a child of ten."


class Glossary:
    """Words and what they mean."""

    def __init__(self) -> None:
        self.known: dict[str, str] = {}

    def explain(self, word: str) -> str:
        """What a word means. Raises httpx.HTTPError."""
        if word not in self.known:
            self.known[word] = asked(word)
        return self.known[word]


def asked(word: str) -> str:
    """What a model says that a word means."""
    base = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1")
    messages = [{"role": "system", "content": ORDERS}, {"role": "user", "content": word}]
    answer = httpx.post(
        f"{base}/chat/completions",
        headers={"Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"},
        json={"model": "gpt-4o-mini", "messages": messages},
        timeout=60,
    )
    return str(answer.raise_for_status().json()["choices"][0]["message"]["content"])
