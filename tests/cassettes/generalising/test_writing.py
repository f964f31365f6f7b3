"""Rules are written so that they are read as what they are."""

from typing import Any

import pytest

from mockserver.cassettes.convert.rules import RuleDraft, rules_file
from mockserver.config.source import read

TEXTS = (
    *("", " ", "a", "no", "on", "1e3", "0x1f", "12:30", "~", "null", "- a", "a: b", "a #b", "'", '"', "a\nb", "a\nb\n"),
    *(
        "a\n\n",
        " a\nb",
        "a \nb",
        "\ta\nb",
        "\n",
        "\r\n",
        "a\r\nb",
        "é",
        "日本",
        "\u2028",
        "\x7f",
        "\x00",
        "😀",
        "{{ x }}",
    ),
    *("&a", "*a", "!a", "%a", "@a", "`a", "---", "a" * 500, "x\n" * 50, "?", "=", "<<"),
)


@pytest.mark.parametrize("text", TEXTS, ids=range(len(TEXTS)))
def test_every_text_is_read_as_it_is(text: str) -> None:
    rule = RuleDraft(("a.yaml#1",), {"last_user": text}, {"text": text, "parts": [{"text": text}]})
    (made,) = read(rules_file([rule]), "rules.yaml").data["rules"]
    assert (made["when"]["last_user"], made["then"]["text"], made["then"]["parts"]) == (text, text, [{"text": text}])


def test_it_reads_well() -> None:
    rules = [
        RuleDraft(("a.yaml#1", "a.yaml#2"), {"operation": "chat", "last_user": "Hi"}, {"text": "Two\nlines"}),
        RuleDraft(("a.yaml#3",), {"operation": "chat"}, {"text": "x"}, times=2),
        RuleDraft(("a.yaml#3",), {"operation": "chat"}, {"text": "y" * 120}),
    ]
    assert rules_file(rules) == (
        "version: 1\n"
        "rules:\n"
        "  - name: a.yaml#1, a.yaml#2\n"
        "    when: {operation: chat, last_user: Hi}\n"
        "    then:\n"
        "      text: |-\n"
        "        Two\n"
        "        lines\n"
        "  - name: a.yaml#3\n"
        "    when: {operation: chat}\n"
        "    times: 2\n"
        "    then: {text: x}\n"
        "  - name: a.yaml#3 (2)\n"
        "    when: {operation: chat}\n"
        "    then:\n"
        f"      text: {'y' * 120}\n"
    )


def test_numbers_and_names() -> None:
    values: Any = [1, 1.5, 1e300, True, None, [], {}]
    many = tuple(f"chat.yaml#{at}" for at in range(1, 60))
    (made,) = read(rules_file([RuleDraft(many, {"param.x": {"equals": values}}, {"text": "a"})]), "a").data["rules"]
    assert made["when"]["param.x"]["equals"] == values
    assert made["name"] == "chat.yaml#1 and 58 more"
