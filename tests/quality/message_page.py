"""docs/messages.md: what may be wrong by symptom, with the words that programs print, from the tables in the code.

The tables have patterns, which are for a program. Here each is told in words: the pieces of text that it looks for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain
from re import _constants as code
from re import _parser as parser
from typing import Any

from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.table import KNOWN
from ansible_collections.winkube.node.plugins.plugin_utils.facts import windows_codes
from ansible_collections.winkube.node.plugins.plugin_utils.facts.message import Message, Rule
from ansible_collections.winkube.node.plugins.plugin_utils.words.precedence import KINDS

from tests.quality.page_text import as_text

SYMPTOMS = {
    "The Node is not Ready": ("node", "kubelet"),
    "A program of the node does not start, or Windows is in its way": ("start", "services", "host"),
    "The machine does not join the cluster": ("join",),
    "The API server is not reached, or refuses": ("cluster",),
    "An image is not pulled, or does not run on this Windows": ("image",),
    "A pod or container does not start, ends, or does not answer": ("pod", "container"),
    "A volume is not mounted": ("volume",),
    "A pod has no Windows identity (gMSA)": ("gmsa",),
    "Pods have no network, or Services are not reached": (
        *("hns", "cni", "calico", "flannel", "kube-proxy", "traffic"),
    ),
}
"""What is seen -> the first parts of the ids of its causes."""
MENDED, ADVISED = "diagnose.md#what-one-command-fixes", "diagnose.md#what-you-fix-by-hand"
"""Where the remedy of a cause stands, by its id."""
_MOST = 2
"""So many texts of a cause are shown."""
_WAYS = 4
"""So many readings of one pattern are looked at."""
ENDS = re.compile(r"\[What to do\]\([^)]*\): `([^`]+)`$", re.MULTILINE)
"""The end of a cause's line, with its id."""
_SHORT = 8
"""A text with fewer letters says too little."""
_GAP = "..."
_HCS = 0x8037


def sections() -> list[str]:
    """The page's lines: a heading for each symptom, one for each cause below it. ValueError for an id of no symptom."""
    said = list_texts()
    lines: list[str] = []
    for symptom, parts in SYMPTOMS.items():
        lines += [f"## {symptom}", ""]
        own = [each for each in said if _is_of(each, parts)]
        for identity in sorted(own, key=lambda each: parts.index(each.split(".")[0])):
            lines += _cause(identity, said[identity])
    if lost := [each for each in said if not any(_is_of(each, parts) for parts in SYMPTOMS.values())]:
        raise ValueError(f"{', '.join(lost)}: of no symptom (tests/quality/message_page.py)")
    return lines[:-1]


def _is_of(identity: str, parts: Sequence[str]) -> bool:
    return identity.split(".")[0] in parts


def _cause(identity: str, texts: Sequence[str]) -> list[str]:
    """One line: what programs say, why, and where the remedy is."""
    cause = KNOWN[identity]
    said = "; ".join(f"`{each}`" for each in _most_telling(texts))
    to_do = MENDED if cause.remedy.automatic else ADVISED
    line = " ".join(
        part for part in (said and f"{said}.", as_text(cause.why), f"[What to do]({to_do}): `{identity}`") if part
    )
    return [f"### {as_text(cause.title)}", "", line, ""]


def _most_telling(texts: Sequence[str]) -> list[str]:
    """Few of the texts that have most of their words."""
    chosen: list[str] = []
    seen: set[str] = set()
    while len(chosen) < _MOST and (left := [each for each in texts if _words(each) - seen]):
        best = max(left, key=lambda each: (len(_words(each) - seen), -texts.index(each)))
        chosen.append(best)
        seen |= _words(best)
    return sorted(chosen, key=texts.index)


def _words(text: str) -> set[str]:
    return {word for word in re.findall(r"\w+", text.lower()) if len(word) > 2}


def list_texts() -> dict[str, list[str]]:
    """The texts that lead to each cause, those of rows that say the most first."""
    found: dict[str, list[str]] = {}
    for each in chain.from_iterable(KINDS):
        known = found.setdefault(each.finding, [])
        known += [text for text in told(each) if text not in known]
    return found


def told(message: Message | Rule) -> list[str]:
    """What a message looks for, in words."""
    if isinstance(message, Message):
        return readings(message.pattern)
    return [
        *(_of_code(each) for each in message.reasons if isinstance(each, int)),
        *chain.from_iterable(readings(each) for each in message.reasons if isinstance(each, str)),
    ]


def _of_code(number: int) -> str:
    """Windows' words for a code, and its forms: HCS's are printed as NTSTATUS, too."""
    forms = windows_codes.show(number)
    if number >> 16 == _HCS:
        forms += f", 0x{number | 0x4000_0000:08x}"
    elif number < 0x1_0000:
        forms += f", 0x{number:x}"
    words = next(iter(readings(windows_codes.TEXTS.get(number, ""))), "")
    return f"{words} ({forms})" if words else forms


def readings(pattern: str) -> list[str]:
    """Texts that a pattern looks for, `...` where it is open."""
    found = [re.sub(rf"\s*(?:{re.escape(_GAP)}\s*)+", f" {_GAP} ", text) for text in _ways(parser.parse(pattern))]
    texts = [" ".join(text.split()).strip(" .").replace("`", "'") for text in found]
    return [text for text in dict.fromkeys(texts) if sum(map(str.isalnum, text)) >= _SHORT]


def _ways(parsed: Any) -> list[str]:
    """Texts for a parsed pattern: of alternatives each, of what may be left out the text with it."""
    ways = [""]
    for operation, argument in parsed:
        ways = [before + after for before in ways for after in _of(operation, argument)][: 4 * _WAYS]
    return ways


def _of(operation: Any, argument: Any) -> list[str]:
    if operation is code.LITERAL:
        return [chr(argument)]
    if operation is code.IN:
        return [_of_class(argument)]
    if operation is code.BRANCH:
        return [way for branch in argument[1] for way in _ways(branch)[:_WAYS]]
    if operation is code.SUBPATTERN:
        return _ways(argument[3])
    if operation in (code.MAX_REPEAT, code.MIN_REPEAT):
        _least, most, inner = argument
        return _ways(inner) if most == 1 else _ways(inner)[:1]
    return [_GAP if operation in (code.ANY, code.CATEGORY, code.NOT_LITERAL) else ""]


def _of_class(members: Any) -> str:
    """One sign for a class of signs: a blank where it may be one, the first letter of two, else an open place."""
    first, argument = members[0]
    if first is code.LITERAL and len(members) <= 2:
        return chr(argument)
    blank = (code.CATEGORY, code.CATEGORY_SPACE) in members or (code.CATEGORY, code.CATEGORY_NOT_WORD) in members
    return " " if blank else _GAP
