"""The tests of the control API again with two servers that share a state and are asked in turn."""

import http.client
import json
import logging
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import cycle
from pathlib import Path
from random import Random
from time import monotonic, sleep
from typing import Any

import pytest

from mockserver.server import fleet
from mockserver.server.compose import start
from mockserver.server.run import Running
from mockserver.server.shared_state import join_fleet
from mockserver.server.sources import Sources
from mockserver.state.redis import member
from mockserver.state.redis.member import Member
from tests.kit.control import ControlledServer
from tests.kit.local import Answered
from tests.kit.processes import wait_until_true
from tests.kit.shared import RedisServer
from tests.server.control.test_control import (
    test_a_body_is_bounded,
    test_an_unknown_path_gets_the_nearest,
    test_invalid_namespaces,
    test_reload,
    test_state_shows_what_is_counted,
    test_the_state_of_a_scenario_can_be_set,
    test_what_changes_something_needs_one_namespace,
)
from tests.server.control.test_rules import (
    test_a_namespace_has_its_own,
    test_a_rule_that_is_added_again_starts_over,
    test_added_rules_come_before_the_files_and_the_last_batch_first,
    test_added_rules_count,
    test_added_rules_outlive_a_reload,
    test_all_mistakes_are_told_with_their_places,
    test_bodies_without_rules,
    test_mistakes_in_yaml_stand_at_their_lines,
    test_names_are_unique_unless_they_are_to_be_replaced,
    test_remembered_answers_give_way,
    test_rules_are_removed_one_by_one_or_together,
    test_rules_without_a_name_get_one_also_in_yaml,
    test_there_is_room_for_many_but_not_for_any_number,
    test_what_cannot_be_removed_is_told,
)

AGAIN = (  # collected here, too, with the servers of this module
    test_a_body_is_bounded,
    test_a_namespace_has_its_own,
    test_a_rule_that_is_added_again_starts_over,
    test_added_rules_come_before_the_files_and_the_last_batch_first,
    test_added_rules_count,
    test_added_rules_outlive_a_reload,
    test_all_mistakes_are_told_with_their_places,
    test_an_unknown_path_gets_the_nearest,
    test_bodies_without_rules,
    test_invalid_namespaces,
    test_mistakes_in_yaml_stand_at_their_lines,
    test_names_are_unique_unless_they_are_to_be_replaced,
    test_reload,
    test_remembered_answers_give_way,
    test_rules_are_removed_one_by_one_or_together,
    test_rules_without_a_name_get_one_also_in_yaml,
    test_state_shows_what_is_counted,
    test_the_state_of_a_scenario_can_be_set,
    test_there_is_room_for_many_but_not_for_any_number,
    test_what_cannot_be_removed_is_told,
    test_what_changes_something_needs_one_namespace,
)


class InTurn:
    """Asks servers in turn, as an application in this process is asked."""

    def __init__(self, *servers: Running) -> None:
        self._ports = cycle([int(server.address.rpartition(":")[2]) for server in servers])

    def ask(
        self, path: str, body: Any = None, *, headers: Mapping[str, str] | None = None, method: str = "POST"
    ) -> Answered:
        line = http.client.HTTPConnection("127.0.0.1", next(self._ports), timeout=30)
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        try:
            line.request(method, path, data, dict(headers or {}))
            response = line.getresponse()
            fields = {name.lower(): value for name, value in response.getheaders()}
            return Answered(response.status, fields, response.read(), fields.get("x-mockserver-source", ""))
        finally:
            line.close()


@pytest.fixture
def server(tmp_path: Path, shared: RedisServer, request: pytest.FixtureRequest) -> Iterator[ControlledServer]:
    file = tmp_path / "rules.yaml"
    file.write_text(sys.modules[request.function.__module__].RULES)
    settings = {"max_body": "10KB"} if request.function.__module__.endswith("test_control") else {}
    with ExitStack() as stack:
        servers = [stack.enter_context(sharing(file, shared, **settings)) for _ in range(2)]
        yield ControlledServer(InTurn(*servers), servers[0].live)  # type: ignore[arg-type]  # asked like an App


@contextmanager
def sharing(file: Path, shared: RedisServer, **settings: Any) -> Iterator[Running]:
    live = start(Sources((file,), {"port": 0, "state": shared.url, "reload": False, **settings}, {}))
    join_fleet(live)
    with Running(live) as running:
        yield running


def alone(running: Running) -> ControlledServer:
    return ControlledServer(InTurn(running), running.live)  # type: ignore[arg-type]  # asked like an App


def test_calls_of_both_are_listed_and_found(server: ControlledServer) -> None:
    for text in ("a", "b", "c", "d"):
        server.chat(text)
    listed = server.calls()
    numbers = [call["call"] for call in listed]
    assert len(set(numbers)) == 4
    assert {number % 1000 for number in numbers} == {0, 1}
    assert [call["at"] for call in listed] == sorted(call["at"] for call in listed)
    for _ in range(2):
        assert [call["call"] for call in server.calls(f"?since={numbers[1]}")] == numbers[2:]
        assert [call["call"] for call in server.calls("?limit=3")] == numbers[1:]
        assert [server.get(f"calls/{number}")["call"] for number in numbers] == numbers
        assert server.post("explain", {"call": numbers[0]})["call"] == numbers[0]
    assert server.api("calls", method="DELETE", headers={"x-mockserver-control": "1"}).json == {"forgotten": 4}
    assert (server.calls(), server.calls()) == ([], [])


def test_hits_are_those_of_both(server: ControlledServer) -> None:
    server.post("rules", {"name": "mine", "then": {"text": "hi"}})
    for _ in range(4):
        assert server.chat("hello").source == "rule api mine"
    for _ in range(2):
        assert server.get("rules")["rules"][0]["hits"] == 4
        (state,) = server.get("state")["namespaces"]
        assert (state["hits"], state["calls"], state["rules_added"]) == ({"rule api mine": 4}, 4, 1)
        state = server.post("state", {"state": "paid"})
        assert (state["state"], state["hits"], state["calls"]) == ("paid", {"rule api mine": 4}, 4)


RULES = "rules: []"


def test_ready_says_which_server_it_is(server: ControlledServer) -> None:
    told = [server.get("ready") for _ in range(2)]
    assert [(each["state"], each["worker"], each["workers"]) for each in told] == [("ok", 0, 2), ("ok", 1, 2)]


def test_ready_does_not_wait_for_a_redis_that_hangs(server: ControlledServer, shared: RedisServer) -> None:
    shared.command("CLIENT", "PAUSE", "4000")
    wait_until_true(lambda: [server.get("ready")["state"] for _ in range(2)] == ["lost", "lost"])
    began = monotonic()
    for _ in range(2):
        server.get("ready")
    assert monotonic() - began < 0.9
    shared.command("PING")


def test_metrics_are_labelled(server: ControlledServer) -> None:
    server.chat("hello")
    pages = [server.app.ask("/__mockserver__/metrics", method="GET").body.decode() for _ in range(2)]
    assert any('mockserver_requests_total{worker="0",dialect="openai"' in page for page in pages)


def test_reset(server: ControlledServer) -> None:
    for name in ("mine", "default"):
        server.post(f"rules?namespace={name}", {"name": "once", "then": {"text": "a"}, "times": 3})
        for _ in range(2):
            assert server.chat("x", namespace=name).source == "rule api once"
    assert server.post("reset?namespace=mine") == {"reset": ["mine"]}
    for _ in range(2):
        assert server.calls("?namespace=mine") == []
    assert server.chat("x", namespace="mine").source == "generated"
    assert len(server.calls("?namespace=mine")) == 1
    assert server.chat("x").source == "rule api once"
    assert server.post("reset?namespace=*") == {"reset": ["default", "mine"]}
    for _ in range(2):
        listed = server.get("state?namespace=*")["namespaces"]
        assert [(state["namespace"], state["calls"], state["times"]) for state in listed] == [("default", 0, {})]
    for _ in range(2):
        assert server.chat("x").source == "generated"


def test_servers_that_share_a_state_do_not_record(server: ControlledServer) -> None:
    refused = server.api("cassette", {"name": "new", "record": "once"}, method="PUT")
    assert (refused.status, "do not record" in refused.json["error"]) == (409, True)


def test_a_namespace_that_has_expired_can_be_changed(server: ControlledServer, shared: RedisServer) -> None:
    server.post("rules", {"name": "mine", "then": {"text": "a"}})
    assert [server.chat("x").source for _ in range(2)] == ["rule api mine"] * 2
    shared.command("DEL", "mockserver:own:default")
    for name in ("b", "c"):
        server.post("rules", {"name": name, "then": {"text": "a"}})
    assert [server.chat("x").source for _ in range(2)] == ["rule api c"] * 2


def test_a_change_returns_although_an_acknowledgement_was_lost(
    server: ControlledServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Member, "_acknowledge", lambda _: None)
    assert server.post("rules", {"name": "mine", "then": {"text": "a"}})["names"] == ["mine"]
    assert [server.chat("x").source for _ in range(2)] == ["rule api mine"] * 2


def test_a_reload_holds_where_leases_have_ended(server: ControlledServer, shared: RedisServer, tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text("rules: [{name: mine, then: {text: a}}]")
    shared.command("ZREM", "mockserver:fleet", "0", "1")
    assert server.post("reload") == {"rules": 1, "at_next_start": []}
    wait_until_true(lambda: all(server.chat("x").source.endswith(" mine") for _ in range(2)))


def test_what_a_failover_lost_starts_over(server: ControlledServer, shared: RedisServer) -> None:
    for name in ("a", "b", "c"):
        server.post("rules", {"name": name, "then": {"text": name}})
    assert [server.chat("x").source for _ in range(2)] == ["rule api c"] * 2
    shared.command("DECRBY", "mockserver:rev", "2")
    shared.command("DEL", "mockserver:own:default", "mockserver:changed")
    server.post("rules?namespace=other", {"name": "d", "then": {"text": "d"}})
    assert [server.chat("x").source for _ in range(2)] == ["generated"] * 2
    assert [server.chat("x", namespace="other").source for _ in range(2)] == ["rule api d"] * 2


def ttl(shared: RedisServer, key: str) -> int:
    return int(shared.command("TTL", key))


def test_what_is_used_stays_and_what_nobody_uses_expires(
    server: ControlledServer, shared: RedisServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("used", "idle"):
        server.post(f"rules?namespace={name}", {"name": "mine", "then": {"text": "a"}})
        assert [server.chat("x", namespace=name).source for _ in range(2)] == ["rule api mine"] * 2
    sleep(1.1)  # until both servers have told that they used them
    for name in ("used", "idle"):
        shared.command("EXPIRE", f"mockserver:own:{name}", "2")
    server.chat("x", namespace="used")
    wait_until_true(lambda: ttl(shared, "mockserver:own:used") > 80_000)
    wait_until_true(lambda: ttl(shared, "mockserver:own:idle") < 0)
    with sharing(tmp_path / "rules.yaml", shared) as newcomer:
        assert [alone(newcomer).chat("x", namespace=name).source for name in ("used", "idle")] == [
            "rule api mine",
            "generated",
        ]
    monkeypatch.setattr(fleet, "MAX_IDLE", 0.01)
    sleep(0.02)
    assert [server.chat("x", namespace="idle").source for _ in range(2)] == ["generated"] * 2
    assert [server.chat("x", namespace="used").source for _ in range(2)] == ["rule api mine"] * 2


def test_of_too_many_namespaces_those_that_were_used_longest_ago_are_forgotten(
    server: ControlledServer, shared: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(member, "MAX_NAMESPACES", 10)
    for name in "abcdefghij":
        server.post(f"rules?namespace={name}", {"name": "p", "then": {"text": "a"}})
        sleep(0.002)  # so that no two were used at the same time
    assert [server.chat("x", namespace="a").source for _ in range(2)] == ["rule api p"] * 2
    sleep(1.1)  # until both servers have told it
    server.post("rules?namespace=k", {"name": "p", "then": {"text": "a"}})
    assert [server.chat("x", namespace=name).source for name in "aabbcc"] == [
        *(["rule api p"] * 2),
        *(["generated"] * 2),
        *(["rule api p"] * 2),
    ]
    drawn, pushed = Random(1), dict[str, str]()
    for number in range(60):
        name = f"n{drawn.randrange(15)}"
        rule = {"name": f"p{number}", "times": 999, "then": {"text": "a"}}
        server.post(f"rules?namespace={name}", rule)
        pushed[name] = f"rule api p{number}"
        known = {key.decode() for key in shared.command("HKEYS", "mockserver:changed")}  # type: ignore[attr-defined]
        assert len(known) <= 10
        for other in drawn.sample(sorted(pushed), min(4, len(pushed))):
            wanted = pushed[other] if other in known else "generated"
            assert [server.chat("x", namespace=other).source for _ in range(2)] == [wanted] * 2
            if other not in known:
                assert shared.command("KEYS", f"mockserver:?:{other}") == []


def test_an_answer_that_is_too_large_is_named(server: ControlledServer, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = [server.post("explain", {"call": each["call"]})["call"] for each in two_calls(server)]
    monkeypatch.setattr(member, "MAX_ANSWER", 1000)
    told = [server.get("calls?bodies=true") for _ in range(2)]
    assert sorted((call["call"] % 1000, each["too_large"]) for each in told for call in each["calls"]) == [
        (0, [1]),
        (1, [0]),
    ]
    for _ in range(2):  # each once at the server that has it
        found = [server.api(f"calls/{number}", method="GET") for number in (*numbers, *numbers[1:], *numbers[:1])]
        assert sorted(each.status for each in found) == [200, 200, 503, 503]
    refused = next(each for each in found if each.status == 503)
    assert refused.json["error"].endswith("which has this call, gave an answer too large to pass on")


def two_calls(server: ControlledServer) -> list[Any]:
    for _ in range(2):
        server.chat("a" * 1000)
    calls = server.calls("?compact=true")
    assert len(calls) == 2
    return calls


def test_reads_go_on_without_a_state(tmp_path: Path, start_redis: Callable[..., RedisServer]) -> None:
    redis, file = start_redis(), tmp_path / "rules.yaml"
    file.write_text(RULES)
    with sharing(file, redis) as one, sharing(file, redis) as two:
        server = ControlledServer(InTurn(one, two), one.live)  # type: ignore[arg-type]  # asked like an App
        server.post("rules", {"name": "mine", "then": {"text": "a"}})
        numbers = [call["call"] for call in two_calls(server)]
        wait_until_true(lambda: all(fleet.member.others for fleet in (one.live.fleet, two.live.fleet)))  # type: ignore[union-attr]
        redis.kill()
        wait_until_true(lambda: server.chat("x").status == server.chat("x").status == 503)
        told = [server.get("calls") for _ in range(2)]
        assert {(call["call"] % 1000, *each["missing"]) for each in told for call in each["calls"]} == {(0, 1), (1, 0)}
        for _ in range(2):
            told = server.get("state")
            (space,) = told["namespaces"]
            assert (len(told["missing"]), space["calls"] >= 2, space["hits"]["rule api mine"] >= 1) == (1, True, True)
            assert [space[name] for name in ("state", "times", "attempts", "stored_answers")] == [None] * 4
            assert [rule["hits"] >= 1 for rule in server.get("rules")["rules"]] == [True]
            page = server.app.ask("/__mockserver__/metrics", method="GET").body.decode()
            assert page.startswith("# missing: server ")
        bodies = [server.api(f"calls/{number}/body", method="GET").status for number in (*numbers, *numbers[::-1])]
        assert sorted(bodies) == [200, 200, 503, 503]
        assert [server.get("health") for _ in range(2)] == [{"status": "ok"}] * 2
        for method, path in (("DELETE", "calls"), ("POST", "reset"), ("POST", "reload")):
            for _ in range(2):
                refused = server.api(path, {}, method=method, headers={"x-mockserver-control": "1"})
                assert (refused.status, refused.json["error"][:12]) == (503, "state lost: ")


def test_what_another_release_added_is_refused_until_it_is_reset(server: ControlledServer, shared: RedisServer) -> None:
    server.post("rules", {"name": "mine", "then": {"text": "a"}})
    assert server.chat("x").source == "rule api mine"
    strange = {"rules": [[2, {"name": "new", "then": {"text": "a", "hologram": True}}]]}
    for command in (
        ("INCR", "mockserver:rev"),
        ("HSET", "mockserver:changed", "default", "2"),
        ("HSET", "mockserver:own:default", "rev", "2", "content", json.dumps(strange)),
    ):
        shared.command(*command)
    wait_until_true(lambda: {server.chat("x").status for _ in range(2)} == {500})
    for _ in range(2):
        refused = server.api("rules", {"name": "other", "then": {"text": "b"}})
        assert (refused.status, "cannot be read here" in refused.json["error"]) == (409, True)
        assert "missing" not in server.get("state")
        assert server.api("explain", {"messages": []}).status == 409
    assert server.post("reset") == {"reset": ["default"]}
    assert [server.chat("x").source for _ in range(2)] == ["generated"] * 2


def test_a_state_that_is_emptied_meanwhile_begins_anew(
    server: ControlledServer, shared: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    numbers = {call["call"] for call in two_calls(server)}
    with caplog.at_level(logging.WARNING, "mockserver"):
        shared.command("FLUSHALL")
        wait_until_true(lambda: sum("everything starts over" in each.message for each in caplog.records) == 2)
    wait_until_true(lambda: {server.chat("x").status for _ in range(4)} == {200})
    server.post("rules", {"name": "mine", "then": {"text": "a"}})
    assert [server.chat("x").source for _ in range(2)] == ["rule api mine"] * 2
    later = [call["call"] for call in server.calls("?compact=true")]
    assert len(set(later)) == len(later) > len(numbers)


def test_numbers_do_not_come_again_after_a_short_life(tmp_path: Path, shared: RedisServer) -> None:
    (tmp_path / "rules.yaml").write_text(RULES)
    numbers = list[int]()
    for _ in range(3):  # each ends before it has told how many calls it got
        with sharing(tmp_path / "rules.yaml", shared) as running:
            alone(running).chat("x")
            numbers += [call["call"] for call in alone(running).calls()]
    assert len(set(numbers)) == 3
    assert {number % 1000 for number in numbers} == {0}


def test_who_leaves_late_keeps_the_lease_of_who_has_its_slot_now(tmp_path: Path, shared: RedisServer) -> None:
    (tmp_path / "rules.yaml").write_text(RULES)
    with sharing(tmp_path / "rules.yaml", shared):
        shared.command("HSET", "mockserver:slots", "0", "another")
        shared.command("ZADD", "mockserver:fleet", "9e15", "0")
    assert shared.command("ZRANGE", "mockserver:fleet", "0", "-1") == [b"0"]


def test_servers_with_other_files_are_named(
    tmp_path: Path, shared: RedisServer, caplog: pytest.LogCaptureFixture
) -> None:
    for name, text in (("a", "a"), ("b", "a"), ("c", "c")):
        (tmp_path / f"{name}.yaml").write_text(f"rules: [{{then: {{text: {text}}}}}]")
    with ExitStack() as stack, caplog.at_level(logging.WARNING, "mockserver"):
        one, two = [stack.enter_context(sharing(tmp_path / f"{name}.yaml", shared)) for name in "ab"]
        sleep(1.1)
        same = [alone(each).get("ready") for each in (one, two)]
        assert same[0]["digest"] == same[1]["digest"]
        assert "differ" not in {**same[0], **same[1]}
        three = stack.enter_context(sharing(tmp_path / "c.yaml", shared))
        wait_until_true(
            lambda: [alone(each).get("ready").get("differ") for each in (one, two, three)] == [[2], [2], [0, 1]]
        )
        assert alone(three).get("ready")["digest"] != same[0]["digest"]
        wait_until_true(lambda: len(caplog.records) == 4)
        (tmp_path / "c.yaml").write_text((tmp_path / "a.yaml").read_text())
        alone(one).post("reload")
        wait_until_true(lambda: not any("differ" in alone(each).get("ready") for each in (one, two, three)))
    assert {each.message for each in caplog.records} == {
        f"server {slot} has other rules or settings, or runs another release: answers may differ" for slot in range(3)
    }
