"""The tables of docs/diagnose.md and docs/messages.md: every finding and every message, from the tables in the code."""

from __future__ import annotations

import re

from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.check import Check
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.finding import Action
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.messages import MESSAGES
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.table import CHECKS, KNOWN
from ansible_collections.winkube.node.plugins.plugin_utils.facts import messages_pasted

ISSUE = re.compile(r"\b([\w.-]+/[\w.-]+)#(\d+)")
LINK = r"[\1#\2](https://github.com/\1/issues/\2)"
DECIMAL = re.compile(r"\|\(\?<!\[0-9a-zA-Z-\]\)(?:\\-)?\d{9,}\(\?!\[0-9a-zA-Z\]\)")
"""A code's other forms in windows_codes.pattern: the page has the hexadecimal one."""
AROUND = ("(?<![0-9a-zA-Z-])", "(?![0-9a-zA-Z])")


def mended() -> list[str]:
    """The rows of what a command mends."""
    return [
        f"| `{each.id}` | {_cell(each.title)} | {_cell(each.remedy.text)} | {_cell(each.remedy.cuts_off)} |"
        for each in CHECKS
        if each.remedy.action != Action.ADVICE
    ]


def advice() -> list[str]:
    """The rows of what is for a person."""
    return [
        f"| `{each.id}` | {_cell(each.title)} | {_cell(each.remedy.text)} |"
        for each in CHECKS
        if each.remedy.action == Action.ADVICE
    ]


def messages() -> list[str]:
    """The rows of the messages, in the order in which they are tried."""
    return [
        f"| `{_readable(each.pattern)}` | {_meaning(KNOWN[each.finding])} | {_cell(KNOWN[each.finding].remedy.text)} "
        f"| {ISSUE.sub(LINK, each.source)} |"
        for each in (*messages_pasted.PARTICULAR, *MESSAGES, *messages_pasted.GENERAL)
    ]


def _meaning(check: Check) -> str:
    return f"**{_cell(check.title)}** (`{check.id}`). {_cell(check.cause)}"


def _readable(pattern: str) -> str:
    """Without what only a program needs."""
    for each in AROUND:
        pattern = DECIMAL.sub("", pattern).replace(each, "")
    # A lookbehind is for the program; `<!` in a table would also begin a declaration where the site is built.
    return re.sub(r"\(\?<[!=]\[[^]]*\]\)", "", pattern).replace("(?:", "(").replace("|", "\\|")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<host>", "HOST").replace("<", "&lt;")
