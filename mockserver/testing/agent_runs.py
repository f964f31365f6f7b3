"""Coding agents in tests: the environment in which one runs, and what came of a run."""

import os
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Self

from msgspec import Struct
from msgspec.structs import replace

from mockserver.config.settings import Settings
from mockserver.core.draft import RenderContext
from mockserver.rules.load import Rule
from mockserver.server.agents import RULES, Agent
from mockserver.server.sources import Sources, compile_rules
from mockserver.testing.assertions import Calls
from mockserver.testing.clients import EnvironmentPatch

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
        self.agent, self.namespace, self.home = agent, namespace, Path(self._folder.name)
        super().__init__(agent.settle(self.home, address=address, environ=environ))

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


def begin_with_prompt(scope: RenderContext) -> RenderContext:
    """Return the scope of a conversation that begins with the last prompt, as steps count from the beginning."""
    call = scope.call
    start = len(call.messages) - len(call.since_user) - 1
    return replace(scope, call=replace(call, messages=call.messages[max(start, 0) :]))
