"""A local server that tests use one after the other: each begins with a reset, and is checked at its end."""

import warnings
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from mockserver.reports.activity import Activity, DeclaredRule
from mockserver.reports.coverage import find_watch
from mockserver.reports.failures import (
    Budget,
    PlayedCassette,
    Problem,
    describe_left_open,
    describe_unrecorded,
    make_problem,
    write_failure,
)
from mockserver.server.agents import Agent
from mockserver.server.compose import start
from mockserver.server.namespaces import DEFAULT
from mockserver.server.programs import CallBudget
from mockserver.server.unreachable_rules import find_unreachable
from mockserver.state.journal import Journal
from mockserver.testing.coding_agents import AgentEnvironment, load_service_rules
from mockserver.testing.connections import ConnectionGuard
from mockserver.testing.declared import RuleBook
from mockserver.testing.local_server import LocalServer
from mockserver.testing.mcp_mock import McpMock
from mockserver.testing.setup import Composer, LoadedCassette, MockServerWarning, Setup

__tracebackhide__ = True  # pytest shows the line of the test instead


class ResettableServer(LocalServer):
    """A local server, and what belongs to the test that uses it: setup, rules, budget, and what it stopped."""

    def __init__(self, setup: Setup) -> None:
        super().__init__(start(setup.sources))
        self.default_setup = setup
        self.setup = setup
        self.rules = RuleBook(self)
        self.mcp_mocks: dict[str, McpMock] = {}
        self.guard = ConnectionGuard()
        self.budget = Budget()
        self._composer = Composer()
        self._environments: list[AgentEnvironment] = []
        self._cassette: LoadedCassette | None = None
        self.reset()

    def reset(self, setup: Setup | None = None) -> None:
        """Start again with a setup (by default its own): without calls, counters and declared rules."""
        self.abort_answers()
        self._remove_environments()
        self.setup = setup or self.default_setup
        settings, engine = self._composer.compose(self.setup)
        journal = Journal(count=settings.journal_calls, size=settings.journal_bytes)
        journal.keeps_calls = True
        if (watch := find_watch()) is not None:
            journal.on_close = watch.record
            watch.add_rules(engine.rules)
        live = self.live
        live.renew(settings, engine, journal, timed=self.setup.timed)
        live.sources = self.setup.sources  # the environment may have an upstream's key by now
        for mock in self.mcp_mocks.values():
            mock.clear()
        self.guard.allowed = self.setup.allow_hosts
        self.guard.blocked = []
        self.budget = Budget()
        self._cassette = LoadedCassette.find(live)
        self.rules.reset()

    def check(self, setup: Setup) -> None:
        """Raise MockserverError if a setup has mistakes."""
        self._composer.compose(setup)

    def lead_agent(self, agent: Agent, variables: Mapping[str, str], *, max_calls: int) -> AgentEnvironment:
        """Return the environment that leads a coding agent to a namespace of its own, until the next reset."""
        live = self.live
        if not self._environments:
            policy = live.engine.policy  # a 404 it takes for a missing model
            live.engine = replace(live.engine, policy=replace(policy, error={"status": 400, **policy.error}))
        namespace = agent.name if agent.name not in live.budgets else f"{agent.name}-{len(self._environments) + 1}"
        live.budgets[namespace] = CallBudget(max_calls)
        address = f"{self.address}/ns/{namespace}"
        made = AgentEnvironment(agent, address=address, environ=dict(variables), namespace=namespace)
        self._environments.append(made)
        self.rules.serve_agent(namespace, load_service_rules())
        return made

    def stop(self) -> None:
        """Stop listening; answers that are still being sent are aborted."""
        self._remove_environments()
        super().stop()

    def _remove_environments(self) -> None:
        """Remove what coding agents were given to run in."""
        for each in self._environments:
            each.close()
        self._environments = []

    def verify(self) -> None:
        """Raise AssertionError with all problems, if there are any."""
        if problems := self.activity.find_problems():
            raise AssertionError(write_failure(problems))

    def end(self) -> None:
        """Raise AssertionError with all problems, else warn the caller's caller of what the test left behind."""
        self.verify()
        for text in self.abort_leftovers():
            warnings.warn(MockServerWarning(text), stacklevel=3)

    def abort_leftovers(self) -> Sequence[str]:
        """Abort the answers that are still being sent; tell of these, of what was not recorded or edited, and more."""
        activity = self.activity
        remarks = [remark.text for remark in activity.find_remarks()]
        left = self.abort_answers()
        played = {call.source for call in (*activity.calls, *activity.service_calls)}
        edited = self.live.player.store.list_edited(played)
        return (*describe_left_open(left), *describe_unrecorded(activity.calls), *edited, *remarks)

    @property
    def activity(self) -> Activity:
        """What the test did so far: tells its problems, remarks and hints."""
        live = self.live
        declared = [DeclaredRule(one.where, one.rule, one.expected_calls) for one in self.rules.declared]
        added = (*(one.rule for one in declared if one.rule is not None), *self.rules.loaded)
        with_path = [rule for rule in added if "path" in rule.when.uses]
        return Activity(
            calls=self.calls,
            service_calls=self.service_calls,
            declared=declared,
            rules=live.find_engine(DEFAULT).rules,
            failures=self.rules.failures,
            blocked=self.guard.blocked,
            refused=tuple(self._explain_refused_calls()),
            unreachable=tuple(find_unreachable(with_path, live.settings.dialect)) if with_path else (),
            budget=self.budget,
            lint=live.settings.lint,
            timed=self.setup.timed,
        )

    def _explain_refused_calls(self) -> Iterator[Problem]:
        """Yield the limits of the test, and of coding agents, beyond which calls were refused."""
        for name, limit in self.live.budgets.items():
            if limit.refused and name == DEFAULT:
                yield make_problem(limit.explain(), ["to allow more: @pytest.mark.mockserver(max_calls=...)"])
            elif limit.refused:
                yield make_problem(f"{name}: {limit.explain()}")

    def find_played_cassette(self) -> PlayedCassette | None:
        """Return the cassette that is replayed, if any, and which episodes were played."""
        if self._cassette is None:
            return None
        calls = (*self.calls, *self.service_calls)  # of MCP servers, lists, too
        return self._cassette.count_played(calls)
