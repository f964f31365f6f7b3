import pytest

from mockserver.config.source import Document, Mistakes, read
from mockserver.rules.answer.context import CompileContext
from mockserver.rules.templates import Templates

TEXT = "rules:\n  - then:\n      text: |\n        one\n        two\n      model: x\n"


def at(*path):
    return CompileContext(Mistakes(read(TEXT, "r.yaml")), Templates(), "a rule", ("rules", 0)).at(*path)


def test_a_site_below_another():
    there = at("then").at("text")
    assert there.path == ("rules", 0, "then", "text")
    assert there.label == "then/text"
    assert there.rule == "a rule"


def test_the_path_inside_then():
    assert at("then", "one_of", 0, "then", "steps", 2).inside == "one_of[0].steps[2]"
    assert at("then").inside == ""


def test_moving_a_rule_changes_no_label():
    moved = CompileContext(Mistakes(read(TEXT, "r.yaml")), Templates(), "a rule", ("rules", 7, "then", "text"))
    assert moved.label == at("then", "text").label


def test_complaints_stand_where_they_belong():
    there = at("then", "model")
    there.refuse("value")
    there.refuse_key("key")
    at("then", "text")
    places = [(m.message, m.place.line, m.place.column) for m in there.mistakes.found]
    assert places == [("value", 6, 14), ("key", 6, 7)]


def test_complaints_about_a_line_of_a_block():
    there = at("then", "text")
    there.refuse_line("here", 2)
    assert [(m.place.line, m.place.text) for m in there.mistakes.found] == [(5, "        two")]


@pytest.mark.parametrize(
    ("key", "line", "called"), [("text", 1, "r.yaml:4"), ("text", 2, "r.yaml:5"), ("model", 3, "r.yaml:6")]
)
def test_how_lines_are_called(key, line, called):
    assert at("then", key).where()(line) == called


def test_without_a_file_the_rule_is_named():
    there = CompileContext(Mistakes(Document.of({}, "<test>")), Templates(), "a rule", ("rules", 0))
    assert there.where()(3) == "<test> a rule"


def test_text_may_be_a_template():
    assert at("then", "text").text("plain").known == ("plain",)
    assert not at("then", "text").text("{{ last_user }}").known
