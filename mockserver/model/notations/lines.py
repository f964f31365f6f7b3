"""Labelled lines (ReAct): `Thought:`, `Action:`, `Action Input:`, at last `Final Answer:`; or an action as JSON."""

import re
from collections.abc import Mapping, Sequence
from itertools import islice

from msgspec import Struct

from mockserver.core.call import Call, Tool, ToolCall
from mockserver.core.json import Json, compact, try_parse
from mockserver.core.lazy import lazy_pattern
from mockserver.model.notations import LONGEST, MOST, AgentStep, TextAgent, make_agent_call, read_tools
from mockserver.model.shapes import read_loosely
from mockserver.model.vocabulary import RULING, excerpt


class Labels(Struct, frozen=True):
    """The labels that a prompt shows, whether arguments are JSON, and what thoughts begin with, if it wants them."""

    action: str
    given: str
    observed: str
    final: str
    is_json: bool
    is_blob: bool  # the action and its input are in one JSON object
    thought: str
    calling: str  # the thought before a call; with a gap for the tool
    ending: str  # the thought before the answer

    def write_calls(self, calls: Sequence[ToolCall]) -> str:
        name, arguments = calls[0].name, try_parse(calls[0].arguments)
        values = [*arguments.values()] if isinstance(arguments, Mapping) else []
        value = values[0] if len(values) == 1 and not self.is_json else arguments
        written = value if isinstance(value, str) else compact(value)
        step = self._blob(name, value) if self.is_blob else f"{self.action}: {name}\n{self.given}: {written}"
        return f"{self.thought}{self.calling.format(name)}\n{step}"

    def write_answer(self, answer: str) -> str:
        end = self._blob("Final Answer", answer) if self.is_blob else f"{self.final}: {answer}"
        return f"{self.thought}{self.ending}\n{end}"

    def _blob(self, name: str, value: Json) -> str:
        return f"Action:\n```json\n{compact({'action': name, 'action_input': value})}\n```"


def read(call: Call, prompt: str) -> TextAgent | None:
    if "Action" not in prompt and "Final Answer" not in prompt and _LABELLED.search(prompt) is None:
        return None
    formats, blob = [*islice(_ACTION.finditer(prompt), MOST)], _BLOB.search(prompt)
    shown = next((each for each in formats if _NAMES.search(each[0])), next(iter(formats), None))
    if shown is None and blob is None and _FINAL.search(prompt) is None:
        return None
    place = prompt[max(0, blob.start() - 600) :] if blob else shown[0] if shown else ""
    names = _NAMES.search(place)
    listed = [each.strip(" \"'`.") for each in names[1].split(",")] if names else []
    tools = read_tools(prompt, [each for each in listed if each and each != "Final Answer"]) if place else []
    labels = _read_labels(call, prompt, shown, is_blob=blob is not None)
    request, steps = _read_transcript(call, labels, tools)
    return TextAgent(make_agent_call(call, request, tools, steps), labels.write_calls, labels.write_answer)


def _read_labels(call: Call, prompt: str, shown: re.Match[str] | None, *, is_blob: bool) -> Labels:
    after = prompt[shown.end() if shown else 0 :]
    observed, final = (found[1] if (found := label.search(after)) else usual for label, usual in _USUAL)
    ended = re.search(rf"(?m)^[ \t]*Thought:[ \t]*((?:I|Do I)\b[^\n]*)\n+[ \t]*{re.escape(final)}:", after)
    thinks = "Thought:" in prompt and not call.messages[-1].text.rstrip().endswith("Thought:")
    return Labels(
        action=shown["action"] if shown else "Action",
        given=shown["input"] if shown else "Action Input",
        observed=observed,
        final=final,
        is_json=shown is not None and _KEYED.search(shown["how"]) is not None,
        is_blob=is_blob,
        thought="Thought: " if thinks else "",
        calling="Do I need to use a tool? Yes" if "use a tool? Yes" in prompt else "I should use {}.",
        ending=ended[1] if ended else "I now know the final answer",
    )


def _read_transcript(call: Call, labels: Labels, tools: Sequence[Tool]) -> tuple[str, list[AgentStep]]:
    """The last request, and the steps made for it."""
    texts = []
    for message in call.messages:
        observes = message.text.lstrip().startswith(labels.observed)
        asks = message.role == "user" and not observes and not _ASKED.search(message.text)
        text = message.text.rpartition("\n\n")[2] if asks and _BLOB.search(message.text) else message.text
        if message.role not in RULING:
            lead = "Question: " if asks else f"{labels.observed}: " if message.role == "tool" else ""
            texts.append(lead + excerpt(text, LONGEST))
    kinds = {labels.action: "name", labels.given: "input", labels.observed: "seen", labels.final: "final"}
    names = "|".join(map(re.escape, sorted(kinds, key=len, reverse=True)))
    pieces = re.split(rf"(?m)^[ \t*>]*({_QUESTIONS}|Thought|{names})\**\s*:\**", "\n".join(texts))
    known, request, steps = {tool.name for tool in tools}, "", list[AgentStep]()
    name = given = ""
    for label, text in zip(pieces[1::2], pieces[2::2], strict=True):
        match kinds.get(label, "asked" if re.fullmatch(_QUESTIONS, label) else ""):
            case "asked":
                request, steps = _FRAME.sub("", text), []
            case "name":
                name, given = _read_action(text)
            case "input":
                given = text
            case "seen" if name in known:
                steps.append(AgentStep(name, given, text))
    return request, steps


def _read_action(text: str) -> tuple[str, str]:
    """The name after a label, or the name and the input of an object there."""
    loose = read_loosely(text, text.find("{")) if "{" in text else None
    if loose is None or not isinstance(loose.value, Mapping):
        return text.strip(" \n`*[]\"'"), ""
    name, *rest = (each if isinstance(each, str) else compact(each) for each in loose.value.values() or ("",))
    return name, "".join(rest[:1])


_LABELLED = lazy_pattern(r"(?m)^[ \t>*`-]{0,12}(?:Tool|Function|Call) ?(?:Input|Args|Arguments|Parameters)\**:")
_ACTION = lazy_pattern(
    r"(?m)^[ \t>*`-]*(?P<action>Action|Tool|Function|Act|Call|Tool Name)\**:\**[ \t]*[^\n]*\n(?:[^\n:]*\n){0,3}?"
    r"[ \t>*`-]*(?P<input>(?:(?:Action|Tool|Function|Call)[ _]?)?(?:Input|Args|Arguments|Parameters|Query))\**:\**"
    r"(?P<how>[^\n]*)"
)
_FINAL = lazy_pattern(r"(?m)^[ \t>*`-]*Thought\**:[^\n]*\n+[ \t>*`-]*Final Answer\**:")
_BLOB = lazy_pattern(r"[\"']action_input[\"']")
_NAMES = lazy_pattern(
    r"(?i)(?:\bone (?:name )?of(?! two\b)|valid [\"']action[\"'] values:(?: \"Final Answer\" or)?|"
    r"\b(?:available|allowed|following) (?:tools|actions|functions)(?: are)?:)[ \t]{0,9}(?:these |the following )?"
    r"[:\[({]{0,3}[ \t]{0,9}([^\])}\n\\]{1,4000})"
)
_USUAL = (
    (lazy_pattern(r"(?m)^[ \t>*`-]*(Observation|(?:Tool |Action )?(?:Result|Output|Response))\**:"), "Observation"),
    (lazy_pattern(r"(?m)^[ \t>*`-]*(Final \w+|Answer|Final|Conclusion|Finish)\**:"), "Final Answer"),
)
_QUESTIONS = r"(?:Question|Current Task|Task|New [Ii]nput|Input|Query|User|Human)"
_ASKED = lazy_pattern(rf"(?m)^[ \t>*]*{_QUESTIONS}\**\s*:")
_FRAME = lazy_pattern(r"\n(?:This is the expected criteria[^\n]*(?:\nyou MUST [^\n]*)?|Begin!(?s:.*))")
_KEYED = lazy_pattern(r"(?i)\bjson\b|\bdict|curly|kwargs|\bkeys?\b|\bobject\b")
