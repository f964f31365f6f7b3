"""Rules that are answered by a function of the test. What it gives is data, never a template."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from mockserver.core.call import Call, Json
from mockserver.core.plan import Failure
from mockserver.engine.draft import Moment, Response
from mockserver.engine.templates.templates import is_template
from mockserver.engine.then.responder import Responder

Asked = Call  # the request as it was read, as tests annotate it
Function = Callable[[Asked], Any]  # gives a text, or a table like `then`


def calling(
    function: Function, compiled: Callable[[Mapping[str, Json]], Responder], failed: Callable[[Exception], str]
) -> Responder:
    """What a rule says that asks a function. Where it fails that is a 500, in the words of `failed`."""

    def respond(moment: Moment) -> Response:
        try:
            said = function(moment.call)
            if not isinstance(said, str | Mapping):
                raise TypeError(f"it gives a text or a table like `then`, not {type(said).__name__}")
            answer = compiled(literal({"text": said} if isinstance(said, str) else said))
        except Exception as error:
            raise Failure("server_error", failed(error), status=500, headers=_FINAL) from error
        return answer(moment)

    return respond


def literal(value: Any) -> Any:
    """A value in which no text is a template."""
    match value:
        case str():
            return f"{{{{ {json.dumps(value, ensure_ascii=False)} }}}}" if is_template(value) else value
        case Mapping():
            return {name: literal(inner) for name, inner in value.items()}
        case list() | tuple():
            return [literal(inner) for inner in value]
    return value


_FINAL = (("x-should-retry", "false"),)  # clients of OpenAI's kind would ask again what fails again
