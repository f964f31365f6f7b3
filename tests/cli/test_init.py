"""`mockserver init` writes a file that works, and never over another."""

from pathlib import Path

from tests.kit.program import run


def test_the_starter_is_written_and_has_no_mistakes(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    ran = run("init", rules)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == f"wrote {rules}; try it: mockserver serve {rules}\n"
    assert run("check", rules).out == f"{rules}: 4 rules, no mistakes, 0 remarks\n"
    assert run("ask", "oh hello there", "-r", rules).out == "Hi! How can I help?\n"


def test_an_existing_file_stays(tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("mine")
    ran = run("init", rules)
    assert ran.code == 2
    assert ran.err == f"mockserver: {rules} exists already; choose another name: mockserver init other.yaml\n"
    assert rules.read_text() == "mine"


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    ran = run("init", tmp_path / "no" / "rules.yaml")
    assert (ran.code, ran.err) == (
        2,
        f"mockserver: {tmp_path}/no/rules.yaml: cannot be written: No such file or directory\n",
    )
