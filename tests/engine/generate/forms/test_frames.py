"""What stands around an answer."""

import pytest

from mockserver.model.forms.prompt import framed

STEPS = "Question: a question\nThought: think\nAction: one of [search]\nFinal Answer: the answer\n\nQuestion: Why?"


@pytest.mark.parametrize(
    ("order", "made"),
    [
        ("Answer inside <answer></answer> tags.", "<answer>Tea.</answer>"),
        ("Wrap your response in <out> tags", "<out>Tea.</out>"),
        ("Put your thoughts in <think> tags and write the answer within `<answer>` tags.", "<answer>Tea.</answer>"),
        (STEPS, "I now know the final answer.\nFinal Answer: Tea."),
        ("The context is in <doc> tags. <doc>x</doc>", "Tea."),
        ("Answer in uppercase: what is it?", "TEA."),
        ("Respond in all lowercase.", "tea."),
        ("What is an uppercase letter?", "Tea."),
        ("Is 3 < 4?", "Tea."),
        ("Give the final answer: tea", "Tea."),
    ],
)
def test_framed(order: str, made: str) -> None:
    assert framed("Tea.", ["", order]) == made


def test_what_has_tags_or_is_code_stays() -> None:
    assert framed("<b>Tea</b>", ["Answer in <answer> tags."]) == "<b>Tea</b>"
    assert framed("```\ntea\n```", ["Answer in <answer> tags."]) == "```\ntea\n```"


@pytest.mark.parametrize("sign", ["\n", " ", "Thought: \n", "answer in ", "<a> "])
def test_a_huge_order_is_read_in_time(sign: str) -> None:
    assert framed("Tea.", [sign * 20_000])
