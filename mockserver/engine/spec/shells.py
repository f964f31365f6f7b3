"""Commands and patches as a rule writes them: what a shell is to run, what it printed, how a file changes."""

from typing import Literal

from pydantic import Field

from mockserver.engine.spec.hosted import CallId, Ended
from mockserver.engine.spec.table import Table


class ExecSpec(Table):
    """A command to run."""

    example = "{type: exec, command: [ls, -l]}"

    type: Literal["exec"] = Field("exec", description="exec")
    command: list[str] = Field(min_length=1, description="the command and its arguments")
    env: dict[str, str] = Field({}, description="environment variables")
    timeout_ms: int | None = Field(None, ge=0, description="how long it may take")
    user: str | None = Field(None, description="who runs it")
    working_directory: str | None = Field(None, description="where it runs")


class LocalShellSpec(Table):
    """A command for the client's own shell."""

    example = "{type: local_shell_call, command: [ls, -l]}"

    type: Literal["local_shell_call"]
    command: list[str] | None = Field(None, min_length=1, description="the command and its arguments")
    action: ExecSpec | None = Field(None, description="the same with all that the API has beside it")
    call_id: CallId = None
    status: Ended = None


class CommandsSpec(Table):
    """Commands to run."""

    example = "{commands: [ls -l]}"

    commands: list[str] = Field(min_length=1, description="the commands")
    max_output_length: int | None = Field(None, ge=0, description="characters of output that are wanted")
    timeout_ms: int | None = Field(None, ge=0, description="how long they may take")


class EnvironmentSpec(Table):
    """Where commands run."""

    example = "{type: local}"

    type: Literal["local", "container_reference"]
    container_id: str | None = Field(None, description="id of the container")


class ShellSpec(Table):
    """Commands for a shell."""

    example = "{type: shell_call, commands: [ls -l]}"

    type: Literal["shell_call"]
    commands: list[str] | None = Field(None, min_length=1, description="the commands")
    action: CommandsSpec | None = Field(None, description="the same with all that the API has beside it")
    environment: EnvironmentSpec | None = Field(None, description="where they run")
    call_id: CallId = None
    status: Ended = None


class OperationSpec(Table):
    """A change of one file."""

    example = "{type: update_file, path: a.py, diff: '-a'}"

    type: Literal["create_file", "update_file", "delete_file"]
    path: str = Field(min_length=1, description="path of the file")
    diff: str | None = Field(None, description="what changes; not for delete_file")


class ApplyPatchSpec(Table):
    """A change of one file, for the client to make."""

    example = "{type: apply_patch_call, operation: {type: delete_file, path: a.py}}"

    type: Literal["apply_patch_call"]
    operation: OperationSpec = Field(description="the change")
    call_id: CallId = None


class PrintedSpec(Table):
    """What one command printed, and how it ended."""

    example = "{stdout: hello, exit_code: 0}"

    stdout: str = Field("", description="what it printed")
    stderr: str = Field("", description="what it complained of")
    exit_code: int | None = Field(None, description="its exit code; 0 when absent")
    timed_out: Literal[True] | None = Field(None, description="it took too long")


class ShellOutputSpec(Table):
    """What the commands of the shell call before it printed."""

    example = "{type: shell_call_output, output: [{stdout: hello}]}"

    type: Literal["shell_call_output"]
    output: list[PrintedSpec] = Field(min_length=1, description="one for each command")
    max_output_length: int | None = Field(None, ge=0, description="characters of output that were wanted")
    call_id: CallId = None
    status: Ended = None


class ApplyPatchOutputSpec(Table):
    """What came of the patch before it."""

    example = "{type: apply_patch_call_output, output: Done}"

    type: Literal["apply_patch_call_output"]
    output: str | None = Field(None, description="what is told of it")
    call_id: CallId = None
    status: Literal["completed", "failed"] | None = Field(None, description="how it ended, if not well")
