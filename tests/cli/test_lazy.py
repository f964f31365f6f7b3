"""Groups import a command when it is called, and say what was meant."""

import pytest

from tests.kit.program import run


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["cassette", "lst"], 'mockserver: no command "lst"; did you mean "list"?\n'),
        (
            ["cassette", "zzz"],
            'mockserver: no command "zzz"; there are list, show, verify, scrub, rules, import, export, prune\n',
        ),
    ],
)
def test_a_command_that_is_not_there(arguments: list[str], message: str) -> None:
    ran = run(*arguments)
    assert (ran.code, ran.out, ran.err) == (2, "", message)


@pytest.mark.parametrize("name", ["list", "show", "verify", "scrub", "rules", "import", "export", "prune"])
def test_every_command_explains_itself(name: str) -> None:
    ran = run("cassette", name, "--help")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"Usage: mockserver cassette {name}")
    assert "--cassettes" in ran.out
    assert name in run("cassette", "--help").out
