# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Entry point of `python -m ansible_collections.winkube.node.plugins.plugin_utils.lint`."""

from __future__ import annotations

import os
import sys

# As a shell reports programs ended by a signal: 128 plus the signal's number.
INTERRUPTED, READER_GONE = 130, 141


OLDEST_PYTHON = (3, 10)


def run() -> int:
    """Run the command; its exit status."""
    # Older Pythons must be able to parse this file, and only this one.
    if sys.version_info[:2] < OLDEST_PYTHON:
        sys.stderr.write("workload-lint: it needs Python 3.10 or later, and this is an older one.\n")
        return 2
    try:
        # Imported late: a quick Ctrl-C may come during the import.
        from .cli import main

        status = main(sys.argv[1:])
        sys.stdout.flush()
    except KeyboardInterrupt:
        sys.stderr.write("workload-lint: interrupted.\n")
        return INTERRUPTED
    except BrokenPipeError:
        # `| head` has seen enough. Without this, Python complains again when it closes standard output.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_GONE
    return status


if __name__ == "__main__":
    sys.exit(run())
