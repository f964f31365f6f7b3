"""Rules of which some were used, as the reports of coverage see them."""

from mockserver.core.exchange import Exchange
from mockserver.core.plan import Plan, Rendered
from mockserver.reports.coverage import Coverage, Watch
from tests.kit.rules import loaded

RULES = """\
rules:
  - name: weather
    then:
      one_of:
        - {weight: 3, then: {text: Sunny}}
        - {weight: 1, then: {text: "Rain <b>"}}

  # what follows is
  #   about talks
  - when: {last_user: "*talk*"}
    then:
      steps:
        - text: One moment.
        - text: |
            Here
          faults:
            - cut: {after_tokens: 3}
    # once
    times: 1
  - then: {steps: [{text: a}, {text: b}]}
"""
FILE = "/project/tests/rules.yaml"


def exchange(source: str, *through: str, modified_by: tuple[str, ...] = ()) -> Exchange:
    """One that is over."""
    row = Exchange(1, "POST", "/v1/chat/completions", "openai", "default")
    row.plan = Plan(Rendered(), source, modified_by=modified_by, trace=tuple(f"{source}: {path}" for path in through))
    return row


def watched() -> Watch:
    """Two rules were used, one of them of a test."""
    watch = Watch()
    watch.add_rules(loaded(RULES, FILE))
    watch.add_rules(loaded("rules:\n  - {name: mine, then: {text: a}}\n", "/project/test_app.py"), declared=True)
    watch.record(exchange(f"rule {FILE}:10", "steps[0]"))
    watch.record(exchange(f"rule {FILE}:10", "steps[1]", "steps[1].faults[0]"))
    watch.record(exchange(f"rule {FILE}:20", "steps[1]"))
    watch.record(exchange("generated", modified_by=("rule /project/test_app.py:2 mine",)))
    return watch


def covered() -> Coverage:
    """What that comes to."""
    return watched().coverage("/project")
