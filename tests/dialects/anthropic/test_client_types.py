"""Whatever the official client's types name is accepted: each field, block, tool and nested part, of betas as well.

An update of the client that brings something which is refused makes these tests fail.
"""

import re
from copy import deepcopy
from functools import cache
from random import Random
from typing import Any, get_args
from urllib.parse import urlencode

import pytest
from anthropic.types import (
    AnthropicBetaParam,
    FileListParams,
    FileUploadParams,
    MessageCountTokensParams,
    ModelListParams,
    beta,
    message_create_params,
    messages,
)
from anthropic.types.beta import message_create_params as beta_create_params
from anthropic.types.beta import messages as beta_messages

from mockserver.core.plan import Answer, Choice, Failure, Text, Usage
from mockserver.core.validation import Validation
from mockserver.dialects.anthropic.request import KNOWN_BETAS
from tests.dialects.conftest import Speaker
from tests.kit.client_types import fields_of, smallest_bodies
from tests.kit.local import local
from tests.kit.odd import ODD, places

Json = Any
# Where the smallest value of a type is too small, or names nothing.
VALUES = {"max_tokens": 2048, "budget_tokens": 1024, "data": "aGk=", "model": "claude-sonnet-4-5"}
ANSWER = Answer("msg_01", 0, "m", (Choice((Text("Hi"),)),), Usage(9, 1))
IN_HEADERS = frozenset(("betas", "user_profile_id", "workspace_id"))  # as the client's methods name them
TYPES = {
    "messages": ("chat", message_create_params.MessageCreateParamsNonStreaming),
    "streamed messages": ("chat", message_create_params.MessageCreateParamsStreaming),
    "messages of betas": ("chat", beta_create_params.MessageCreateParamsNonStreaming),
    "token counts": ("input_tokens", MessageCountTokensParams),
    "token counts of betas": ("input_tokens", beta.MessageCountTokensParams),
    "batches": ("create_batch", messages.BatchCreateParams),
    "batches of betas": ("create_batch", beta_messages.BatchCreateParams),
}
# What the types allow and the provider refuses, by the paths of such bodies.
EXCLUDED = {
    "results are of users": r"<(Beta)?AssistantMessageParam>\.content\[\]\.<(Beta)?ToolResultBlockParam>",
    "the new version has no documents of the assistant": (
        r"<(Beta)?AssistantMessageParam>\.content\[\]\.<(Beta)?(Request)?DocumentBlock(Param)?>"
    ),
    "the new version has no citations in texts of users": (
        r"<(Beta)?UserMessageParam>\.content\[\]\.<(Beta)?TextBlock(Param)?>\.citations\[\]"
    ),
    "a schema of arguments is one of an object": r"\.tools\[\]\.<(Beta)?ToolParam>\.input_schema$",
    "a system message says or configures something": (
        r"<BetaSystemMessageParam>(\.clear_at=\w+|\.output_config=null|\.output_config\.<\w+>)?$"
    ),
}


@cache
def bodies(title: str) -> tuple[tuple[str, Json], ...]:
    """The bodies of a type, each once, with their paths."""
    found = dict[str, tuple[str, Json]]()
    for place, body in smallest_bodies(TYPES[title][1], VALUES):
        sent = without_headers(body)
        found.setdefault(repr(sent), (place, sent))
    return tuple(found.values())


def without_headers(body: Json) -> Json:
    if "requests" in body:
        body = {**body, "requests": [{**each, "params": without_headers(each["params"])} for each in body["requests"]]}
    return {key: value for key, value in body.items() if key not in IN_HEADERS}


def completed(body: Json) -> Json:
    """A body with what its parts need beside them: results for calls, calls for results, tools for a choice."""
    if "requests" in body:
        return {"requests": [{**each, "params": completed(each["params"])} for each in body["requests"]]}
    turns = list(body["messages"])
    content = turns[0].get("content")
    kinds = [block["type"] for block in content] if isinstance(content, list) else []
    if "tool_use" in kinds and turns[0]["role"] == "assistant":
        turns.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a"}]})
    if "tool_result" in kinds and turns[0]["role"] == "user":
        turns.insert(0, {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "a", "input": {}}]})
    chosen = (body.get("tool_choice") or {}).get("type") in ("any", "tool")
    tools = {"tools": [{"name": "a", "input_schema": {"type": "object"}}]} if chosen else {}
    return {**body, "messages": turns, **tools}


def refusals(speaker: Speaker, operation: str, body: Json, **headers: str) -> list[str]:
    """Why a body is refused, or requests of a batch are; what is accepted can be answered."""
    asked = speaker.operation(operation)
    version = {"anthropic-version": "2026-10-21", "content-type": "application/json"}
    try:
        call = asked.read_call(speaker.request(completed(body), headers={**version, **headers}), Validation.PUBLISHED)
    except Failure as failure:
        return [str(failure.message)]
    found = [str(each.message) for each in call.batch if isinstance(each, Failure)]
    if operation == "chat":
        assert asked.render(call, ANSWER).status == 200
    return found


def excluded(place: str) -> str | None:
    return next((reason for reason, pattern in EXCLUDED.items() if re.search(pattern, place)), None)


@pytest.mark.parametrize("title", TYPES)
def test_what_the_client_can_send_is_accepted(title: str) -> None:
    speaker, wrong = Speaker("anthropic"), dict[str, Any]()
    for place, body in bodies(title):
        reason, found = excluded(place), refusals(speaker, TYPES[title][0], body)
        if bool(found) != bool(reason):
            wrong[place] = found or f"is accepted, although {reason}"
    assert not wrong, "\n".join(f"{place}: {why}" for place, why in [*wrong.items()][:20])


@pytest.mark.parametrize("title", [title for title in TYPES if "betas" in title])
def test_the_header_of_a_beta_changes_nothing(title: str) -> None:
    speaker, named = Speaker("anthropic"), ",".join(sorted(KNOWN_BETAS))
    for place, body in bodies(title)[::7]:
        found = refusals(speaker, TYPES[title][0], body, **{"anthropic-beta": named})
        assert bool(found) == bool(excluded(place)), (place, found)


def test_every_reason_is_needed() -> None:
    assert {excluded(place) for place, _ in bodies("messages of betas")} - {None} == EXCLUDED.keys()


def test_the_betas_of_the_client_are_known() -> None:
    assert set(get_args(get_args(AnthropicBetaParam)[1])) == KNOWN_BETAS


PATHS = {"chat": "messages", "input_tokens": "messages/count_tokens", "create_batch": "messages/batches"}


def is_conversation(body: Json) -> bool:
    """Whether a body has a model, and messages of which one says whose it is."""
    said = body.get("messages")
    roles = [each.get("role") for each in said if isinstance(each, dict)] if isinstance(said, list) else []
    return all(isinstance(each, str) and each != "" for each in (body.get("model"), next(filter(None, roles), None)))


@pytest.mark.parametrize("title", [title for title in TYPES if "betas" in title])
def test_no_change_of_a_body_is_a_fault_of_the_server(title: str) -> None:
    """Where nothing is checked, what has a model and messages is answered, whatever else is in it."""
    rng, path = Random(title), f"/anthropic/v1/{PATHS[TYPES[title][0]]}"
    unchecked, checked = local(validation="off"), local()
    for _, body in rng.sample(bodies(title), 150):
        changed = deepcopy(completed(body))
        for _ in range(rng.randint(1, 3)):
            holder, key = rng.choice([*places(changed)] or [(changed, "later")])
            holder[key] = deepcopy(rng.choice(ODD))
        answered = unchecked.ask(path, changed)
        assert answered.status == 200 if is_conversation(changed) else answered.status < 500, (changed, answered.body)
        assert checked.ask(path, changed, headers={"anthropic-beta": "later-2027-01-01"}).status < 500


LISTS = {
    "/v1/models": (ModelListParams, beta.ModelListParams),
    "/v1/messages/batches": (messages.BatchListParams, beta_messages.BatchListParams),
    "/v1/files": (FileListParams, beta.FileListParams),
}


@pytest.mark.parametrize("path", LISTS)
def test_queries_of_lists_are_accepted(path: str) -> None:
    server = local()
    for kind in LISTS[path]:
        for place, body in smallest_bodies(kind):
            query = {key: value for key, value in body.items() if key not in IN_HEADERS and value is not None}
            lists = {f"{key}[]": value for key, value in query.items() if isinstance(value, list)}
            others = {key: value for key, value in query.items() if not isinstance(value, list)}
            asked = urlencode({**lists, **others}, doseq=True)
            answered = server.ask(f"/anthropic{path}?{asked}", b"", method="GET")
            assert answered.status == 200, (place, answered.body)


def test_parts_of_uploads_are_known() -> None:
    for kind in (FileUploadParams, beta.FileUploadParams):
        assert fields_of(kind).keys() - IN_HEADERS == {"file", "expires_in_seconds"}
