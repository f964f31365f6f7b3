"""Namespaces have rules of their own; of too many the longest idle are forgotten."""

from pathlib import Path

import pytest

from mockserver.server.live import Sources, start
from mockserver.server.namespaces import DEFAULT, LONGEST, Namespaces, allowed
from tests.kit.watched import rule, watched


@pytest.mark.parametrize("name", ["a", "test_one[param 1]", "ø☃", "x" * LONGEST, "default"])
def test_names_that_may_be(name: str) -> None:
    assert allowed(name)


@pytest.mark.parametrize("name", ["", " ", "x" * (LONGEST + 1), "a\nb", "a\0", "\ud800", "*"])
def test_names_that_may_not_be(name: str) -> None:
    assert not allowed(name)


def test_the_longest_idle_go_but_never_the_default_one() -> None:
    spaces = Namespaces(limit=3)
    for name in (DEFAULT, "a", "b", "a", "c", "d"):
        spaces.touch(name)
    assert (set(spaces.names()), spaces.evicted) == ({DEFAULT, "c", "d"}, ["b", "a"])


def test_what_is_only_looked_at_is_not_in_use() -> None:
    spaces = Namespaces()
    assert spaces.get("a").rules == ()
    assert spaces.names() == (DEFAULT,)
    spaces.touch("a").timed = False
    assert not spaces.get("a").timed
    spaces.drop("a")
    spaces.drop("a")
    assert spaces.get("a").timed


def test_an_engine_is_made_once_and_anew_for_a_new_base(tmp_path: Path) -> None:
    server = watched(tmp_path)
    server.post("rules?namespace=a", rule("one", "1"))
    space, base = server.live.namespaces.get("a"), server.live.engine
    made = space.engine(base)
    assert made is space.engine(base) is not base
    assert space.engine(start(Sources()).engine) is not made
    space.rules = ()
    assert space.engine(base) is base


def test_all_of_a_namespace_is_forgotten_with_it(tmp_path: Path) -> None:
    server = watched(tmp_path, "rules: [{name: once, times: 1, then: {text: once}}, {then: {text: after}}]")
    server.live.namespaces = Namespaces(limit=2)
    server.post("rules?namespace=a", rule("mine", "mine", when={"last_user": "mine"}))
    assert [server.chat(text, namespace="a").source for text in ("x", "mine")] == [
        f"rule {tmp_path}/rules.yaml:1 once",
        "rule api mine",
    ]
    for name in ("b", "c", "d"):
        server.chat("x", namespace=name)
    assert server.calls("?namespace=a") == []
    assert [server.chat(text, namespace="a").source for text in ("mine", "mine")] == [
        f"rule {tmp_path}/rules.yaml:1 once",
        f"rule {tmp_path}/rules.yaml:1",
    ]


@pytest.mark.parametrize("name", ["x" * 101, "%0a", "%20", "*"])
@pytest.mark.parametrize(("dialect", "path"), [("openai", "v1/chat/completions"), ("azure", "azure/chat/completions")])
def test_a_name_that_may_not_be_gets_the_404_of_its_dialect(tmp_path: Path, name: str, dialect: str, path: str) -> None:
    server = watched(tmp_path)
    got = server.app.ask(f"/ns/{name}/{path}", {"model": "m", "messages": [{"role": "user", "content": "x"}]})
    assert got.status == 404
    assert "A namespace is called by 1 to 100 printable characters." in got.body.decode()
    (call,) = server.calls()
    assert (call["dialect"], call["namespace"], call["source"]) == (dialect, "default", "invalid")
