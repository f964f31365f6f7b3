"""The program: `mockserver`, and `python -m mockserver`."""

import sys

from mockserver.core.namesake import find_overwriting


def main() -> None:
    """Run the command line, unless another package has overwritten what it needs."""
    if (overwritten := find_overwriting()) is not None:
        print(f"mockserver: {overwritten}", file=sys.stderr)
        sys.exit(2)
    from mockserver.cli import main as run_command_line

    run_command_line()


if __name__ == "__main__":
    main()
