"""What content filters say of a prompt and a completion: trips, and severities without one."""

from collections.abc import Mapping

from mockserver.core.plan import DETECTIONS_OF_COMPLETION, DETECTIONS_OF_PROMPT, HARMS, Safety, Verdict
from mockserver.engine.spec.models import AnnotateSpec, FilterSpec, HarmsSpec
from mockserver.engine.then.site import Site

_OF: Mapping[str, tuple[str, ...]] = {
    "prompt": (*HARMS, *DETECTIONS_OF_PROMPT),
    "completion": (*HARMS, *DETECTIONS_OF_COMPLETION),
}


def verdicts(annotate: AnnotateSpec | None, trip: FilterSpec | None, on: str) -> Safety:
    """What filters say of the prompt or of the completion (`on`): a trip first, then what is only annotated."""
    tripped = (_tripped(trip),) if trip is not None and trip.on == on else ()
    harms: HarmsSpec | None = None if annotate is None else getattr(annotate, on)
    noted = () if harms is None else _noted(harms)
    return (*tripped, *(verdict for verdict in noted if all(verdict.category != t.category for t in tripped)))


def check_filter(trip: FilterSpec, site: Site) -> None:
    """Tell `site` of a trip that cannot be."""
    if trip.category not in _OF[trip.on]:
        other = "completion" if trip.on == "prompt" else "prompt"
        site.at("category").refuse(f'"{trip.category}" is found in the {other} only; write on: {other}')
    if trip.severity is not None and trip.category not in HARMS:
        site.at("severity").refuse_key(f'"{trip.category}" is found or not; it has no severity')
    if trip.after_tokens is not None and trip.on == "prompt":
        site.at("after_tokens").refuse_key(
            '"after_tokens" counts the completion\'s tokens; with on: prompt there is none'
        )


def _tripped(trip: FilterSpec) -> Verdict:
    if trip.category in HARMS:
        return Verdict(trip.category, trip.severity or "high", filtered=True)
    return Verdict(trip.category, filtered=True, detected=True)


def _noted(harms: HarmsSpec) -> Safety:
    said = harms.model_dump(exclude_none=True)
    return tuple(
        Verdict(category, severity) if category in HARMS else Verdict(category, detected=severity)
        for category, severity in said.items()
    )
