"""Coding agents that run against this server: how each is led here and kept quiet, and what it calls its tools.

What an agent asks for itself is answered by the rules of `agents.yaml`. Its base URL has a namespace, so that its calls
are apart from all others.
"""

import json
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path, PurePath

from msgspec import Struct

from mockserver.config.errors import ConfigError
from mockserver.config.settings import Settings
from mockserver.config.source import did_you_mean
from mockserver.config.spelling import Spelling
from mockserver.core.json import Json
from mockserver.server.client_environment import find_key

RULES = Path(__file__).with_name("agents.yaml")


class AgentTool(Struct, frozen=True):
    """A tool of an agent: its name, and its arguments made of what a test says."""

    name: str
    make_arguments: Callable[..., dict[str, object]]


class Agent(Struct, frozen=True):
    """A coding agent as data.

    `program` is its command, with `arguments` before a prompt that it answers without a terminal. `variables` and
    `files` (below its home) lead it here; `{address}`, `{key}`, `{key_end}` and `{home}` in them are filled in.
    Variables that are `unset` would lead it elsewhere. `allows` has the arguments with which it uses a tool without
    asking. It takes its key from the variable of a `dialect`.
    """

    name: str
    dialect: str
    program: str
    package: str
    arguments: tuple[str, ...]
    variables: Mapping[str, str]
    tools: Mapping[str, AgentTool]
    files: Mapping[str, str] = {}
    unset: tuple[str, ...] = ()
    allows: Mapping[str, tuple[str, ...]] = {}

    def set_up(self, home: Path, *, address: str, environ: Mapping[str, str]) -> dict[str, str]:
        """Write its files into a folder of its own, and return the environment in which it runs.

        `address` is that of the server, with the agent's namespace; `environ` leads official clients there.
        """
        key = find_key(environ, self.dialect)
        facts = {"{address}": address, "{key}": key, "{key_end}": key[-20:], "{home}": str(home)}

        def fill(text: str, *, quoted: bool = False) -> str:
            for name, value in facts.items():
                text = text.replace(name, json.dumps(value)[1:-1] if quoted else value)
            return text

        for name, text in self.files.items():
            file = home / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(fill(text, quoted=True), encoding="utf-8")
        kept = {name: value for name, value in environ.items() if name not in self.unset}
        return {**kept, **{name: fill(text, quoted=text.startswith('{"')) for name, text in self.variables.items()}}

    def call_tool(self, tool: str, arguments: Mapping[str, object]) -> dict[str, object]:
        """Return an entry of `tool_calls` for a tool by our word (read, write, edit, run), or by the agent's own name.

        Raises ConfigError for words that a tool does not take.
        """
        given = {name: str(value) if isinstance(value, PurePath) else value for name, value in arguments.items()}
        known = self.tools.get(tool)
        if known is None:
            return {"name": tool, "arguments": given}
        try:
            return {"name": known.name, "arguments": known.make_arguments(**given)}
        except TypeError:
            raise ConfigError(f"{tool} takes {_TOOL_WORDS[tool]}, not {', '.join(given) or 'nothing'}") from None


_TOOL_WORDS = {"read": "path", "write": "path and text", "edit": "path, old and new", "run": "command"}


def find_agent(name: str) -> Agent:
    """Return the agent of a name. Raises ConfigError."""
    try:
        return AGENTS[name]
    except KeyError:
        hint = did_you_mean(name, AGENTS) or f"; there are {', '.join(AGENTS)}"
        raise ConfigError(f'there is no coding agent "{name}"{hint}') from None


def _patch_file(path: str, old: str, new: str) -> dict[str, object]:
    """Return the command that has Codex replace whole lines of a file."""
    lines = [f"-{line}" for line in old.splitlines()] + [f"+{line}" for line in new.splitlines()]
    patch = "\n".join(("*** Begin Patch", f"*** Update File: {path}", "@@", *lines, "*** End Patch"))
    return {"cmd": f"apply_patch <<'END'\n{patch}\nEND"}


def _write_json(content: Json) -> str:
    return json.dumps(content, separators=(",", ":"))


_CLAUDE_CONFIG = _write_json(
    {
        "hasCompletedOnboarding": True,
        "theme": "dark",
        "customApiKeyResponses": {"approved": ["{key_end}"], "rejected": []},  # else it asks whether to use the key
    }
)
_CODEX_CONFIG = """\
model = "gpt-5.2"
model_provider = "mockserver"
check_for_update_on_startup = false

[analytics]
enabled = false

[features]
plugins = false
apps = false

[model_providers.mockserver]
name = "mockserver"
base_url = "{address}/openai/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
"""
_GEMINI_SETTINGS = _write_json(
    {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"disableAutoUpdate": True, "enableAutoUpdate": False},
    }
)
_OPENCODE_CONFIG = _write_json(
    {
        "autoupdate": False,
        "share": "disabled",
        "permission": {"edit": "ask", "bash": "ask"},
        "model": "anthropic/claude-sonnet-4-5",
        "small_model": "anthropic/claude-haiku-4-5",
        "provider": {
            "anthropic": {"options": {"baseURL": "{address}/anthropic/v1", "apiKey": "{key}"}},
            "openai": {"options": {"baseURL": "{address}/openai/v1", "apiKey": "{key}"}},
        },
    }
)
AGENTS: Mapping[str, Agent] = {
    agent.name: agent
    for agent in (
        Agent(
            name="claude-code",
            dialect="anthropic",
            program="claude",
            package="@anthropic-ai/claude-code",
            arguments=("-p",),
            variables={
                "ANTHROPIC_BASE_URL": "{address}/anthropic",
                "ANTHROPIC_API_KEY": "{key}",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "CLAUDE_CONFIG_DIR": "{home}",
            },
            unset=(
                "ANTHROPIC_AUTH_TOKEN",
                "ANTHROPIC_BETAS",
                "ANTHROPIC_CUSTOM_HEADERS",
                "ANTHROPIC_MODEL",
                "CLAUDECODE",
                "CLAUDE_CODE_OAUTH_TOKEN",
                "CLAUDE_CODE_USE_BEDROCK",
                "CLAUDE_CODE_USE_FOUNDRY",
                "CLAUDE_CODE_USE_VERTEX",
            ),
            files={".claude.json": _CLAUDE_CONFIG},
            tools={
                "read": AgentTool("Read", lambda path: {"file_path": path}),
                "write": AgentTool("Write", lambda path, text: {"file_path": path, "content": text}),
                "edit": AgentTool(
                    "Edit", lambda path, old, new: {"file_path": path, "old_string": old, "new_string": new}
                ),
                "run": AgentTool("Bash", lambda command: {"command": command}),
            },
            allows={
                "write": ("--permission-mode", "acceptEdits"),
                "edit": ("--permission-mode", "acceptEdits"),
                "run": ("--allowedTools", "Bash"),
            },
        ),
        Agent(
            name="codex",
            dialect="openai",
            program="codex",
            package="@openai/codex",
            arguments=("exec", "--skip-git-repo-check"),
            variables={"OPENAI_API_KEY": "{key}", "CODEX_HOME": "{home}"},
            unset=("CODEX_API_KEY", "CODEX_ACCESS_TOKEN"),
            files={"config.toml": _CODEX_CONFIG},
            tools={
                "read": AgentTool("exec_command", lambda path: {"cmd": f"cat {shlex.quote(path)}"}),
                "write": AgentTool(
                    "exec_command",
                    lambda path, text: {"cmd": f"printf %s {shlex.quote(text)} > {shlex.quote(path)}"},
                ),
                "edit": AgentTool("exec_command", _patch_file),
                "run": AgentTool("exec_command", lambda command: {"cmd": command}),
            },
            allows={
                "write": ("--sandbox", "workspace-write"),
                "edit": ("--sandbox", "workspace-write"),
                "run": ("--sandbox", "workspace-write"),
            },
        ),
        Agent(
            name="gemini-cli",
            dialect="gemini",
            program="gemini",
            package="@google/gemini-cli",
            arguments=("-p",),
            variables={
                "GOOGLE_GEMINI_BASE_URL": "{address}/gemini",
                "GEMINI_API_KEY": "{key}",
                "GEMINI_CLI_HOME": "{home}",
                "GEMINI_CLI_TRUST_WORKSPACE": "true",
            },
            unset=(
                "GEMINI_MODEL",
                "GOOGLE_API_KEY",
                "GOOGLE_CLOUD_PROJECT",
                "GOOGLE_GENAI_USE_GCA",
                "GOOGLE_GENAI_USE_VERTEXAI",
                "GOOGLE_VERTEX_BASE_URL",
            ),
            files={".gemini/settings.json": _GEMINI_SETTINGS},
            tools={
                "read": AgentTool("read_file", lambda path: {"file_path": path}),
                "write": AgentTool("write_file", lambda path, text: {"file_path": path, "content": text}),
                "edit": AgentTool(
                    "replace",
                    lambda path, old, new: {
                        "file_path": path,
                        "instruction": "Replace the text.",
                        "old_string": old,
                        "new_string": new,
                    },
                ),
                "run": AgentTool("run_shell_command", lambda command: {"command": command}),
            },
            allows={
                "write": ("--allowed-tools", "write_file"),
                "edit": ("--allowed-tools", "replace"),
                "run": ("--allowed-tools", "run_shell_command"),
            },
        ),
        Agent(
            name="opencode",
            dialect="anthropic",
            program="opencode",
            package="opencode-ai",
            arguments=("run",),
            variables={
                "OPENCODE_CONFIG_CONTENT": _OPENCODE_CONFIG,
                "OPENCODE_DISABLE_AUTOUPDATE": "1",
                "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
                "OPENCODE_DISABLE_MODELS_FETCH": "1",
                "XDG_CACHE_HOME": "{home}/cache",
                "XDG_CONFIG_HOME": "{home}/config",
                "XDG_DATA_HOME": "{home}/data",
                "XDG_STATE_HOME": "{home}/state",
            },
            unset=("OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR", "OPENCODE_PERMISSION"),
            tools={
                "read": AgentTool("read", lambda path: {"filePath": path}),
                "write": AgentTool("write", lambda path, text: {"filePath": path, "content": text}),
                "edit": AgentTool(
                    "edit", lambda path, old, new: {"filePath": path, "oldString": old, "newString": new}
                ),
                "run": AgentTool("bash", lambda command: {"command": command, "description": "Run a command"}),
            },
            allows={"write": ("--auto",), "edit": ("--auto",), "run": ("--auto",)},
        ),
    )
}


def check_unmatched(settings: Settings, spelling: Spelling, *, let_it_run: bool) -> None:
    """Raise ConfigError if an agent would act on answers that are made up."""
    if settings.unmatched == "generate" and not let_it_run:
        raise ConfigError(
            "with unmatched: generate, answers are made up, and a coding agent acts on them; remove the setting,"
            f" or allow it with {spelling.write('let_it_run', True)}"
        )
