"""`python -m tests.lab`: start and look at a lab of simulated Windows nodes. See tests/lab/README.md."""

from __future__ import annotations

import sys


def main() -> int:
    arguments = sys.argv[1:]
    # `connect` runs once per SSH connection, so it does not wait for the other commands to be imported.
    if arguments[:1] == ["connect"]:
        rest, directory = arguments[1:], ".lab"
        if rest[:1] == ["--dir"] and len(rest) > 1:
            rest, directory = rest[2:], rest[1]
        if len(rest) == 2 and not rest[0].startswith("-"):
            from tests.lab.server.connect import connect

            return connect(f"{directory}/lab.json", *rest)
    from tests.lab.server.cli import main as run

    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
