"""From files, flags and environment to an engine; namespaces; reloads: a broken change is reported and ignored."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path

import pytest
from msgspec.structs import replace

from mockserver.cassettes.cassette_file import CassetteFile
from mockserver.config.errors import MockserverError
from mockserver.config.settings import KeySettings, Settings
from mockserver.core.episode import Recorded
from mockserver.core.plan import Timing
from mockserver.core.seed import Seed, WallClock
from mockserver.engine.catalogue import Catalogue, Model
from mockserver.server.compose import make_policy, start
from mockserver.server.fleet import make_digest
from mockserver.server.live import Live
from mockserver.server.namespaces import DEFAULT, MAX_NAMESPACE_NAME, Namespaces, is_namespace
from mockserver.server.recording.recorded_calls import parse_sent
from mockserver.server.reload import reload, watch
from mockserver.server.sources import Sources
from tests.kit.cassette_folder import chat, episode
from tests.kit.control import controlled_server, rule


def test_files_are_read_in_order_and_flags_win(tmp_path: Path) -> None:
    one, two = tmp_path / "one.yaml", tmp_path / "two.yaml"
    one.write_text("settings: {seed: 1}\nrules: [{name: a, then: {text: a}}]")
    two.write_text("settings: {seed: 2, unmatched: error}\nrules: [{name: b, then: {text: b}}]")
    live = start(Sources((one, two), {"seed": "3"}, {"MOCKSERVER_SEED": "4", "MOCKSERVER_IDS": "unique"}))
    assert names(live) == ["a", "b"]
    wanted = make_policy(Settings(seed=3, unmatched="error", ids="unique"))
    assert replace(live.engine.policy, tokenizer=wanted.tokenizer) == wanted
    with pytest.raises(MockserverError, match=r"^a file: cannot be read: No such file or directory"):
        start(Sources((tmp_path / "none.yaml",), shown=lambda path: "a file"))


def test_the_policy_of_settings() -> None:
    made = make_policy(Settings.model_validate({"seed": 5, "clock": 7, "models": ["a*"], "timing": {"total": "2s"}}))
    assert (made.seed, made.clock, made.models) == (Seed(5), WallClock(7), Catalogue({"a*": Model()}))
    assert made.timing == Timing(total=2.0)
    table = {"a": {"context_window": None, "tools": False, "timing": {"total": "2s"}}, "b": None}
    made = make_policy(Settings.model_validate({"models": table, "known_models": False, "validation": "live"}))
    stated = Model(tools=False, timing=Timing(total=2.0), unlimited=frozenset({"context_window"}))
    assert made.models == Catalogue({"a": stated, "b": Model()}, published=False, validation="live")


# A value for every setting that is not its default: what can change an answer, and what differs by machine.
CHANGED = {
    "dialect": "anthropic",
    "hosts": {"acme": {"like": "openrouter"}},
    "unmatched": "error",
    "seed": 1,
    "clock": "real",
    "ids": "unique",
    "tokenizer": "by-model",
    "models": {"a": {"context_window": None}},
    "known_models": False,
    "timing": "fast",
    "profiles": {"mine": {"total": 1}},
    "keys": ["sk-a"],
    "limits": {"requests_per_minute": 5},
    "validation": {"openai": "off"},
    "lint": "error",
    "replay": "error",
    "stored_answers": 1,
    "stored_bytes": 1,
    "stored_files": 1,
    "background_polls": 2,
    "webhook_url": "http://localhost:1/",
    "webhook_secret": "whsec_c2VjcmV0",
    "journal_calls": 1,
    "journal_bytes": 1,
    "max_body": 1,
    "max_upload": 1,
    "max_unsent": 1,
    "cassette": "a",
    "record": "once",
    "record_errors": True,
    "upstream": {"openai": "http://127.0.0.1:1/v1"},
    "upstream_timeout": 1,
    "match": {"ignore": "seed"},
    "scrub": {"path": "$.user"},
    "allow_secrets": "a",
    "replay_speed": 1,
    "inspector": False,
    "inspector_writes": True,
    "sockets": False,
    "source_headers": False,
    "reload": False,
}
MACHINE = {
    "host": "0.0.0.0",
    "port": 1,
    "tls_cert": "cert.pem",
    "tls_key": "key.pem",
    "workers": 2,
    "state": "redis://127.0.0.1",
    "cassettes": "a",
    "cors": "*",
    "allowed_hosts": "*",
    "control_token": "a",
    "log": "text",
}


def test_servers_with_one_state_differ_by_any_setting_that_is_not_of_a_machine() -> None:
    assert {*CHANGED, *MACHINE} == Settings.model_fields.keys()
    engine = start(Sources()).engine
    usual = make_digest(Settings(), engine)
    digests = {name: make_digest(Settings(**{name: value}), engine) for name, value in (CHANGED | MACHINE).items()}
    assert {name for name, digest in digests.items() if digest == usual} == MACHINE.keys()
    assert make_digest(Settings(keys=["sk-a"]), engine) != make_digest(Settings(keys=["sk-b"]), engine)


def test_servers_with_one_state_differ_by_their_rules_and_mcp_servers(tmp_path: Path) -> None:
    texts = (
        "",
        "rules: [{then: {text: a}}]",
        "mcp: {files: {tools: [{name: read}]}}",
        "mcp: {files: {tools: [{name: list}]}}",
    )
    digests = set()
    for number, text in enumerate(texts):
        (file := tmp_path / f"{number}.yaml").write_text(text)
        live = start(Sources((file,)))
        digests.add(make_digest(live.settings, live.engine))
    assert len(digests) == len(texts)


def test_the_limiter_follows_the_settings() -> None:
    live = start(Sources())
    assert live.active_limiter is None
    live.settings = Settings.model_validate({"limits": {"requests_per_minute": 5, "concurrent_requests": 2}})
    limiter = live.active_limiter
    assert limiter is not None
    live.settings = Settings.model_validate({"limits": {"requests_per_minute": 6}})
    assert live.active_limiter is limiter
    assert limiter.limits == live.settings.limits


# --- namespaces


def test_names() -> None:
    assert all(map(is_namespace, ("a", "test_one[param 1]", "ø☃", "x" * MAX_NAMESPACE_NAME, "default")))
    assert not any(map(is_namespace, ("", " ", "x" * (MAX_NAMESPACE_NAME + 1), "a\nb", "a\0", "\ud800", "*")))


def test_the_longest_idle_are_evicted_but_never_the_default_one() -> None:
    spaces = Namespaces(limit=3)
    for name in (DEFAULT, "a", "b", "a", "c", "d"):
        spaces.touch(name)
    assert (set(spaces.list_names()), spaces.evicted) == ({DEFAULT, "c", "d"}, ["b", "a"])


def test_looking_at_a_namespace_does_not_create_it() -> None:
    spaces = Namespaces()
    assert spaces.get("a").rules == ()
    assert spaces.list_names() == (DEFAULT,)
    spaces.touch("a").timed = False
    assert not spaces.get("a").timed
    spaces.drop("a")
    assert spaces.get("a").timed


def test_an_engine_is_made_once_for_a_base(tmp_path: Path) -> None:
    server = controlled_server(tmp_path)
    server.post("rules?namespace=a", rule("one", "1"))
    space, base = server.live.namespaces.get("a"), server.live.engine
    made = space.find_engine(base)
    assert made is space.find_engine(base) is not base
    assert space.find_engine(start(Sources()).engine) is not made
    space.rules = ()
    assert space.find_engine(base) is base


def test_an_evicted_namespace_is_forgotten(tmp_path: Path) -> None:
    server = controlled_server(tmp_path, "rules: [{name: once, times: 1, then: {text: once}}, {then: {text: after}}]")
    server.live.namespaces = Namespaces(limit=2)
    server.post("rules?namespace=a", rule("mine", "mine", when={"last_user": "mine"}))
    once = f"rule {tmp_path}/rules.yaml:1 once"
    assert [server.chat(text, namespace="a").source for text in ("x", "mine")] == [once, "rule api mine"]
    for name in ("b", "c", "d"):
        server.chat("x", namespace=name)
    assert server.calls("?namespace=a") == []
    assert [server.chat("mine", namespace="a").source for _ in range(2)] == [once, f"rule {tmp_path}/rules.yaml:1"]


@pytest.mark.parametrize("name", ["x" * 101, "%0a", "%20", "*", "/a%0ab"])
@pytest.mark.parametrize(("dialect", "path"), [("openai", "v1/chat/completions"), ("azure", "azure/chat/completions")])
def test_an_invalid_name_gets_the_404_of_its_dialect(tmp_path: Path, name: str, dialect: str, path: str) -> None:
    server = controlled_server(tmp_path)
    got = server.app.ask(f"/ns/{name}/{path}", chat("x"))
    assert got.status == 404
    assert "The name of a namespace must have 1 to 100 printable characters." in got.body.decode()
    (call,) = server.calls()
    assert (call["dialect"], call["namespace"], call["source"]) == (dialect, "default", "invalid")


def test_a_name_that_is_missing_is_asked_for(tmp_path: Path) -> None:
    server = controlled_server(tmp_path)
    got = server.app.ask("/ns/v1/chat/completions", chat("x"))
    missing = "The name of a namespace is missing: /ns/NAME/v1/chat/completions."
    assert (got.status, got.json["error"]["message"]) == (404, missing)
    assert server.app.ask("/ns/v1/v1/chat/completions", chat("x")).status == 200


# --- reloads

BETTER = "rules: [{name: b, then: {text: two}}]"
BROKEN = "rules: [{name: c, then: {txt: three}}]"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rules.yaml"
    path.write_text("rules: [{name: a, then: {text: one}}]")
    return path


def names(live: Live) -> list[str]:
    return [rule.name for rule in live.engine.rules]


async def test_a_reload_swaps_settings_and_rules_meanwhile_others_run(file: Path) -> None:
    sources = Sources((file,))
    live, turns = start(sources), 0
    rules = "".join(f"  - {{name: r{n}, then: {{text: x}}}}\n" for n in range(300))
    file.write_text(f"settings: {{keys: [sk-test], max_body: 1KB, validation: live, dialect: azure}}\nrules:\n{rules}")
    task = asyncio.create_task(reload(live, sources))
    while not task.done():
        turns += 1
        await asyncio.sleep(0)
    assert (turns > 20, len(live.engine.rules)) == (True, 300)
    settings = live.settings
    assert (settings.keys, settings.max_body, settings.validation) == ({"sk-test": KeySettings()}, 1000, "live")
    assert settings.dialect == "azure"


class Said(asyncio.Queue[str]):
    """What a watch says."""

    async def next(self) -> str:
        async with asyncio.timeout(20):
            return await self.get()


@asynccontextmanager
async def watching(live: Live, sources: Sources) -> AsyncIterator[Said]:
    said = Said()
    task = asyncio.create_task(watch(live, sources, said.put_nowait))
    try:
        yield said
    finally:
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_changed_files_are_reloaded(file: Path) -> None:
    sources = Sources((file,))
    live = start(sources)
    async with watching(live, sources) as said:
        file.write_text(BETTER)  # maybe before the watch begins
        assert await said.next() == "reloaded: 1 rule"
        assert names(live) == ["b"]
        replacement = file.with_suffix(".new")
        replacement.write_text(BROKEN)
        replacement.replace(file)  # as editors save
        while (text := await said.next()) == "reloaded: 1 rule":
            pass
        assert text.startswith("not reloaded; the previous rules stay in effect:\n")
        assert "txt" in text
        file.write_text("")
        assert "rules.yaml: is empty; to serve no rules, write {version: 1}" in await said.next()
        file.unlink()
        os.mkfifo(file)
        while "cannot be read: No such file" in (text := await said.next()):
            pass
        assert "rules.yaml: a pipe can be read only once; put a file in its place" in text
        assert names(live) == ["b"]


ONE, TWO, THREE = (episode(chat("hi"), answer) for answer in ("1", "2", "3"))


async def replayed(live: Live) -> str:
    call = parse_sent("openai", ONE.request)
    assert call is not None
    found = await live.player.play(call, live.counters)
    assert found is not None
    return found.outcome.bytes.decode() if isinstance(found.outcome, Recorded) else str(found.outcome)


async def test_changed_cassettes_are_reloaded(tmp_path: Path) -> None:
    cassette, path = CassetteFile(tmp_path / "chat.yaml"), tmp_path / "chat.yaml"
    cassette.append(ONE)
    cassette.append(TWO)
    sources = Sources((), {"cassettes": str(tmp_path), "cassette": "chat"})
    live, good = start(sources), path.read_bytes()
    assert await replayed(live) == "1"
    async with watching(live, sources) as said:
        cassette.append(THREE)
        assert await said.next() == "reloaded: cassette chat.yaml, 3 episodes"
        assert [await replayed(live), await replayed(live)] == ["2", "3"]  # the order continues
        path.write_text("hello\n")
        torn = await said.next()
        assert torn.startswith("not reloaded; the previous recordings stay in effect:\n")
        assert "chat.yaml:1:1: not a cassette" in torn
        path.write_bytes(b"")
        assert "chat.yaml: is empty; restore it, or restart the server to record it again" in await said.next()
        path.unlink()
        assert 'there is no cassette "chat"' in await said.next()
        assert await replayed(live) == "3"
        path.write_bytes(good)
        assert await said.next() == "reloaded: cassette chat.yaml, 2 episodes"
        await live.player.save("chat", ONE)  # not a change by others
        assert await replayed(live) == "1"
        cassette.append(TWO)
        assert await said.next() == "reloaded: cassette chat.yaml, 4 episodes"
        assert await replayed(live) == "2"
        path.write_text(path.read_text().replace(sha256(b"1").hexdigest(), "0" * 64))  # as if the answer were edited
        cured = "record it again or, if you meant to edit it, set `sha256: unknown`"
        assert await said.next() == (
            "reloaded: cassette chat.yaml, 4 episodes\n"
            f"  cassette chat.yaml: edited since it was recorded: #1, #3; {cured}"
        )
        assert said.empty()
