"""A budget of calls: it ends the run of a program that asks the same again and again, and says what repeats."""

from collections import Counter

from msgspec import Struct, field

from mockserver.core.plan import Answer, Failure, Plan, ToolUse
from mockserver.core.text import plural, truncate

MAX_CALLS = 50  # unless more are allowed
BUDGET = "budget"  # the source of the answer to a call beyond them


class CallBudget(Struct):
    """How many calls a run may make, how many it has `spent` on which answers; `refused` are those beyond.

    `run` is the word for what makes them.
    """

    limit: int = MAX_CALLS
    run: str = "run"
    spent: int = 0
    refused: int = 0
    answers: Counter[str] = field(default_factory=Counter)
    usual: str = ""  # what has answered most of them

    def spend(self, plan: Plan) -> Plan:
        """Count the call that a plan answers, and return the plan; beyond the limit, one that ends the run."""
        if plan.is_service:
            return plan
        if self.spent >= self.limit:
            self.refused += 1
            return Plan(Failure("bad_parameter", self.explain(), headers=_FINAL), BUDGET)
        self.spent += 1
        answer = _describe_plan(plan)
        self.answers[answer] += 1
        if self.answers[answer] > self.answers[self.usual]:
            self.usual = answer
        return plan

    def explain(self) -> str:
        """Say that the budget is used up, and what answered most of the calls."""
        said = f"This {self.run} has reached its limit of {plural(self.limit, 'call')}"
        count = self.answers[self.usual]
        if count < 2:
            return f"{said}."
        loops = self.usual.endswith(")")
        advice = " Put a rule with tool_result before it, so that the result of the tool is answered." if loops else ""
        return f"{said}: {self.usual} answered {count} of them.{advice}"


_FINAL = (("x-should-retry", "false"),)
_MOST_SHOWN = 120  # characters of arguments


def _describe_plan(plan: Plan) -> str:
    outcome = plan.outcome
    parts = [part for choice in outcome.choices for part in choice.parts] if isinstance(outcome, Answer) else []
    used = [
        f"{part.call.name}({truncate(part.call.arguments, _MOST_SHOWN)})" for part in parts if isinstance(part, ToolUse)
    ]
    return f"{plan.source} with {' and '.join(used)}" if used else plan.source
