"""shutdown.exe, judged by memory.

/r, /s, /a with /t, /c, /d, /f. It returns at once; the machine goes down when the time is up.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tests.lab.machine.errors import MESSAGES
from tests.lab.machine.program import Caller, Completed, Run, crlf, text

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

# Source: Microsoft, shutdown: defaults and limits of /t (0 to 315360000 s), /c (512 characters), /d [p|u:]xx:yy.
DEFAULT_S = 30
LONGEST_S = 315360000
_REASON = re.compile(r"^(?:[pu]:)?\d{1,3}:\d{1,5}$", re.IGNORECASE)


def main(node: SimulatedNode, argv: list[str], stdin: bytes, caller: Caller) -> Run:
    yield 0.1
    rest, what, seconds = argv[1:], "", DEFAULT_S
    while rest:
        option = rest.pop(0).lower().replace("-", "/", 1)
        if option in {"/r", "/s", "/a", "/g"} and not what:
            what = option
        elif option == "/t" and rest and rest[0].isdigit() and int(rest[0]) <= LONGEST_S:
            seconds = int(rest.pop(0))
        elif (option == "/c" and rest and len(rest[0]) <= 512) or (option == "/d" and rest and _REASON.match(rest[0])):
            rest.pop(0)
        elif option != "/f":
            return text(1, crlf('Usage: shutdown [/r | /s | /a] [/f] [/t xxx] [/d [p|u:]xx:yy] [/c "comment"]'))
    if not what:
        return text(0, crlf('Usage: shutdown [/r | /s | /a] [/f] [/t xxx] [/d [p|u:]xx:yy] [/c "comment"]'))
    if not caller.elevated:
        return _failed(5)
    if node.in_preshutdown:
        return _failed(1115)
    if what == "/a":
        return _abort(node)
    if node.shutdown is not None:
        return _failed(1190)
    boot_after = None if what == "/s" else round(node.random.uniform(20.0, 45.0), 1)
    node.shutdown = node.clock.call_later(seconds, lambda: node.shut_down(boot_after))
    return text(0)


def _abort(node: SimulatedNode) -> Completed:
    if node.shutdown is None:
        return _failed(1116)
    node.shutdown.cancel()
    node.shutdown = None
    return text(0)


def _failed(code: int) -> Completed:
    return text(code, "", crlf(f"{MESSAGES[code]}({code})"))
