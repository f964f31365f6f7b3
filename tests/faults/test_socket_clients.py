"""What OpenAI's client sees of each fault over a WebSocket, in the table of docs/guides/websockets.md."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openai import AsyncOpenAI, OpenAIError
from websockets.exceptions import ConnectionClosedError

from mockserver.delivery.faults import ONLY_OVER_HTTP
from mockserver.testing import MockServer
from tests.faults.cases import CALL, IN_CALLS, IN_TEXT

PAGE = Path(__file__).parents[2] / "docs/guides/websockets.md"
CASES = (*IN_TEXT, "disconnect: {after_tokens: 2, code: 1011}", *IN_CALLS)
BRIEFLY, PATIENTLY = 1.0, 20.0  # seconds without an event
_TABLE = re.compile(r"(?<=<!-- seen: socket -->\n\n).*?(?=\n\n<!-- end -->)", re.DOTALL)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MockServer]:
    rules = ["rules:"]
    for number, fault in enumerate(CASES):
        answer = f"tool_calls: [{CALL}]" if fault in IN_CALLS else "text: One two three."
        told = "{" + fault + "}" if ":" in fault else fault
        rules.append(f"  - {{when: {{last_user: case {number}}}, then: {{{answer}, faults: [{told}]}}}}")
    rules.append("  - {then: {text: One two three.}}")
    file = tmp_path_factory.mktemp("faults") / "rules.yaml"
    file.write_text("\n".join(rules))
    with MockServer(file, lint="off", timing=True) as running:
        yield running


async def observe(url: str, number: int) -> str:
    """What a client says that asks for this case, and then again on the same connection."""
    seen, ended = "", ""
    client = AsyncOpenAI(base_url=f"{url}/v1", api_key="any")
    async with client.responses.connect() as connection:
        await connection.response.create(model="gpt-5", input=f"case {number}")
        is_over, patience = False, BRIEFLY if "stall" in CASES[number] else PATIENTLY
        try:
            async with asyncio.timeout(patience) as waiting:
                async for event in connection:
                    waiting.reschedule(asyncio.get_running_loop().time() + patience)
                    if event.type in ("response.output_text.delta", "response.function_call_arguments.delta"):
                        seen += event.delta
                    is_over = event.type in ("response.completed", "error")
                    ended = "`error` event" if event.type == "error" else ended
                    if is_over:
                        break
        except (OpenAIError, ConnectionClosedError, ValueError, TimeoutError) as error:
            ended = f"`{type(error).__name__}`"
        ended = ended or ("" if is_over else "the iteration ends")
    return _describe(seen, ended)


def _describe(seen: str, ended: str) -> str:
    if not ended and seen == "One two three.":
        return "intact"
    return " after ".join(part for part in (ended, f"“{seen}”" if seen else "") if part) or "no text"


def write_table(found: dict[str, str]) -> str:
    """A row for each result, with the faults that have it."""
    alike = dict[str, list[str]]()
    for case, result in found.items():
        alike.setdefault(result, []).append(f"`{case}`")
    rows = ["| faults | what the client sees |", "| --- | --- |"]
    return "\n".join([*rows, *(f"| {', '.join(cases)} | {result} |" for result, cases in alike.items())])


def test_the_table_of_the_page(server: MockServer, update: bool) -> None:
    async def observe_all() -> dict[str, str]:
        found: dict[str, str] = {}
        for stalls in (False, True):  # apart, as nothing may keep those waiting that wait briefly
            numbers = [number for number, case in enumerate(CASES) if ("stall" in case) is stalls]
            seen = await asyncio.gather(*[observe(server.url, number) for number in numbers])
            found |= {CASES[number]: each for number, each in zip(numbers, seen, strict=True)}
        return {case: found[case] for case in CASES}

    found = asyncio.run(observe_all())
    intact = {case for case, result in found.items() if result == "intact"}
    assert {case for case in CASES if case.partition(":")[0] in ONLY_OVER_HTTP} <= intact
    page = PAGE.read_text()
    if update:
        page = _TABLE.sub(lambda _: write_table(found), page)
        PAGE.write_text(page)
    shown: Any = _TABLE.search(page)
    assert shown is not None
    assert shown[0] == write_table(found)
