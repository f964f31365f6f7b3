"""Has the model without weights write answers, within the work that a request may cost."""

import asyncio
from collections.abc import Mapping
from itertools import cycle, islice

from mockserver.core.call import Call
from mockserver.core.draft import ArtifactDraft, Draft, DraftChoice, Generate
from mockserver.core.json import Json
from mockserver.core.seed import Seed
from mockserver.engine.offload import is_demanding, on_thread
from mockserver.kinds import ARTIFACTS
from mockserver.model import GENERATORS
from mockserver.model.budget import STEPS, AnswerWork, RequestWork


async def generate_draft(call: Call, seed: Seed, work: RequestWork | None = None) -> Draft | ArtifactDraft:
    """Generate an answer; other requests run between two choices. `work` is that of a request with many parts."""
    if call.operation in ARTIFACTS:
        return ArtifactDraft()
    choices: list[DraftChoice] = []
    n = call.options.n
    different = n
    if n > _FEWEST_CHOICES:  # fewer different ones for a large request, which bounds its time
        different = min(n, max(_FEWEST_CHOICES, _MAX_READ // (len(call.http.body) + 1)))
    budget = AnswerWork(work)
    generate = make_generator(call, seed, budget)
    demands = is_demanding(call) or not GENERATORS.is_imported("auto")  # an import must not keep others waiting
    for index in range(different):
        if index:
            await asyncio.sleep(0)
            if budget.spent > STEPS or budget.request.is_scarce:
                break
        choices.append(await on_thread(generate, "auto", {}, index) if demands else generate("auto", {}, index))
    return Draft(tuple(islice(cycle(choices), n)))


def make_generator(call: Call, seed: Seed, budget: AnswerWork | None = None) -> Generate:
    """Return the generators for a call; each choice has its own seed."""
    budget = budget or AnswerWork()

    def generate(kind: str, options: Mapping[str, Json], index: int) -> DraftChoice:
        with budget:
            own = seed.branch("generate", call.content_fingerprint, str(index))
            return GENERATORS[kind](call, own, options)

    return generate


_FEWEST_CHOICES = 8  # choices that differ, however large the request is
_MAX_READ = 1_000_000  # bytes read, over all choices
