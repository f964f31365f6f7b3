"""Why a request is answered as it is: one that is described, or one of the journal put again. Nothing is counted."""

from dataclasses import replace

from starlette.responses import Response

from mockserver.config.errors import ConfigError
from mockserver.core.json import Json
from mockserver.server.control.calls import kept, reached_by
from mockserver.server.control.requests import Asked, RefusedError, masked, of_request, told
from mockserver.server.explain import Explanation, Reached, as_json, described, explained, reach, usual_path


async def explain(asked: Asked) -> Response:
    """Which rule would answer now, and of every rule what holds and what does not."""
    content = asked.content()
    try:
        reached, before = _reached(content, asked)
    except ConfigError as error:
        raise RefusedError(400, str(error.mistakes[0])) from error
    secrets = of_request(reached.http)
    try:
        call = reached.call(strict=asked.live.settings.strict)
    except ConfigError as error:
        raise RefusedError(400, secrets.text(str(error.mistakes[0]))) from error
    engine = asked.live.namespaces.get(call.http.namespace).engine(asked.live.engine)
    explanation = await explained(engine, call)
    return told(masked({**before, **_told(explanation)}, secrets))


def _reached(content: Json, asked: Asked) -> tuple[Reached, dict[str, Json]]:
    if isinstance(content, dict) and "call" in content:
        return _again(content["call"], asked)
    dialect = asked.live.settings.dialect
    if isinstance(content, dict) and "dialect" in content and ("body" in content or "path" in content):
        content = dict(content)
        dialect = str(content.pop("dialect"))
        usual_path(dialect)  # refuses one that nobody knows
    put = described(content, "the body", dialect)
    return reach(replace(put, namespace=asked.one_namespace), asked.live.settings.dialect), {}


def _again(number: Json, asked: Asked) -> tuple[Reached, dict[str, Json]]:
    """The request of a row, and what answered it then."""
    if not isinstance(number, int) or isinstance(number, bool):
        raise RefusedError(400, 'the body must be {"call": 7}, with the number of a call in the journal')
    row = kept(asked, number)
    reached = reached_by(row, asked.live)
    if reached is None:
        whole = row.received <= len(row.body)
        why = "no operation stands at its path" if whole else f"its body is not kept whole ({row.received} bytes)"
        raise RefusedError(400, f"call {number} cannot be explained: {why}")
    return reached, {"call": number, "answered_then": row.source}


def _told(explanation: Explanation) -> dict[str, Json]:
    prompts = [{"prompt": prompt, "rules": list(map(as_json, held))} for prompt, held in explanation.prompts]
    return {
        "answered_by": explanation.source,
        **({"why": explanation.why} if explanation.why else {}),
        **({"bent_by": list(explanation.modified_by)} if explanation.modified_by else {}),
        **({"faults": [fault.name for fault in explanation.faults]} if explanation.faults else {}),
        **({"prompts": prompts} if len(prompts) > 1 else {"rules": prompts[0]["rules"]}),
        "text": explanation.text,
    }
