"""Coding agents in tests: the environment in which one runs, what it is answered, and what came of a run."""

import os
import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

from msgspec import Struct
from msgspec.structs import replace

from mockserver.config.errors import ConfigError
from mockserver.config.settings import Settings
from mockserver.core.draft import RenderContext
from mockserver.core.json import map_texts
from mockserver.core.seed import monotonic
from mockserver.core.text import count_noun
from mockserver.rules.load import Rule
from mockserver.server.agents import RULES, Agent
from mockserver.server.programs import run_captured
from mockserver.server.sources import Sources, compile_rules
from mockserver.testing.assertions import Calls
from mockserver.testing.clients import EnvironmentPatch
from mockserver.testing.declared import Declared, RuleBook, write_literal
from mockserver.testing.options import When

__tracebackhide__ = True  # pytest shows the line of the test instead


@cache
def load_service_rules() -> tuple[Rule, ...]:
    """Load the rules that answer what coding agents ask for themselves."""
    return compile_rules(Sources((RULES,)).read_documents(), Settings())


class AgentEnvironment(dict[str, str]):
    """All variables of a coding agent's process: `subprocess.run(command, env=environment)`.

    In a `with` block they are set in this process, and its children inherit them. `home` is the folder with its files,
    which `close` removes; the end of the block and of the test do that, too.
    """

    def __init__(self, agent: Agent, *, address: str, environ: dict[str, str], namespace: str) -> None:
        self._folder = TemporaryDirectory(prefix="mockserver-", ignore_cleanup_errors=True)
        self._patch = EnvironmentPatch()
        self.agent = agent
        self.namespace = namespace
        self.home = Path(self._folder.name)
        super().__init__(agent.set_up(self.home, address=address, environ=environ))

    def __repr__(self) -> str:
        return f"<the environment of {self.namespace}>"  # not its variables, which can be secret

    def __enter__(self) -> Self:
        self._patch.set({**dict.fromkeys(os.environ.keys() - self.keys()), **self})
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Restore the environment of this process, and remove the home."""
        self._patch.restore()
        self._folder.cleanup()


class AgentRun(Struct, frozen=True):
    """What came of a prompt: what the agent printed, its exit code, and the calls that it made meanwhile.

    `text` is its standard output, without blanks around it; `log` is its standard error.
    """

    text: str
    code: int
    calls: Calls
    log: str
    seconds: float


class CodingAgent:
    """A coding agent that works in a folder, in an environment that leads it to the server of the test."""

    def __init__(self, rules: RuleBook, environment: AgentEnvironment, folder: Path, allow: Sequence[str] = ()) -> None:
        self.agent = environment.agent
        self.environment = environment
        self.cwd = folder.absolute()
        unknown = [word for word in allow if word not in self.agent.tools]
        if isinstance(allow, str) or unknown:
            raise ConfigError(f"allow takes a list of {', '.join(self.agent.tools)}, not {allow!r}")
        self._rules = rules
        granted = dict.fromkeys(self.agent.allows[word] for word in allow if word in self.agent.allows)
        self._granted = [argument for arguments in granted for argument in arguments]
        found = shutil.which(self.agent.program, path=environment.get("PATH"))
        if found is None:
            from unittest import SkipTest  # slow to import

            raise SkipTest(f"{self.agent.program} is not installed: npm install --global {self.agent.package}")
        self._program = found

    def on(self, prompt: str) -> "AgentRule":
        """Declare what this agent is answered to a prompt: a text with `*`, or what the prompt contains."""
        wanted: Any = prompt if "*" in prompt else {"contains": prompt}
        when: When = {"last_user": wanted, "namespace": self.environment.namespace}
        declared = Declared(self._rules, (), name=None, when=when)
        self._rules.add(declared)
        return AgentRule(self._rules, self.agent, declared)

    def run(self, prompt: str, *arguments: str, timeout: float = 120.0) -> AgentRun:
        """Run the agent with a prompt, and more of its own arguments, until it ends.

        Raises TimeoutError if it is still running after `timeout` seconds, and stops it.
        """
        before = len(self.calls)
        began = monotonic()
        command = [self._program, *self.agent.arguments, prompt, *self._granted, *arguments]
        environ = {**self.environment, "PWD": str(self.cwd)}  # opencode takes its folder from PWD
        ran = run_captured(command, environ, timeout, folder=self.cwd)
        calls = self.calls[before:]
        if ran.code is None:
            raise TimeoutError(
                f"{self.agent.name} was still running after {timeout:g} s; it made {count_noun(len(calls), 'call')} and"
                f" printed: {(ran.out + ran.err)[-_SHOWN:]}"
            )
        return AgentRun(ran.out.strip(), ran.code, calls=calls, log=ran.err, seconds=monotonic() - began)

    @property
    def calls(self) -> Calls:
        """The calls of this agent, without those for itself."""
        return self._rules.server.calls.of(lambda call: call.row.namespace == self.environment.namespace)


class AgentRule:
    """What an agent is answered to a prompt: calls of tools, one after the other, then a text."""

    def __init__(self, rules: RuleBook, agent: Agent, declared: Declared) -> None:
        self._rules = rules
        self._agent = agent
        self._declared = declared
        self._calls: list[dict[str, object]] = []

    def uses(self, tool: str, **arguments: object) -> Self:
        """Have the agent use a tool: read (path), write (path, text), edit (path, old, new) or run (command).

        Any other name is that of a tool of its own, with the arguments that it takes. They are sent as they are, and
        cannot be templates.
        """
        self._calls.append(map_texts(self._agent.call_tool(tool, arguments), write_literal))
        return self

    def then(self, text: str) -> Declared:
        """Answer with a text at the end, a template as in rules: `{{ tool_result.text }}`."""
        declared = self._declared.steps(*({"tool_calls": [call]} for call in self._calls), text)
        rule = declared.rule
        assert rule is not None  # it has an answer now
        answer = rule.then.respond
        declared.rule = replace(rule, then=replace(rule.then, respond=lambda scope: answer(begin_with_prompt(scope))))
        self._rules.apply()
        return declared


def begin_with_prompt(scope: RenderContext) -> RenderContext:
    """Return the scope of a conversation that begins with the last prompt, as steps count from the beginning."""
    call = scope.call
    start = len(call.messages) - len(call.since_user) - 1
    return replace(scope, call=replace(call, messages=call.messages[max(start, 0) :]))


_SHOWN = 2_000  # characters of what a program printed
