"""Labelled lines (ReAct): `Thought:`, `Action:`, `Action Input:`, at last `Final Answer:`; or an action as JSON."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from msgspec import Struct

from mockserver.core.call import Call, ToolCall
from mockserver.core.json import Json, compact, try_parse
from mockserver.core.lazy import compile_lazily
from mockserver.model.notations import MAX_PROMPT, MAX_TOOLS, AgentStep, TextAgent, make_agent_call, read_tools
from mockserver.model.shapes import read_loosely
from mockserver.model.vocabulary import RULING, cut_excerpt


class Labels(Struct, frozen=True):
    """The labels that a prompt shows, and whether arguments, or the whole action (a blob), are JSON.

    Where labels stand in signs, as `✿ARGS✿`, an answer needs none.
    """

    action: str
    given: str
    observed: str
    final: str
    is_json: bool
    is_blob: bool
    is_marked: bool
    thought: str

    def write_calls(self, calls: Sequence[ToolCall]) -> str:
        name = calls[0].name
        arguments = try_parse(calls[0].arguments)
        values = [*arguments.values()] if isinstance(arguments, Mapping) else []
        value = values[0] if len(values) == 1 and not self.is_json else arguments
        written = value if isinstance(value, str) else compact(value)
        step = self._write_blob(name, value) if self.is_blob else f"{self.action}: {name}\n{self.given}: {written}"
        return f"{self.thought}I should use {name}.\n{step}"

    def write_answer(self, answer: str) -> str:
        if self.is_marked:
            return answer
        end = self._write_blob("Final Answer", answer) if self.is_blob else f"{self.final}: {answer}"
        return f"{self.thought}I now know the final answer\n{end}"

    def _write_blob(self, name: str, value: Json) -> str:
        return f"Action:\n```json\n{compact({'action': name, 'action_input': value})}\n```"

    def read_parts(self, text: str) -> Iterator[tuple[str, str]]:
        """Return what a text says behind labels: `asked`, the `name` of a tool, its `input`, `seen`, or else."""
        kinds = {self.action: "name", self.given: "input", self.observed: "seen", self.final: "", "Thought": ""}
        names = "|".join(map(re.escape, sorted(kinds, key=len, reverse=True)))
        _, *pieces = re.split(rf"(?m)^[ \t*>]*({_QUESTIONS}|{names})\**\s*:\**", text)
        return ((kinds.get(label, "asked"), said) for label, said in zip(pieces[::2], pieces[1::2], strict=True))


def read(call: Call, prompt: str) -> TextAgent | None:
    formats = [*islice(_ACTION.finditer(prompt), MAX_TOOLS)]
    blob = _BLOB.search(prompt)
    shown = next((each for each in formats if _NAMES.search(each[0])), next(iter(formats), None))
    if shown is None and blob is None and _FINAL.search(prompt) is None:
        return None
    names = _NAMES.search(prompt, max(0, blob.start() - 600) if blob else shown.start() if shown else len(prompt))
    listed = [each.strip(" \"'`.") for each in names[1].split(",")] if names else []
    tools = read_tools(prompt, [each for each in listed if each and each != "Final Answer"]) if shown or blob else []
    after = prompt[shown.end() if shown else 0 :]
    labels = Labels(
        action=shown["action"] if shown else "Action",
        given=shown["input"] if shown else "Action Input",
        observed=found[1] if (found := _OBSERVED.search(after)) else "Observation",
        final=found[1] if (found := _ANSWER.search(after)) else "Final Answer",
        is_json=shown is not None and bool(_KEYED.search(shown["how"]) or _PARAMETERS.search(prompt)),
        is_blob=blob is not None,
        is_marked=shown is not None and shown["mark"] != "",
        thought="Thought: " * ("Thought:" in prompt and not call.messages[-1].text.rstrip().endswith("Thought:")),
    )
    request = ""
    name = ""
    given = ""
    steps = list[AgentStep]()
    for kind, text in labels.read_parts("\n".join(_list_texts(call, labels))):
        if kind == "asked":
            request = _FRAME.sub("", text)
            steps = []
        elif kind == "name":
            name, given = _read_action(text)
        elif kind == "input":
            given = text
        elif kind == "seen" and any(tool.name == name for tool in tools):
            steps.append(AgentStep(name, given, text.strip().removesuffix(labels.final)))
    return TextAgent(make_agent_call(call, request, tools=tools, steps=steps), labels.write_calls, labels.write_answer)


def _list_texts(call: Call, labels: Labels) -> Iterator[str]:
    """Yield the texts of a conversation, with labels in front of questions and results that have none."""
    for message in call.messages:
        asks = message.role == "user" and not message.text.lstrip().startswith(labels.observed)
        asks = asks and not _ASKED.search(message.text)
        text = message.text.rpartition("\n\n")[2] if asks and _BLOB.search(message.text) else message.text
        if message.role not in RULING:
            lead = "Question: " if asks else f"{labels.observed}: " if message.role == "tool" else ""
            yield lead + cut_excerpt(text, MAX_PROMPT)


def _read_action(text: str) -> tuple[str, str]:
    """Return the name after a label, or the name and the input of an object there."""
    loose = read_loosely(text, text.find("{")) if "{" in text else None
    if loose is None or not isinstance(loose.value, Mapping):
        return text.strip(" \n`*[]\"'"), ""
    name, *rest = (each if isinstance(each, str) else compact(each) for each in loose.value.values() or ("",))
    return name, "".join(rest[:1])


_MARK = r"(?P<mark>[^\w\s:*`>-]?)"  # around labels, such as ✿FUNCTION✿
_ACTION = compile_lazily(
    rf"(?m)^[ \t>*`-]*(?P<action>{_MARK}(?:Action|Tool|(?i:Function)|Act|Call|Tool Name)(?P=mark))\**:\**[ \t]*[^\n]*\n"
    r"(?:[^\n:]*\n){0,3}?[ \t>*`-]*(?P<input>(?P=mark)(?:(?:Action|Tool|Function|Call)[ _]?)?"
    r"(?:Input|(?i:Args)|Arguments|Parameters|Query)(?P=mark))\**:\**(?P<how>[^\n]*)"
)
_FINAL = compile_lazily(r"(?m)^[ \t>*`-]*Thought\**:[^\n]*\n+[ \t>*`-]*Final Answer\**:")
_PARAMETERS = compile_lazily(r"(?<=Parameters): ?[\[{]|arguments as a JSON")
_BLOB = compile_lazily(r"[\"']action_input[\"']")
_NAMES = compile_lazily(
    r"(?i)(?:\bone (?:name )?of(?! two\b)|valid [\"']action[\"'] values:(?: \"Final Answer\" or)?|"
    r"\b(?:available|allowed|following) (?:tools|actions|functions)(?: are)?:)[ \t]{0,9}(?:these |the following )?"
    r"[:\[({]{0,3}[ \t]{0,9}([^\])}\n\\]{1,4000})"
)
_OBSERVED = compile_lazily(
    rf"(?m)^[ \t>*`-]*({_MARK}(?:Observation|(?:Tool |Action )?(?i:Result|Output|Response))(?P=mark))\**:"
)
_ANSWER = compile_lazily(
    rf"(?m)^[ \t>*`-]*({_MARK}(?:Final \w+|Answer|Final|Conclusion|Finish|(?i:Return))(?P=mark))\**:"
)
_QUESTIONS = r"(?:Question|Current Task|Task|New [Ii]nput|Input|Query|User|Human)"
_ASKED = compile_lazily(rf"(?m)^[ \t>*]*{_QUESTIONS}\**\s*:")
_FRAME = compile_lazily(r"\n(?:This is the expected criteria[^\n]*(?:\nyou MUST [^\n]*)?|Begin!(?s:.*))")
_KEYED = compile_lazily(r"(?i)\bjson\b|\bdict|curly|kwargs|\bkeys?\b|\bobject\b")
