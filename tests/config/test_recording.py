"""What settings say of cassettes, and what is said of mistakes in it, with their place."""

import pytest

from mockserver.config.errors import ConfigError
from mockserver.config.layers import assemble
from mockserver.config.settings import MatchSettings, Scrub, Settings
from mockserver.config.source import Document, read


def settings(line: str) -> Settings:
    """The settings of a file that says this one thing."""
    document: Document = read(f"settings:\n  {line}", "r.yaml")
    return assemble({}, {}, [document])


USER = Scrub(path="$.user")


@pytest.mark.parametrize(
    ("line", "means"),
    [
        ("scrub: [{path: $.user}]", (USER,)),
        ("scrub: {path: $.user}", (USER,)),
        ("scrub: [{regex: 'a+', with: b}]", (Scrub(regex="a+", placeholder="b"),)),
    ],
)
def test_scrubs(line: str, means: tuple[Scrub, ...]) -> None:
    assert settings(line).scrub == means


def test_what_makes_requests_equal() -> None:
    line = "match: {ignore: temperature, also: [header.X-Tenant, Query.A]}"
    assert settings(line).match == MatchSettings(ignore=("temperature",), also=("header.x-tenant", "Query.A"))


@pytest.mark.parametrize(
    "line",
    [
        "match: {ignore: %s}",
        "match: {also: %s}",
        "keys: {k: {models: %s}}",
        "keys: %s",
        "models: {m: {aliases: %s}}",
        "models: %s",
        "hosts: {h: {models: %s}}",
        "hosts: {h: {prefixes: %s}}",
        "allowed_hosts: %s",
        "cors: %s",
    ],
)
def test_a_list_may_be_one_text_with_commas(line: str) -> None:
    names = {"prefixes": ("/a", "/b"), "cors": ("https://a", "https://b")}
    one, other = next((pair for name, pair in names.items() if name in line), ("a.x", "b.x"))
    assert settings(line % f"'{one}, {other}'") == settings(line % f"['{one}', '{other}']")


def test_a_text_that_may_be_recorded_may_have_commas() -> None:
    assert settings("allow_secrets: 'a, b'").allow_secrets == ("a, b",)


@pytest.mark.parametrize("text", ["openai=https://a.example/v1/", "{openai: 'https://a.example/v1'}"])
def test_upstreams(text: str) -> None:
    assert assemble({"upstream": text}, {}, []).upstream == {"openai": "https://a.example/v1"}


def test_flags_that_were_given_several_times() -> None:
    flags = {
        "upstream": ["openai=https://a.example/v1", "tzafon=https://b.example,azure=https://c.example"],
        "scrub": ["{path: $.user}", "{regex: a+}"],
        "allow_secrets": ["a,b", "c*"],
    }
    found = assemble(flags, {}, [])
    assert found.upstream == {
        "openai": "https://a.example/v1",
        "tzafon": "https://b.example",
        "azure": "https://c.example",
    }
    assert [(rule.path, rule.regex) for rule in found.scrub] == [("$.user", None), (None, "a+")]
    assert found.allow_secrets == ("a,b", "c*")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("scrub: 7", "2:10: scrub must be a list of tables, such as {path: $.user}, not 7"),
        ("scrub: [{}]", "2:11: scrub[0]: give either path or regex"),
        ("scrub: [{path: 7}]", "2:18: scrub[0].path must be a string, not 7; put it in quotes"),
        ("scrub: [{path: a}]", "2:18: scrub[0].path: is not a valid JSONPath: it must begin with $, as in $.user"),
        ("scrub: [{regex: a(}]", "2:19: scrub[0].regex: is not a valid regular expression: missing ) at position 2"),
        (
            "match: {also: [user, header.x-€]}",
            '2:24: match.also[1]: "x-€" is not a valid header name: use only letters, digits and ',
        ),
        ("match: {also: 'header., header.a b'}", '2:17: match.also[0]: "" is not a valid header name: use only '),
        ("upstream: {openai: 'ftp://a'}", "2:13: upstream must be http(s) addresses without a query, such as"),
        ("upstream: {openai: 'https://me:secret@a/v1'}", "2:13: upstream: a URL must not contain a user or password; "),
        ("upstream: openai", "2:13: upstream must be dialect=URL, such as openai=https://api.openai.com/v1"),
    ],
)
def test_mistakes(line: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        settings(line)
    assert str(refused.value).startswith(f"r.yaml:{said}")


def test_how_a_table_is_written_in_a_flag() -> None:
    with pytest.raises(ConfigError) as refused:
        assemble({"match": "a=b"}, {}, [])
    assert str(refused.value) == '--match must be a table, not "a=b"; write {ignore: [temperature]}'
