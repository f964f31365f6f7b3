"""What the server of a test knows besides how tests call it: its setup, its rules, and what is wrong with the test."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from mockserver.reports.coverage import find_watch
from mockserver.reports.failures import (
    Budget,
    PlayedCassette,
    Problem,
    count_answers,
    explain_no_answer,
    explain_raised,
    explain_too_few_answers,
    explain_unanswerable,
    explain_unmatched,
    find_impossible_answers,
    find_never_reached,
    find_refused_histories,
    make_problem,
    write_failure,
)
from mockserver.rules.lint.remarks import Remark, find_repeated_calls
from mockserver.rules.load import Rule
from mockserver.server.agents import Agent
from mockserver.server.compose import start
from mockserver.server.namespaces import DEFAULT
from mockserver.server.programs import CallBudget
from mockserver.server.recording.player import Player
from mockserver.server.stubs import find_unreachable
from mockserver.state.journal import Journal
from mockserver.testing.assertions import Calls
from mockserver.testing.coding_agents import AgentEnvironment, load_service_rules
from mockserver.testing.connections import ConnectionGuard
from mockserver.testing.declared import RuleBook
from mockserver.testing.local_server import LocalServer
from mockserver.testing.mcp_mock import McpMock
from mockserver.testing.setup import Composer, LoadedCassette, MockServerWarning, Setup, find_left_open

__tracebackhide__ = True  # pytest shows the line of the test instead


class ServerSession:
    """A server and the test that uses it, from one reset to the next.

    `rename_options` renames options in messages on cassettes, from the next reset.
    """

    def __init__(self, setup: Setup) -> None:
        self.default_setup = setup
        self.setup = setup
        self.server = LocalServer(start(setup.sources))
        self.rules = RuleBook(self.server)
        self.mcp_mocks: dict[str, McpMock] = {}
        self.guard = ConnectionGuard()
        self.budget = Budget()
        self.rename_options: Callable[[str], str] = str
        self._composer = Composer()
        self._environments: list[AgentEnvironment] = []
        self._cassette: LoadedCassette | None = None
        self.reset()

    def reset(self, setup: Setup | None = None) -> None:
        """Start again with a setup (by default its own): without calls, counters and declared rules."""
        self.server.close_open()
        self.leave_agents()
        self.setup = setup or self.default_setup
        settings, engine = self._composer.compose(self.setup)
        if isinstance(engine.player, Player):
            engine = replace(engine, player=replace(engine.player, rename_options=self.rename_options))
        journal = Journal(count=settings.journal_calls, size=settings.journal_bytes)
        journal.keeps_calls = True
        if (watch := find_watch()) is not None:
            journal.on_close = watch.record
            watch.add_rules(engine.rules)
        live = self.server.live
        live.renew(settings, engine, journal, timed=self.setup.timed)
        if settings.upstream:
            live.sources = self.setup.sources  # the environment may have its key by now
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
        live = self.server.live
        if not self._environments:
            policy = live.engine.policy  # a 404 it takes for a missing model
            live.engine = replace(live.engine, policy=replace(policy, error={"status": 400, **policy.error}))
        namespace = agent.name if agent.name not in live.budgets else f"{agent.name}-{len(self._environments) + 1}"
        live.budgets[namespace] = CallBudget(max_calls)
        address = f"{self.server.address}/ns/{namespace}"
        made = AgentEnvironment(agent, address=address, environ=dict(variables), namespace=namespace)
        self._environments.append(made)
        self.rules.serve_agent(namespace, load_service_rules())
        return made

    def leave_agents(self) -> None:
        """Remove what coding agents were given to run in."""
        for each in self._environments:
            each.close()
        self._environments = []

    def verify(self) -> None:
        """Raise AssertionError with all problems, if there are any."""
        if problems := self.find_problems():
            raise AssertionError(write_failure(problems))

    def end(self) -> None:
        """Raise AssertionError with all problems, else warn the caller's caller of remarks and of answers left open."""
        self.verify()
        remarks = [MockServerWarning(remark.text) for remark in self.find_remarks()]
        for warning in (*find_left_open(self.server.close_open()), *remarks):
            warnings.warn(warning, stacklevel=3)

    def find_problems(self) -> tuple[Problem, ...]:
        """List what would fail the test: blocked or unmatched calls, uncalled rules, functions that raise, a budget."""
        live = self.server.live
        calls = self.server.calls
        return (
            # first, as the cause of misses
            *(explain_no_answer(one.where) for one in self.rules.declared if one.rule is None),
            *self.guard.blocked,
            *self._explain_raised(),
            *explain_unmatched(calls, live.find_engine(DEFAULT).rules),
            *self._explain_too_few_answers(calls),
            *(find_impossible_answers(calls) if live.settings.lint == "error" else ()),
            *self._explain_refused_calls(),
            *self.budget.find_exceeded(calls),
        )

    def _explain_raised(self) -> Iterator[Problem]:
        """Yield the reply functions that raised, each error once."""
        failed: dict[tuple[str, str], list[Exception]] = {}
        for where, error in self.rules.failures:
            failed.setdefault((where, repr(error)), []).append(error)
        for (where, _), errors in failed.items():
            yield explain_raised(where, errors)

    def _explain_too_few_answers(self, calls: Calls) -> Iterator[Problem]:
        """Yield the declared rules that did not answer as many calls as they were meant to."""
        for one in self.rules.declared:
            if one.rule is not None and one.expected_calls and count_answers(one.rule, calls) < one.expected_calls:
                yield explain_too_few_answers(one.rule, one.expected_calls, calls, self.server.service_calls)

    def _explain_refused_calls(self) -> Iterator[Problem]:
        """Yield the limits of the test, and of coding agents, beyond which calls were refused."""
        for name, limit in self.server.live.budgets.items():
            if limit.refused and name == DEFAULT:
                yield make_problem(limit.explain(), ["to allow more: @pytest.mark.mockserver(max_calls=...)"])
            elif limit.refused:
                yield make_problem(f"{name}: {limit.explain()}")

    def find_remarks(self) -> tuple[Problem, ...]:
        """Return what is probably a mistake, but fails no test.

        Rules that hide others, answers that no model could give, histories that a live provider would refuse.
        """
        settings = self.server.live.settings
        declared = [one.rule for one in self.rules.declared if one.rule is not None]
        hides = not all("name" in rule.spec or rule.spec["when"] for rule in declared)
        hidden = tuple(find_never_reached(declared)) if hides else ()
        repeated = self._find_repeated_calls(() if hidden else declared)
        paths = [rule for rule in (*declared, *self.rules.loaded) if "path" in rule.when.uses]
        remarked = self.server.calls if any(row.remarks for row in self.server.live.journal) else ()
        return (
            *hidden,
            *explain_unanswerable(repeated),
            *(explain_unanswerable(find_unreachable(paths, settings.dialect)) if paths else ()),
            *(find_impossible_answers(remarked) if settings.lint == "warn" else ()),  # as an error, it is a problem
            *find_refused_histories(remarked),
        )

    def _find_repeated_calls(self, declared: Sequence[Rule]) -> Iterator[Remark]:
        """Yield the rules for results of tools that never answered, as the rule before calls the tool again."""
        live = self.server.live
        for remark in find_repeated_calls(declared):
            if not count_answers(remark.rule, self.server.calls):
                yield remark
        answered = [row.source for row in live.journal if row.source.startswith("rule ")]
        if len(set(answered)) == len(answered):  # no rule has answered again
            return
        own = [one.rule for one in self.rules.declared]
        for remark in find_repeated_calls([rule for rule in live.find_engine(DEFAULT).rules if rule not in own]):
            calls = self.server.calls
            has_repeated = remark.before is not None and count_answers(remark.before, calls) > 1
            if has_repeated and not count_answers(remark.rule, calls):
                yield remark

    def list_hints(self) -> Iterator[str]:
        """Yield why a test may fail though its rules answer: timing that tests ignore, a step that is repeated."""
        for one in self.rules.declared:
            then = one.rule.spec["then"] if one.rule is not None else {}
            if "timing" in then and not self.setup.timed:  # answers take no time in tests unless that is asked for
                yield f"{one.where}: its timing is ignored; set timing=True in the mark, or for the MockServer"
            turns = [call.asked.turn for call in one.calls if call.asked is not None] if "steps" in then else []
            if len(turns) > len(set(turns)) == 1 and turns[0] + 1 < len(then["steps"]):
                yield (
                    f"{one.where}: {len(turns)} calls got step {turns[0] + 1}, as the number of assistant messages in a"
                    " request chooses its step; for one answer per call, declare a rule with times(1) for each"
                )

    def find_played_cassette(self) -> PlayedCassette | None:
        """Return the cassette that is replayed, if any, and which episodes were played."""
        if self._cassette is None:
            return None
        calls = (*self.server.calls, *self.server.service_calls)  # of MCP servers, lists, too
        return self._cassette.count_played(calls)
