"""Which of the roles that a prompt lists is next."""

import pytest

from mockserver.core.call import Message
from mockserver.model.listed_options import choose_speaker
from tests.kit.calls import call

ORDER = "Then select the next role from ['planner', 'coder', 'reviewer'] to play. Only return the role."
ROLES = "The following roles are available:\nplanner: Plans the work.\ncoder: Writes code.\nreviewer: Reviews code.\n"


def chosen(transcript: str) -> str | None:
    return choose_speaker(call(Message("system", f"{ROLES}{ORDER}\n\n{transcript}\n\n{ORDER}")))


@pytest.mark.parametrize(
    ("transcript", "role"),
    [
        ("user: Please review main.py", "reviewer"),
        ("user: Hello", "planner"),
        ("user: Build a game\nplanner: Here is a plan.", "coder"),
        ("user: Build a game\nplanner: This is for the reviewer.", "reviewer"),
        ("user: Build a game\nplanner: A plan.\ncoder: The code.\nreviewer: Fine.", "planner"),
    ],
)
def test_who_is_next(transcript: str, role: str) -> None:
    assert chosen(transcript) == role


def test_all_get_their_turn() -> None:
    transcript, roles = "user: Build a game", list[str]()
    for _ in range(6):
        roles.append(str(chosen(transcript)))
        transcript += f"\n{roles[-1]}: Here it is."
    assert roles == ["planner", "coder", "reviewer"] * 2


def test_a_conversation_of_named_messages() -> None:
    said = [Message("user", "Build a game", name="user"), Message("user", "A plan.", name="planner")]
    assert choose_speaker(call(Message("system", ROLES), *said, Message("system", ORDER))) == "coder"


def test_the_end_once_all_have_spoken() -> None:
    order = "Who speaks next? Choose one of: writer, critic, FINISH."
    assert choose_speaker(call(f"user: Go\nwriter: A poem.\ncritic: Good.\n\n{order}")) == "FINISH"


def test_roles_on_lines_of_their_own() -> None:
    order = "Choose only from these participants:\n- Reviewer\n- Writer\n\nHistory:\nuser: Go\nWriter: A slogan."
    assert choose_speaker(call(order)) == "Reviewer"


def test_other_choices_are_no_roles() -> None:
    assert choose_speaker(call("Classify this as one of: good, bad.")) is None
    assert choose_speaker(call("Which agent is the best?")) is None
