"""Compare what requests and start-up cost with the last release: `make bench-check`, before a release.

`released.json` holds the ratios of the last release. More than a tenth above one of them fails. `--write` measures and
replaces them; run it on a machine without other work.
"""

import json
import sys
from pathlib import Path

from costs import costs
from startup import startup

RELEASED = Path(__file__).with_name("released.json")
ALLOWED = 1.10


def main() -> int:
    found = {name: round(ratio, 3) for ask in (costs, startup) for name, ratio in ask().items()}
    if "--write" in sys.argv[1:]:
        RELEASED.write_text(json.dumps(found, indent=1) + "\n")
        return 0
    known = json.loads(RELEASED.read_text())
    worse = {name: ratio for name, ratio in found.items() if ratio > ALLOWED * known.get(name, ratio)}
    for name, ratio in found.items():
        print(f"{name:<60} {known.get(name, ratio):7.2f} {ratio:7.2f} {'WORSE' * (name in worse)}")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
