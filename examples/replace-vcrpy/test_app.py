import httpx
import pytest

from app import Glossary


def test_explain(mockserver):
    assert "mess" in Glossary().explain("entropy")


def test_a_word_is_asked_for_once(mockserver):
    glossary = Glossary()
    assert glossary.explain("osmosis") == glossary.explain("osmosis")

    mockserver.assert_called_once_with(model="gpt-4o-mini", last_user="osmosis")


def test_a_busy_provider_is_told(mockserver):
    mockserver.on().fail(429)

    with pytest.raises(httpx.HTTPStatusError, match="429"):
        Glossary().explain("entropy")
