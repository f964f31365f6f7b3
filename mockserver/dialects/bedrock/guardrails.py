"""Guardrails: ApplyGuardrail, which is a moderation, and those that requests to InvokeModel name.

Source: https://docs.aws.amazon.com/bedrock/latest/userguide/guardrails-use.html
"""

from collections.abc import Mapping

from msgspec.structs import replace

from mockserver.core.call import Call, Message, Prompt
from mockserver.core.http import HttpRequest, Reply
from mockserver.core.json import Json
from mockserver.core.plan import Answer, Text, Verdict
from mockserver.core.validation import Validation
from mockserver.dialects import Operation
from mockserver.dialects._parse import read_request
from mockserver.dialects._reply import make_json_reply
from mockserver.dialects.bedrock.errors import refuse, write_request_id
from mockserver.dialects.bedrock.models import GUARDRAIL, NAME
from mockserver.kinds.moderations import Moderations
from mockserver.wire.bedrock import BLOCKED, Guardrail, assess, make_guardrail_usage, write_guardrail_trace


def make_guardrail_operation() -> Operation:
    path = "/guardrail/{guardrail:path}/version/{version}/apply"
    params = {"guardrail": "gr-mockserver", "version": "DRAFT"}
    return Operation("moderations", "POST", path, parse=_parse, render=_render, params=params, body=_ask)


def _ask(text: str) -> dict[str, Json]:
    return {"source": "INPUT", "content": [{"text": {"text": text}}]}


def _parse(http: HttpRequest, validation: Validation) -> Call:
    body, _ = read_request(GUARDRAIL, http, refuse=refuse, validation=validation)
    name = http.path_params.get("guardrail", "")
    texts = [held["text"] for block in body.get("content") or () if (held := block.get("text"))]
    text = "\n".join(texts)
    return Call(
        dialect=NAME,
        operation="moderations",
        model=name,
        http=http,
        meaning={**body, "guardrail": name},
        raw=body,
        messages=(Message("user", text),),
        prompts=(Prompt(text),),
    )


def _render(call: Call, outcome: Moderations) -> Reply:
    result = outcome.results[0]
    # Each filter of a guardrail that these categories belong to, once.
    filters = dict.fromkeys(_FILTERS.get(name.partition("/")[0], "self_harm") for name in sorted(result.flagged))
    verdicts = [Verdict(category, "high", filtered=True) for category in filters]
    size = len(call.last_user)
    whole = call.raw.get("outputScope") == "FULL"
    body: dict[str, Json] = {
        "action": "GUARDRAIL_INTERVENED" if verdicts else "NONE",
        "actionReason": "Guardrail blocked." if verdicts else "No action.",
        "assessments": [assess(tuple(verdicts))] if verdicts or whole else [{}],
        "guardrailCoverage": {"textCharacters": {"guarded": size, "total": size}},
        "outputs": [{"text": BLOCKED}] if verdicts else [],
        "usage": make_guardrail_usage(max(1, -(-size // 1000))),
    }
    return make_json_reply(200, body, lines=write_request_id(call.http, call), headers=outcome.headers)


_FILTERS: Mapping[str, str] = {
    "harassment": "harassment",
    "hate": "hate",
    "sexual": "sexual",
    "violence": "violence",
    "self-harm": "self_harm",
}


# Of InvokeModel, whose bodies are the model's own.


def find_guardrail(http: HttpRequest) -> Guardrail | None:
    """Return the guardrail that the headers of a request to InvokeModel name."""
    name = http.header_values.get(b"x-amzn-bedrock-guardrailidentifier")
    if not name:
        return None
    return Guardrail(
        name.decode("latin-1"), http.header_values.get(b"x-amzn-bedrock-trace", b"").upper().startswith(b"ENABLED")
    )


def replace_blocked(answer: Answer) -> Answer:
    """Return an answer; one that was filtered has the guardrail's message as its text, and ends like any other."""
    choice = answer.choices[0]
    if choice.finish != "content_filter":
        return answer
    return replace(answer, choices=(replace(choice, parts=(Text(BLOCKED),), finish="stop", safety=()),))


def show_action(answer: Answer) -> dict[str, Json]:
    """Return the key about the guardrail that each object of an answer has."""
    intervened = answer.choices[0].finish == "content_filter"
    return {"amazon-bedrock-guardrailAction": "INTERVENED" if intervened else "NONE"}


def show_trace(guardrail: Guardrail, answer: Answer) -> dict[str, Json]:
    """Return the key with what the guardrail found; none if the request does not ask for it."""
    if not guardrail.traces:
        return {}
    found = write_guardrail_trace(guardrail, answer.choices[0].safety, answer.prompt_safety)
    reason = {"actionReason": found["actionReason"]} if "actionReason" in found else {}
    outputs = found.get("outputAssessments")
    output = {"outputs": [{guardrail.name: outputs[guardrail.name][0]}]} if outputs else {}
    return {"amazon-bedrock-trace": {"guardrail": {**reason, "input": found["inputAssessment"], **output}}}
