"""What the official clients see of each fault: these tests compare the tables in docs/reference/faults.md.

`pytest -n 0 tests/faults/test_clients.py --update` writes them.
"""

import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.faults.cases import CASES, IN_CALLS
from tests.faults.clients import CLIENTS, Asked
from tests.kit.served import Served

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "faults.md"
BRIEFLY = 0.75  # seconds to wait for a stalled answer
Column = dict[str, str]


@pytest.mark.slow
@pytest.mark.parametrize("stream", [False, True], ids=["plain", "stream"])
@pytest.mark.parametrize("client", CLIENTS)
def test_docs_show_what_clients_see(server: Served, client: str, stream: bool, update: bool) -> None:
    seen = column(server, client, stream=stream)
    name = "stream" if stream else "plain"
    if update:
        text = PAGE.read_text()
        PAGE.write_text(page_with(text, name, {**columns(text, name), client: seen}))
    assert columns(PAGE.read_text(), name)[client] == seen


def column(server: Served, client: str, *, stream: bool) -> Column:
    """Return what a client sees of each fault, on a connection that brought an intact answer before."""
    found = {}
    for case in CASES:
        prompt = "call" if case in IN_CALLS else "hello"
        with CLIENTS[client](server, stream) as ask:
            intact = ask(Asked(prompt))
            found[case] = ask(Asked(prompt, {"x-case": case}, BRIEFLY if "stall" in case else 20.0)).shown(intact)
        assert not intact.raised
    return found


def columns(page: str, name: str) -> Mapping[str, Column]:
    """Return what each client sees, from a table of the page."""
    found = _marked(name).search(page)
    assert found, f"docs/reference/faults.md has no table of {name} answers"
    seen: dict[str, Column] = {client: {} for client in CLIENTS}
    for line in found["table"].strip().splitlines()[2:]:
        cases, usual, others = (cell.strip() for cell in line.strip()[1:-1].split(" | "))
        exceptions = dict(each.split(": ", 1) for each in others.split("; ") if each)
        for client in CLIENTS:
            seen[client].update(dict.fromkeys(re.findall("`([^`]+)`", cases), exceptions.get(client, usual)))
    return seen


def page_with(page: str, name: str, seen: Mapping[str, Column]) -> str:
    """Return the page with this table: what most clients see of each fault, and those that see something else."""
    alike: dict[tuple[str, str], list[str]] = {}
    for case in CASES:
        row = {client: seen[client].get(case, "?") for client in CLIENTS}
        usual = Counter(row.values()).most_common(1)[0][0]
        others = "; ".join(f"{client}: {result}" for client, result in row.items() if result != usual)
        alike.setdefault((usual, others), []).append(f"`{case}`")
    rows = [["faults", "most clients", "others"], ["---"] * 3]
    rows += [[", ".join(cases), *result] for result, cases in alike.items()]
    table = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    return _marked(name).sub(lambda found: f"{found['mark']}\n\n{table}\n\n", page)


def _marked(name: str) -> re.Pattern[str]:
    return re.compile(rf"(?P<mark><!-- seen: {name} -->)\n(?P<table>.*?)(?=<!-- end -->)", re.DOTALL)


def test_outdated_table_is_noticed() -> None:
    seen = {client: dict.fromkeys(CASES, "x") for client in CLIENTS}
    page = page_with("<!-- seen: plain -->\n<!-- end -->", "plain", seen)
    assert columns(page, "plain") == seen
    assert columns(page.replace("x", "y"), "plain") != columns(page, "plain")
