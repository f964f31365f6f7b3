"""What the official clients make of each fault stands in docs/faults.md, in tables that these tests hold.

`pytest -n 0 tests/faults/test_clients.py --update` writes them.
"""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.faults.cases import CASES, IN_CALLS
from tests.faults.clients import CLIENTS, Asked
from tests.kit.served import Served

PAGE = Path(__file__).parents[2] / "docs" / "faults.md"
BRIEFLY = 1.5  # seconds for what never comes
Column = dict[str, str]


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
@pytest.mark.parametrize("client", CLIENTS)
def test_the_page_tells_what_clients_see(server: Served, client: str, stream: bool, update: bool) -> None:
    seen = column(server, client, stream=stream)
    name = "stream" if stream else "plain"
    if update:
        text = PAGE.read_text()
        PAGE.write_text(told(text, name, {**columns(text, name), client: seen}))
    assert columns(PAGE.read_text(), name)[client] == seen


def column(server: Served, client: str, *, stream: bool) -> Column:
    """What a client sees of each fault, each time on a connection that brought an intact answer before."""
    found = {}
    for case in CASES:
        prompt = "call" if case in IN_CALLS else "hello"
        with CLIENTS[client](server, stream) as ask:
            intact = ask(Asked(prompt))
            found[case] = ask(Asked(prompt, {"x-case": case}, BRIEFLY if "stall" in case else 20.0)).shown(intact)
        assert not intact.raised
    return found


def columns(page: str, name: str) -> Mapping[str, Column]:
    """The columns of a table in the page, by client."""
    found = _marked(name).search(page)
    assert found, f"docs/faults.md has no table of {name} answers"
    rows = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in found["table"].strip().splitlines()]
    if not rows:
        return {}
    (_, *clients), _, *cells = rows
    return {client: {row[0].strip("`"): row[at] for row in cells} for at, client in enumerate(clients, start=1)}


def told(page: str, name: str, seen: Mapping[str, Column]) -> str:
    """The page with this table in the place of the one before it."""
    clients = [client for client in CLIENTS if client in seen]
    rows = [["fault", *clients], ["---"] * (len(clients) + 1)]
    rows += [[f"`{case}`", *(seen[client].get(case, "?") for client in clients)] for case in CASES]
    table = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    return _marked(name).sub(lambda found: f"{found['mark']}\n\n{table}\n\n", page)


def _marked(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?P<mark><!-- seen: {name} -->)\n(?P<table>.*?)(?=<!-- end -->)", re.DOTALL)


def test_an_old_table_is_noticed() -> None:
    seen = {client: dict.fromkeys(CASES, "x") for client in CLIENTS}
    page = told("<!-- seen: plain -->\n<!-- end -->", "plain", seen)
    assert columns(page, "plain") == seen
    assert columns(page.replace("x", "y"), "plain") != columns(page, "plain")
