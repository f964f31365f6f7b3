import pytest
import vcr

from app import Glossary

tape = vcr.VCR(
    cassette_library_dir="before/cassettes",
    filter_headers=["authorization"],
    match_on=["method", "uri", "body"],
)


@pytest.fixture(autouse=True)
def _key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "any")


@tape.use_cassette("explain.yaml")
def test_explain():
    assert "mess" in Glossary().explain("entropy")


@tape.use_cassette("remember.yaml")
def test_a_word_is_asked_for_once():
    glossary = Glossary()
    assert glossary.explain("osmosis") == glossary.explain("osmosis")
