"""The tests of the control API again with two servers that share a state and are asked in turn."""

import http.client
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from itertools import cycle
from pathlib import Path
from time import monotonic
from typing import Any

import pytest

from mockserver.server.live import start
from mockserver.server.run import Running
from mockserver.server.shared_state import share
from mockserver.server.sources import Sources
from mockserver.state.redis.member import Member
from tests.kit.control import ControlledServer
from tests.kit.local import Answered
from tests.kit.processes import until
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
        servers = list[Running]()
        for _ in range(2):
            live = start(Sources((file,), {"port": 0, "state": shared.url, "reload": False, **settings}, {}))
            share(live)
            servers.append(stack.enter_context(Running(live)))
        yield ControlledServer(InTurn(*servers), servers[0].live)  # type: ignore[arg-type]  # asked like an App


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
    until(lambda: [server.get("ready")["state"] for _ in range(2)] == ["lost", "lost"])
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


def test_what_a_failover_lost_starts_over(server: ControlledServer, shared: RedisServer) -> None:
    for name in ("a", "b", "c"):
        server.post("rules", {"name": name, "then": {"text": name}})
    assert [server.chat("x").source for _ in range(2)] == ["rule api c"] * 2
    shared.command("DECRBY", "mockserver:rev", "2")
    shared.command("DEL", "mockserver:own:default", "mockserver:changed")
    server.post("rules?namespace=other", {"name": "d", "then": {"text": "d"}})
    assert [server.chat("x").source for _ in range(2)] == ["generated"] * 2
    assert [server.chat("x", namespace="other").source for _ in range(2)] == ["rule api d"] * 2
