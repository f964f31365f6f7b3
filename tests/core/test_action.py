"""Actions are told apart by type and compared by value."""

from typing import assert_never

from mockserver.core.action import Action, Head, Wait, Write


def told(action: Action) -> str:
    match action:
        case Head(status, headers):
            return f"{status} {dict(headers)}"
        case Write(data):
            return data.decode()
        case Wait(seconds):
            return f"{seconds} s"
        case _:
            assert_never(action)


def test_actions_are_values() -> None:
    script: tuple[Action, ...] = (Head(200, (("a", "b"),)), Write(b"data"), Wait(0.5))
    assert list(map(told, script)) == ["200 {'a': 'b'}", "data", "0.5 s"]
    assert script == (Head(200, (("a", "b"),)), Write(b"data"), Wait(0.5))
    assert len(set(script)) == 3
