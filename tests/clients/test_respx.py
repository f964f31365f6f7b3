"""What the guide says of respx: it does not see the requests of official clients that use httpx2."""

from typing import Any

import anthropic
import openai
import respx

from mockserver.testing import MockServer

ASKED: Any = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def test_respx_does_not_intercept_the_official_clients() -> None:
    with MockServer() as server, respx.mock(assert_all_called=False) as routes:
        server.on().reply("from the server")
        intercepted = routes.route(host="127.0.0.1").respond(500)
        said = openai.OpenAI(base_url=f"{server.url}/v1", api_key="k", max_retries=0).chat.completions.create(**ASKED)
        claude = anthropic.Anthropic(base_url=f"{server.url}/anthropic", api_key="k", max_retries=0)
        told: Any = claude.messages.create(max_tokens=9, **ASKED).content[0]
        assert (said.choices[0].message.content, told.text) == ("from the server", "from the server")
        assert not intercepted.called
