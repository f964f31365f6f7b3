"""Tables."""

import csv
import io

from mockserver.core.seed import Seed
from mockserver.model.forms.lists import table, tabled
from mockserver.model.forms.prompt import Asked
from mockserver.model.prose.topic import topic


def made(text: str) -> list[str]:
    return (tabled(Asked(text, "", topic(text)), Seed(0).stream("x")) or "").split("\n")


def test_tables() -> None:
    assert made("Create a markdown table with columns name, price and stock")[0] == "| Name | Price | Stock |"
    assert made("Compare cats and dogs in a table")[:2] == ["| Aspect | Cats | Dogs |", "| --- | --- | --- |"]
    assert len(made("Make a table of tea with 7 rows")) == 9
    assert made("Book a table for two") == [""]
    assert made("Set the table") == [""]


def test_cells_suit_their_columns() -> None:
    _, _, *rows = made("Create a table with columns: id, age, email and 4 rows")
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    assert [row[0] for row in cells] == ["1", "2", "3", "4"]
    assert all(18 <= int(row[1]) <= 80 and row[2].endswith("@example.com") for row in cells)


def test_commas() -> None:
    head, *rows = csv.reader(io.StringIO("\n".join(made("Generate a CSV with columns id, name, address and 3 rows"))))
    assert head == ["id", "name", "address"]
    assert [len(row) for row in rows] == [3, 3, 3]
    assert made("Read the CSV") == [""]


def test_table() -> None:
    assert table(["A", "B"], [["1", "2"]]) == "| A | B |\n| --- | --- |\n| 1 | 2 |"
