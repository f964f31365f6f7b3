"""Servers that share a state: what they count together, how often they ask Redis, and what they answer without it."""

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from time import sleep
from typing import Any

import httpx2 as httpx
import pytest
from openai import APIStatusError, OpenAI

from mockserver.core.seed import monotonic
from mockserver.server.compose import start
from mockserver.server.run import Running
from mockserver.server.shared_state import join_fleet, make_codec
from mockserver.server.sources import Sources
from mockserver.state.redis import stores
from mockserver.state.redis.client import Script
from tests.kit.cassette_folder import chat, episode, folder
from tests.kit.local import local
from tests.kit.openapi import check_answer
from tests.kit.processes import serving
from tests.kit.shared import RedisServer

Rules = Sequence[Any]
STORES = [each for each in vars(stores).values() if isinstance(each, Script)]


class Served:
    """A server in a thread, and a client of it."""

    def __init__(self, running: Running) -> None:
        self.live, self.address = running.live, running.address
        self.client = httpx.Client(base_url=running.address, timeout=30)

        self.trips = 0
        line, own = running.live.fleet.client, set(STORES)
        assert line is not None
        send = line.send

        def counting(*command: Any, script: Script | None = None) -> Any:
            if script in own or command[0] in ("HGET", "ZCARD"):  # the others renew leases and read what was pushed
                self.trips += 1
            return send(*command, script=script)

        line.send = counting  # type: ignore[method-assign]

    def chat(self, text: str = "hi", **more: Any) -> httpx.Response:
        body = {"model": "m", "messages": [{"role": "user", "content": text}], **more}
        return self.client.post("/v1/chat/completions", json=body)

    def respond(self, text: str = "hi", **more: Any) -> httpx.Response:
        return self.client.post("/v1/responses", json={"model": "m", "input": text, **more})

    def control(self, method: str, path: str, body: Any = None) -> httpx.Response:
        got = self.client.request(method, f"/__mockserver__/api/{path}", json={} if body is None else body)
        if got.headers["content-type"] == "application/json":
            check_answer(method, f"/api/{path}", got.status_code, got.json())
        return got


@contextmanager
def served(redis: RedisServer, tmp_path: Path, rules: Rules = (), **settings: Any) -> Iterator[Served]:
    file = tmp_path / "rules.json"
    file.write_text(json.dumps({"rules": list(rules)}))
    sources = Sources((file,), {"state": redis.url, "port": 0, **settings}, {})
    live = start(sources)
    join_fleet(live)
    with Running(live, sources) as running:
        one = Served(running)
        with one.client:
            yield one


def rule(text: str, **more: Any) -> dict[str, Any]:
    return {"then": {"text": text}, **more}


TWICE = [rule(f"{n}", name=f"r{n}", times=1) for n in range(3)]
BENDS = {"then": {"faults": ["crlf"]}, "times": 9}
CHANCE = {"then": {"text": "x", "faults": [{"cut": {"probability": 0.0}}]}}
FAULT = {"then": {"text": "x", "faults": [{"crlf": {"times": 1}}]}}
ATTEMPT = rule("x", when={"attempt": 2})


@pytest.mark.parametrize(
    ("rules", "settings", "trips"),
    [
        ([], {}, 0),
        ([rule("x")], {}, 0),
        (TWICE, {}, 1),
        ([rule("x", state={"is": "start"})], {}, 1),
        ([BENDS, *TWICE], {}, 2),
        ([ATTEMPT], {}, 1),
        ([CHANCE], {}, 1),
        ([FAULT], {}, 1),
        ([], {"ids": "unique"}, 1),
        ([], {"limits": {"requests_per_minute": 99}}, 1),
        ([], {"limits": {"requests_per_minute": 99, "concurrent_requests": 9}}, 2),  # one of them when it is over
    ],
)
def test_how_often_a_request_asks_redis(
    shared: RedisServer, tmp_path: Path, rules: Rules, settings: dict[str, Any], trips: int
) -> None:
    with served(shared, tmp_path, rules, **settings) as one:
        for _ in range(4):
            before = one.trips
            assert one.chat().status_code == 200
            sleep(0.005)  # a slot is given back after the answer
            assert one.trips - before == trips


def test_tokens_are_drawn_for_the_prompt_and_then_for_the_answer(shared: RedisServer, tmp_path: Path) -> None:
    with served(shared, tmp_path, limits={"requests_per_minute": 99, "tokens_per_minute": 9999}) as one:
        trips = list[int]()
        for _ in range(2):
            before = one.trips
            one.chat()
            trips.append(one.trips - before)
        assert trips == [2, 2]


def test_how_often_kept_answers_ask_redis(shared: RedisServer, tmp_path: Path) -> None:
    with served(shared, tmp_path) as one:
        first = one.respond().json()["id"]
        found = list[int]()
        for ask in (
            lambda: one.respond(),
            lambda: one.respond(store=False),
            lambda: one.respond("more", previous_response_id=first),
            lambda: one.client.get(f"/v1/responses/{first}"),
        ):
            for _ in range(2):
                before = one.trips
                assert ask().status_code == 200
                found.append(one.trips - before)
        assert found == [1, 1, 0, 0, 2, 2, 2, 2]


def test_servers_know_the_answers_of_each_other(shared: RedisServer, tmp_path: Path) -> None:
    with served(shared, tmp_path) as one, served(shared, tmp_path) as two:
        for _ in range(3):
            made = one.respond("remember me").json()
        assert two.client.get(f"/v1/responses/{made['id']}").json() == made
        again = two.respond("what?", previous_response_id=made["id"])
        assert again.status_code == 200
        assert one.client.get(f"/v1/responses/{again.json()['id']}/input_items").json()["data"]
        assert two.client.delete(f"/v1/responses/{made['id']}").status_code == 200
        assert one.client.get(f"/v1/responses/{made['id']}").status_code == 404
        assert two.control("GET", "state").json()["namespaces"][0]["stored_answers"] == 2
        assert two.control("POST", "reset").status_code == 200
        found = one.client.get(f"/v1/responses/{again.json()['id']}")
        assert found.headers["x-mockserver-source"] == "generated"


def test_servers_know_the_objects_of_each_other(shared: RedisServer, tmp_path: Path) -> None:
    with served(shared, tmp_path) as one, served(shared, tmp_path) as other:
        form = {"files": {"file": ("a.txt", b"Trains to Oslo\0\xff")}, "data": {"purpose": "assistants"}}
        file = one.client.post("/v1/files", **form).json()
        assert other.client.get(f"/v1/files/{file['id']}").json() == file
        assert other.client.get(f"/v1/files/{file['id']}/content").content == b"Trains to Oslo\0\xff"
        store = other.client.post("/v1/vector_stores", json={"file_ids": [file["id"]]}).json()
        statuses = [each.client.get(f"/v1/vector_stores/{store['id']}").json()["status"] for each in (one, other)]
        assert [store["status"], *statuses] == ["in_progress", "completed", "completed"]
        found = one.client.post(f"/v1/vector_stores/{store['id']}/search", json={"query": "trains"}).json()["data"]
        assert [(each["file_id"], each["score"]) for each in found] == [(file["id"], 1.0)]
        other.client.delete(f"/v1/vector_stores/{store['id']}")
        assert one.client.get(f"/v1/vector_stores/{store['id']}").status_code == 404
        again = one.client.post("/v1/files", **form).json()
        assert again["id"] not in (file["id"], store["id"])


def test_servers_share_files_batches_conversations_stores_and_evals(shared: RedisServer, tmp_path: Path) -> None:
    rules = [rule("Hi!", when={"last_user": "hi"})]
    with served(shared, tmp_path, rules) as one, served(shared, tmp_path, rules) as other:
        first, second = (OpenAI(base_url=f"{each.address}/ns/team/v1", api_key="any") for each in (one, other))
        body = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
        line = {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions", "body": body}
        data = json.dumps(line).encode() + b"\n" * 2_000_000  # so that it is on disk before it is shared
        file = first.files.create(file=("in.jsonl", data), purpose="batch")
        assert second.files.content(file.id).content == data
        made = second.batches.create(input_file_id=file.id, endpoint="/v1/chat/completions", completion_window="24h")
        assert [each.batches.retrieve(made.id).status for each in (first, second)] == ["in_progress", "completed"]
        done = first.batches.retrieve(made.id)
        assert '"content":"Hi!"' in first.files.content(done.output_file_id or "").text
        conversation = first.conversations.create().id
        second.responses.create(model="m", input="hi", conversation=conversation)
        assert len(first.conversations.items.list(conversation).data) == 2
        store = first.vector_stores.create(name="docs").id
        second.vector_stores.files.create_and_poll(file.id, vector_store_id=store)
        assert [each.id for each in first.vector_stores.files.list(store)] == [file.id]
        check = second.evals.create(data_source_config={"type": "custom", "item_schema": {}}, testing_criteria=[])
        assert [each.id for each in first.evals.list()] == [check.id]
        other.control("POST", "reset?namespace=team")
        assert (first.files.list().data, second.batches.list().data) == ([], [])


def test_servers_share_batches_of_messages_and_cached_contents(shared: RedisServer, tmp_path: Path) -> None:
    with served(shared, tmp_path) as one, served(shared, tmp_path) as other:
        batches, headers = "/anthropic/v1/messages/batches", {"anthropic-version": "2023-06-01"}
        params = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
        requests = [{"custom_id": "a", "params": params}, {"custom_id": "b", "params": {}}]
        path = f"{batches}/{one.client.post(batches, json={'requests': requests}, headers=headers).json()['id']}"
        assert other.client.get(path, headers=headers).json()["request_counts"]["errored"] == 1
        told = [each.client.get(f"{path}/results", headers=headers).text for each in (one, other)]
        assert [json.loads(line)["custom_id"] for line in told[0].splitlines()] == ["a", "b"]
        assert told[0] == told[1]
        model, tool = "/gemini/v1beta/models/gemini-2.5-flash", {"functionDeclarations": [{"name": "wave"}]}
        contents = [{"role": "user", "parts": [{"text": "hello there"}]}]
        asked = {"model": "models/gemini-2.5-flash", "contents": contents, "tools": [tool]}
        cache = one.client.post("/gemini/v1beta/cachedContents", json=asked).json()
        body = {"contents": contents, "cachedContent": cache["name"]}
        usage = other.client.post(f"{model}:generateContent", json=body).json()["usageMetadata"]
        assert usage["cachedContentTokenCount"] == cache["usageMetadata"]["totalTokenCount"]
        assert other.client.delete(f"/gemini/v1beta/{cache['name']}").status_code == 200
        assert one.client.post(f"{model}:generateContent", json=body).status_code == 403


def test_files_that_redis_has_no_room_for_are_refused(shared: RedisServer, tmp_path: Path) -> None:
    with (
        served(shared, tmp_path, stored_bytes="3MB") as one,
        OpenAI(base_url=f"{one.address}/v1", api_key="any", max_retries=0) as client,
    ):
        with pytest.raises(APIStatusError, match="stored_bytes allows more") as caught:
            client.files.create(file=("a.txt", b"a" * 4_000_000), purpose="user_data")
        assert caught.value.status_code == 413
        made = [client.files.create(file=("a.txt", b"a" * 1_800_000), purpose="user_data").id for _ in range(2)]
        assert [each.id for each in client.files.list()] == made[1:]


def test_a_slot_of_another_server_is_waited_for(shared: RedisServer, tmp_path: Path) -> None:
    limits = {"concurrent_requests": 1, "queue": 1}
    stated = {"limits": limits, "timing": {"total": "300ms"}}
    with served(shared, tmp_path, **stated) as one, served(shared, tmp_path, **stated) as two:
        began = monotonic()
        found = asyncio.run(at_once([one.address, two.address], "hi", 3))
        assert Counter(status for status, _ in found) == {200: 2, 503: 1}
        assert monotonic() - began > 0.58
        assert one.chat().status_code == 200


def test_slots_of_a_server_that_is_gone_are_free_soon(shared: RedisServer, tmp_path: Path) -> None:
    limits = {"concurrent_requests": 1, "queue": 1}
    with served(shared, tmp_path, [rule("x")], limits=limits) as one:
        shared.command("EVAL", "local t = redis.call('TIME') redis.call('ZADD', KEYS[1], t[1] + 1, 'gone')", "1", SLOTS)
        began = monotonic()
        assert one.chat().status_code == 200
        assert monotonic() - began < 5


SLOTS = "mockserver:w:default"


# --- four processes


def cassette() -> Path:
    replies = [json.dumps({"choices": [{"message": {"content": text}}]}) for text in ("first", "last")]
    return folder(chat=[episode(chat("tape"), reply) for reply in replies]).path


RULES = [
    rule("counted", name="counted", when={"last_user": "count"}, times=100),
    *[
        rule(f"step {n}", name=f"s{n}", when={"last_user": "step"}, state={"is": state, "becomes": f"step {n}"})
        for n, state in enumerate(["start", *[f"step {n}" for n in range(4)]])
    ],
    {"name": "fault", "when": {"last_user": "fault"}, "then": {"text": "x", "faults": [{"drop_usage": {"times": 7}}]}},
    {"name": "tape", "when": {"last_user": "tape"}, "then": {"cassette": "chat"}},
]
SETTINGS = {
    "ids": "unique",
    "background_polls": 3,
    "models": {"*": {}, "limited": {"limits": {"requests_per_day": 30}}},
    "limits": {"concurrent_requests": 8, "queue": 1000},
}


@pytest.fixture(scope="module")
def four(running_redis: RedisServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """The addresses of four processes that share a state."""
    running_redis.command("FLUSHALL")
    tapes = cassette()
    text = json.dumps({"settings": {**SETTINGS, "cassettes": str(tapes)}, "rules": RULES})
    with ExitStack() as stack:
        started = [
            stack.enter_context(serving(tmp_path_factory.mktemp("server"), text, "--state", running_redis.url))
            for _ in range(4)
        ]
        yield [f"http://127.0.0.1:{each.port}" for each in started]


async def at_once(addresses: list[str], text: str, count: int, **more: Any) -> list[tuple[int, Any]]:
    """The statuses and bodies of so many requests that are made at once, of each server as many."""
    body = {"model": "m", "messages": [{"role": "user", "content": text}], **more}
    async with httpx.AsyncClient(timeout=60) as client:

        async def ask(at: int) -> tuple[int, Any]:
            found = await client.post(f"{addresses[at % len(addresses)]}/v1/chat/completions", json=body)
            return found.status_code, found.json()

        return await asyncio.gather(*map(ask, range(count)))


def texts(found: list[tuple[int, Any]]) -> Counter[str]:
    return Counter(body["choices"][0]["message"]["content"] for status, body in found if status == 200)


def test_a_hundred_of_four_hundred(four: list[str]) -> None:
    assert texts(asyncio.run(at_once(four, "count", 400)))["counted"] == 100


def test_five_steps(four: list[str]) -> None:
    found = texts(asyncio.run(at_once(four, "step", 200)))
    assert {text: n for text, n in found.items() if text.startswith("step")} == {f"step {n}": 1 for n in range(5)}


def test_seven_faults(four: list[str]) -> None:
    found = asyncio.run(at_once(four, "fault", 100))
    assert sum("usage" not in body for _, body in found) == 7


def test_unique_ids(four: list[str]) -> None:
    found = asyncio.run(at_once(four, "same", 200))
    assert len({body["id"] for _, body in found}) == 200


def test_one_first_episode(four: list[str]) -> None:
    found = asyncio.run(at_once(four, "tape", 100, model="gpt-4o"))
    assert texts(found) == {"first": 1, "last": 99}


def test_thirty_of_a_day(four: list[str]) -> None:
    found = asyncio.run(at_once(four, "limited", 100, model="limited"))
    assert Counter(status for status, _ in found) == {200: 30, 429: 70}


def test_three_polls(four: list[str]) -> None:
    async def polled() -> Counter[str]:
        async with httpx.AsyncClient(timeout=60) as client:
            body = {"model": "m", "input": "hi", "background": True}
            made = (await client.post(f"{four[0]}/v1/responses", json=body)).json()["id"]
            asks = [client.get(f"{four[n % 4]}/v1/responses/{made}") for n in range(40)]
            return Counter(each.json()["status"] for each in await asyncio.gather(*asks))

    assert asyncio.run(polled()) == {"in_progress": 3, "completed": 37}


# --- answers without a state


def test_requests_that_count_get_503_and_others_go_on(start_redis: Callable[..., RedisServer], tmp_path: Path) -> None:
    redis = start_redis()
    rules = [rule("counted", when={"last_user": "count"}, times=9)]
    with served(redis, tmp_path, rules) as one:
        kept = one.respond("kept").json()["id"]
        assert one.chat("free").headers.get("x-mockserver-state") is None
        redis.kill()
        lost = one.chat("count")
        assert (lost.status_code, lost.headers["retry-after"]) == (503, "1")
        assert lost.headers["x-mockserver-source"] == "state lost"
        assert lost.json()["error"]["message"].startswith("The shared state of mockserver is out of reach")
        for _ in range(4):
            free = one.chat("free")
            assert (free.status_code, free.headers["x-mockserver-state"]) == (200, "lost")
        assert [one.respond("kept").status_code, one.respond(store=False).status_code] == [503, 200]
        assert one.client.get(f"/v1/responses/{kept}").status_code == 503
        claude = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "count"}]}
        assert one.client.post("/anthropic/v1/messages", json=claude).json()["error"]["type"] == "overloaded_error"
        refused = one.control("POST", "reset")
        assert (refused.status_code, refused.json()["error"][:12]) == (503, "state lost: ")
        assert "; the change may have been made; try again when the state is back" in refused.json()["error"]
        assert one.control("GET", "ready").json()["state"] == "lost"
        redis.start()
        assert one.chat("count").headers.get("x-mockserver-state") is None
        assert one.chat("free").headers.get("x-mockserver-state") is None
        assert one.control("GET", "ready").json()["state"] == "ok"


def test_a_full_redis_counts_nothing(start_redis: Callable[..., RedisServer], tmp_path: Path) -> None:
    redis = start_redis("--maxmemory-policy", "noeviction")
    with served(redis, tmp_path, [rule("counted", when={"last_user": "count"}, times=2)]) as one:
        by_rule = one.chat("count").headers["x-mockserver-source"]
        assert by_rule.startswith("rule ")
        redis.command("CONFIG", "SET", "maxmemory", "1mb")
        for _ in range(3):
            lost = one.chat("count")
            assert (lost.status_code, lost.headers["x-mockserver-source"]) == (503, "state lost")
            assert one.chat("free").headers["x-mockserver-state"] == "lost"
        assert one.control("GET", "ready").json()["state"] == "lost"
        redis.command("CONFIG", "SET", "maxmemory", "0")
        assert [one.chat("count").headers["x-mockserver-source"] for _ in range(2)] == [by_rule, "generated"]
        assert one.control("GET", "ready").json()["state"] == "ok"


def test_limits_without_a_state(start_redis: Callable[..., RedisServer], tmp_path: Path) -> None:
    redis = start_redis()
    limits = {"requests_per_minute": 99, "concurrent_requests": 1}
    with served(redis, tmp_path, [rule("x")], limits=limits) as one:
        for _ in range(3):
            assert one.chat().status_code == 200
        redis.kill()
        assert [one.chat().headers["x-mockserver-source"] for _ in range(2)] == ["state lost"] * 2
        redis.start()
        assert [one.chat().status_code for _ in range(2)] == [200, 200]


# --- kept answers as bytes


def test_kept_answers_are_read_as_they_were_written() -> None:
    server = local(
        "rules: [{when: {last_user: tools}, then: {tool_calls: [{name: f, arguments: {a: [1, 2.5, null]}}]}}]"
    )
    image = {"type": "input_image", "image_url": "data:image/png;base64,AAAA"}
    tool = {"type": "function", "name": "f", "parameters": {"type": "object", "properties": {"a": {"type": "array"}}}}
    for body in (
        {"input": "hi", "metadata": {"a": "b"}, "stop": ["x"]},
        {"input": "tools", "tools": [tool], "background": True},
        {"input": [{"role": "user", "content": [{"type": "input_text", "text": "ö 🙂"}, image]}], "top_logprobs": 2},
        {"input": "big", "max_output_tokens": 16, "tools": [{**tool, "parameters": {"maximum": 10**30}}]},
    ):
        assert server.ask("/v1/responses", {"model": "m", **body}).status == 200
    messages = {"messages": [{"role": "user", "content": "hi"}], "store": True, "logprobs": True, "n": 2}
    assert server.ask("/v1/chat/completions", {"model": "m", **messages}).status == 200
    engine = server.live.engine
    codec = make_codec(engine.policy.tokenizer)
    kept = asyncio.run(engine.memory.store.list_values("default"))
    assert len(kept) == 5
    assert [codec.decode(codec.encode(stored)) for stored in kept] == list(kept)


def test_what_is_no_kept_answer_is_refused() -> None:
    codec = make_codec(local().live.engine.policy.tokenizer)
    import msgspec

    for plain in (["Path", {"a": 1}], ["Call", {"part_tokens": "os:system", "model": "m"}]):
        with pytest.raises((KeyError, ValueError)):
            codec.decode(msgspec.msgpack.encode(plain))
