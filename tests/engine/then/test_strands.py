from mockserver.core.call import Message
from tests.kit.calls import call
from tests.kit.rules import loaded, scope

RULES = """
rules:
  - then:
      steps:
        - text: one
        - one_of:
            - {weight: 1000000, then: {text: two}}
            - then:
                error: 500
                faults:
                  - cut: {after_tokens: 3}
                  - crlf
  - then: {faults: [stall, {slow: {}}]}
  - then: {text: hi}
"""


def test_what_a_then_can_come_to_and_where_it_stands():
    told = [[(each.path, each.place.line, each.fault) for each in rule.then.branches] for rule in loaded(RULES)]
    assert told == [
        [
            ("steps[0]", 5, ""),
            ("steps[1].one_of[0]", 7, ""),
            ("steps[1].one_of[1]", 8, ""),
            ("steps[1].one_of[1].faults[0]", 11, "cut"),
            ("steps[1].one_of[1].faults[1]", 12, "crlf"),
        ],
        [("faults[0]", 13, "stall"), ("faults[1]", 13, "slow")],
        [],
    ]


def test_answers_say_which_of_them_they_are():
    several, faulty, plain = loaded(RULES)
    second = scope(call("a", Message("assistant", "one"), "b"))
    assert several.then.respond(scope()).path == "steps[0]"
    assert several.then.respond(second).path == "steps[1].one_of[0]"
    assert [fault.path for fault in faulty.then.respond(scope()).faults] == ["faults[0]", "faults[1]"]
    assert plain.then.respond(scope()).path == ""


def test_a_template_does_too():
    (rule,) = loaded("rules: [{then: {steps: [{text: '{{ last_user }}'}]}}]")
    assert rule.then.respond(scope()).path == "steps[0]"
