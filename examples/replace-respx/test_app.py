import httpx
import pytest

from app import streamed, summary

ARTICLE = "The quick brown fox jumps over the lazy dog. It has done so for years."


def test_summary(mockserver):
    mockserver.on(last_user="*fox*").reply("A fox jumps.")

    assert summary(ARTICLE) == "A fox jumps."
    mockserver.assert_called_once_with(model="gpt-4o-mini", system="*one sentence*")


def test_streamed(mockserver):
    mockserver.on(stream=True).stream(["A fox ", "jumps."])

    assert "".join(streamed(ARTICLE)) == "A fox jumps."


def test_rate_limit(mockserver):
    mockserver.on().fail(429)

    with pytest.raises(httpx.HTTPStatusError, match="429 Too Many Requests"):
        summary(ARTICLE)
