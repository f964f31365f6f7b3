"""Compare what requests and start-up cost with the last release: `make bench-check`, before a release.

`released.json` holds the ratios of the last release. A ratio is one server's CPU divided by another's, so the machine
hardly matters, but nothing else may run on it. More than a tenth above one of them fails, if it is so three times: one
measurement is easily off by as much. If the new ratios are meant, `python benchmarks/compare.py --write` puts the
middle of three measurements into released.json, and `pytest tests/house/test_tables.py --update` into
docs/guides/load-tests.md.
"""

import json
import sys
from collections.abc import Mapping
from math import nan
from pathlib import Path
from statistics import median

from costs import costs
from startup import startup

RELEASED = Path(__file__).with_name("released.json")
ALLOWED = 1.10
TRIES = 3
Measured = Mapping[str, Mapping[str, float]]


def main() -> int:
    print(f"Takes two minutes, {TRIES} times at most. Nothing else should run meanwhile.", flush=True)
    if "--write" in sys.argv[1:]:
        RELEASED.write_text(json.dumps(_middle([_measured() for _ in range(TRIES)]), indent=1) + "\n")
        return 0
    known = _ratios(json.loads(RELEASED.read_text()))
    found = _ratios(_measured())
    for _ in range(1, TRIES):
        if _worse(found, known):
            found = {name: min(found[name], ratio) for name, ratio in _ratios(_measured()).items()}
    worse = _worse(found, known)
    print(f"{'CPU of one / of the other':<60} {'release':>7} {'now':>7}")
    for name, ratio in found.items():
        print(f"{name:<60} {known.get(name, nan):7.2f} {ratio:7.2f} {'WORSE' * (name in worse)}")
    if worse:
        print(f"{len(worse)} of {len(found)} are more than a tenth above the last release")
    return 1 if worse else 0


def _measured() -> Measured:
    return {ask.__name__: ask() for ask in (costs, startup)}


def _middle(runs: list[Measured]) -> Measured:
    return {
        part: {name: round(median([run[part][name] for run in runs]), 2) for name in runs[0][part]} for part in runs[0]
    }


def _ratios(measured: Measured) -> dict[str, float]:
    return {name: ratio for ratios in measured.values() for name, ratio in ratios.items() if " / " in name}


def _worse(found: Mapping[str, float], known: Mapping[str, float]) -> set[str]:
    return {name for name, ratio in found.items() if ratio > ALLOWED * known.get(name, ratio)}


if __name__ == "__main__":
    sys.exit(main())
