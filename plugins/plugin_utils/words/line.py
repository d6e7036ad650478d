# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One record as structure: who speaks, what it was doing, on what, and the chain of reasons down to the innermost.

    line = parse('E0512 12:00:01.1 7 operation_generator.go:335] "MountVolume.MountDevice failed" err="..."')
    line.program, line.operation, line.object, line.innermost.code

Go wraps errors as `outer: inner`, so the chain is cut at its colons; the innermost reason that has a code says most.
Forms: klog, logrus, logfmt, JSON, events of describe, PowerShell's error records, panics, Calico's and Azure's logs.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property

from ..facts.codes import meaning, names, of_hcs
from ..facts.message_places import CODES, GROUPS, OBJECTS, OPERATIONS, OTHERWISE, SPEAKERS, SPOKEN
from ..facts.windows_codes import TEXTS
from ..foreign.values import load_json
from .carried import DATE, LEVEL, LEVELS
from .records import AGE, plain
from .scan import Scanner

_KLOG = re.compile(r"^([IWEFN])\d{4} \d\d:\d\d:\d\d(?:\.\d+)?\s+\d+ ([\w./-]+\.go): ?\d+\] ?(.*)$", re.S)
_FILE = re.compile(r"\b([\w-]{1,80}\.go): ?\d+[\])]")
_FIELD = re.compile(r'(\w[\w.-]{0,80})=("(?:[^"\\]|\\.)*"|\S+)')
_EVENT = re.compile(
    r"^\s*(?:\d\S*\s+)?(Normal|Warning)\s+(\w+)\s+(?:\S+ \(x\d+ over \S+\)|<\w+>|\d\S*)\s+"
    r"([a-z][\w.-]*)(?:, \S+)?\s+(.*)$",
    re.S,
)
_ROW = re.compile(
    rf"^(?:[\w-]+\s+)?(?:{AGE}|<unknown>)\s+(Normal|Warning)\s+(\w+)\s+([a-z]+/[\w.:-]+)\s+(.*)$",
    re.S,
)
"""An event in the table of `kubectl get events`."""
_WINDOWS_ROW = re.compile(
    rf"^(?:\"?\d+[\",\s]+)?(?:{DATE}|\d{{4}}-\d\d-\d\d[T ]\S+|[A-Z][a-z]{{2}} +\d{{1,2}} \d\d:\d\d)[\",;\s]+"
    rf"(?:\d+\s+)?({LEVEL})\b[\",;\s]+(.*)$",
    re.S,
)
"""An event of Windows: Get-WinEvent's and Get-EventLog's table, or a line of their CSV."""
_WINDOWS_EXPORT = re.compile(rf"^\"?({LEVEL})[\",;\s]{{1,3}}{DATE}[\",;\s]{{1,3}}(.*)$", re.S)
"""The same, as the Event Viewer exports it."""
_WINDOWS_PLAIN = re.compile(rf"^{DATE}\s+(.*)$", re.S)
_SERVICE = re.compile(r"\bThe ([\w-]+) service\b|^([\w.-]+)\s{2,}\d+\s")
"""Of which service the service manager speaks, or the source in Get-EventLog's table."""
_POWERSHELL = re.compile(r"\+ CategoryInfo\s*:.*?\+ FullyQualifiedErrorId\s*:\s*(.+?)(?:,([\w-]+))?\s*$", re.S)
_CALICO = re.compile(r"^\d{4}-\d\d-\d\d [\d:.]+ \[(\w+)\]\[\d+\] (\S+) \d+: (.*)$", re.S)
_JOURNAL = re.compile(r"^(?:\w{3} +\d+ [\d:]+ \S+ )?([a-z][\w-]*)(?:\.exe)?\[\d+\]: (.*)$", re.S)
_ZAP = re.compile(r"^\d{4}-\d\d-\d\d\S*\s+(INFO|WARN|ERROR|FATAL|DEBUG|info|warn|error)\s+(\S+)\s+(.*)$", re.S)
_TERMINAL = re.compile(r"^(DEBU|INFO|WARN|ERRO|FATA)\[[^\]]*\] ?(.*)$", re.S)
_ERROR = re.compile(r"^(?:[Ee]rror|[Ff]atal|ERRO|FATA|\w*(?:Exception|Error)): ?(.*)$", re.S)
_FAILURE = re.compile(
    r"\b(?:could not|cannot|can't|couldn't|unable to|fail(?:s|ed|ure)?|errors?|invalid|unsupported|"
    r"not (?:found|supported|a|allowed|registered|valid|exist)|timeout|timed out|denied|refused|forbidden|missing|"
    r"panicked|unexpected|expected|required|unknown|no such|did not|conflict)\b(?!=)",
    re.IGNORECASE,
)
"""What has a value, as in timeout=1s, is a setting."""
_PANIC = re.compile(r"^panic: |Observed a panic|^fatal error: |goroutine \d+ \[running\]|runtime\.gopanic")
_WITH_ERROR = re.compile(
    r'"?(.*?)"? err="?(.+?)"?(?: (?:pod|podUID|containerName|node|volume\w*|sandboxID|image)=.*)?$', re.S
)
_WEAK = {("exit", "1"), ("exit", "2"), ("exit", "255"), ("grpc", "Unknown"), ("grpc", "Internal")}
_SCANNER = Scanner(
    *((pattern.pattern for pattern, _who, _doing in table) for table in (OPERATIONS, OTHERWISE)),
    (f"(?i:{text})" for text in TEXTS.values()),
    flags=0,
)
_OF_NODE = frozenset((*SPEAKERS.values(), "containerd"))
_PROGRAM = re.compile(
    r"(?:^|[\\/\s])(docker|dockerd|ctr|nerdctl|crictl|kubectl|helm|kubeadm|kubelet|kube-proxy|containerd|flanneld|"
    r"csi-proxy|rancher|rke2|k3s|minikube|wins|nssm|eksctl|calico|antrea-agent|azure-vnet|cloudbase-init)(?:\.exe)?"
    r"(?:: |\[| )"
)
_CMDLET = re.compile(r"^[A-Z]\w+-[A-Z]\w+ : ")
_ERRORS = ("error", "err", "desc")
_WARNS = {"warning", "warn"}
_INFORMS = {"info", "information", "informational", "notice"}
_WITHIN = re.compile(r"\b[EF]\d{4} \d\d:\d\d|type: 'Warning'|level=(?:error|fatal)|\berr(?:or)?=")
"""An error that a line of information quotes."""
_FAILS = re.compile(
    r"\b(?:not|no|never|exceed\w*|full|warning|fatal)\b|(?:Failed|Error|BackOff|Exception|Exceeded)\b|"
    r"\b(?:Failed|Err)[A-Z]",
    re.IGNORECASE,
)
_STAMP = re.compile(r"\W?\d{4}[-/]\d\d[-/]\d\d[T ]|\d{1,2}/\d{1,2}/\d{4} ")
_NONE = {"<nil>", "nil"}
"""As Go prints an error that there was not."""
_GOES_ON = re.compile(r"\b(?:ignoring|skipping|continuing|proceeding|recreating)(?: \w+)?[.\")]*$", re.IGNORECASE)
"""So a record ends whose program goes on without what it misses."""
_LEVELS = {
    "I": "info",
    "W": "warning",
    "E": "error",
    "F": "fatal",
    "N": "info",
    "DEBU": "debug",
    "INFO": "info",
    "WARN": "warning",
    "ERRO": "error",
    "FATA": "fatal",
}
"""As klog writes them, and logrus to a terminal."""


@dataclass(frozen=True, slots=True)
class Reason:
    """`kind` is the family of the code (windows, hcn, hcs, gcn, grpc, errno, x509, net, http, exit), empty without one;
    `code` as it stands in that family; `text` what the line itself says, or what the code means; `form` the code as the
    line has it, where that is another."""

    kind: str
    code: str
    text: str
    form: str = ""

    @property
    def weak(self) -> bool:
        """Whether it says only that something failed."""
        return (self.kind, self.code) in _WEAK

    def __str__(self) -> str:
        name = {"windows": "Windows", "hcn": "HNS", "gcn": "HNS", "hcs": "HCS", "grpc": "gRPC", "http": "HTTP"}
        said = f"{name.get(self.kind, self.kind)} {self.code}".strip() + (f" ({self.form})" if self.form else "")
        return f"{said}, {self.text}" if said and self.text else said or self.text


@dataclass(frozen=True)
class Line:
    """`form` is how it was printed; `chain` the reasons, outermost first; `raw` the record as it was read."""

    raw: str
    form: str
    program: str
    level: str
    chain: tuple[str, ...]

    @property
    def message(self) -> str:
        return ": ".join(self.chain)

    @cached_property
    def operation(self) -> str:
        """What was being done, in words."""
        return self._place[1]

    @cached_property
    def _spoken(self) -> list[list[int]]:
        """Which of OPERATIONS and of OTHERWISE it has."""
        return _SCANNER.list_fits(self.raw)

    @cached_property
    def _done(self) -> tuple[tuple[str, str], ...]:
        """Who does what, of all operations whose words it has."""
        return tuple(OPERATIONS[each][1:] for each in self._spoken[0])

    @cached_property
    def _place(self) -> tuple[str, str]:
        return next(iter(self._done), next((OTHERWISE[each][1:] for each in self._spoken[1]), ("", "")))

    @cached_property
    def operations(self) -> frozenset[str]:
        """All that the line speaks of, and their groups."""
        done = {self.operation, *(doing for _who, doing in self._done)} - {""}
        if (self.program in _OF_NODE or self.form == "panic") and not self._done:
            done.add(SPOKEN)
        return frozenset(done.union(*(groups_of(each) for each in done)))

    @cached_property
    def speaker(self) -> str:
        """The program whose file the line names, else the one that does such a thing, else the one it begins with."""
        return self.program or self._place[0] or _find_program(self.raw)

    @cached_property
    def object(self) -> str:
        """What it was done on."""
        for pattern, words in OBJECTS:
            if found := pattern.search(self.raw):
                return words.format(next(each for each in found.groups() if each).strip("\"'"))
        return ""

    @cached_property
    def innermost(self) -> Reason:
        """The last reason that has a code that says something, else the last one with any, else the last words."""
        found = [each for part in (*reversed(self.chain), self.raw) if (each := reason(part))]
        if found:
            return next((each for each in found if not each.weak), found[0])
        last = next((each.strip() for each in reversed(self.chain) if len(each.strip()) > 3), "")
        return Reason("", "", last[:160])

    @property
    def informs(self) -> bool:
        """Whether its program says that it is no fault."""
        return self.level in _INFORMS and _WITHIN.search(self.raw) is None

    @property
    def known(self) -> bool:
        """Whether it has a code, its program says that it failed, or it has a word of a failure at a known place. What
        has none of these is prose or progress, whatever it speaks of."""
        if self.innermost.kind:
            return True
        if self._goes_on:
            return False
        # An event of Kubernetes is normal or a warning
        if self.level in {"error", "fatal"} or (self.form == "event" and self.level in _WARNS):
            return True
        words = _FAILURE if self.level in _WARNS else _FAILS
        return words.search(self.raw) is not None and bool(self.operation or self.object)

    @property
    def asked(self) -> bool:
        """Whether it says something to a person who pastes it alone: a warning does, and whatever a log says at a known
        place."""
        if self.known or self._goes_on:
            return self.known
        logged = self.form != "text" or _STAMP.match(self.raw) is not None
        return self.level in _WARNS or (logged and bool(self.operation or self.object))

    @property
    def _goes_on(self) -> bool:
        return self.innermost.text in _NONE or _GOES_ON.search(self.raw) is not None


@cache
def groups_of(operation: str) -> frozenset[str]:
    """The groups that an operation is one of."""
    return frozenset(name for name, words in GROUPS if words.search(operation))


def parse(record: str) -> Line:
    """Any text has a structure, if only its chain."""
    said = plain(record).strip()
    form, program, level, message = _form(said)
    return Line(said, form, program or _speaker(said), level, _chain(message))


def _chain(message: str) -> tuple[str, ...]:
    """The message cut at its colons, but for those within quotes or brackets, where these are even."""
    parts = message.split(": ")
    if message.count('"') % 2:
        return tuple(each for each in parts if each)
    bracketed = message.count("(") == message.count(")")
    found: list[str] = []
    quoted, depth = False, 0
    for part in parts:
        if quoted or (bracketed and depth > 0):
            found[-1] += f": {part}"
        else:
            found.append(part)
        quoted ^= part.count('"') % 2 == 1
        depth += part.count("(") - part.count(")")
    return tuple(each for each in found if each)


def _form(said: str) -> tuple[str, str, str, str]:
    """Form, program, level and message."""
    if found := _KLOG.match(said):
        level, file, rest = found.groups()
        return "klog", SPEAKERS.get(file.rpartition("/")[2], ""), _LEVELS[level], _with_error(rest)
    if said.startswith("{"):
        try:
            given = load_json(said)
        except ValueError:
            given = None
        if isinstance(given, dict):
            return "json", str(given.get("component") or given.get("logger") or ""), *_level_and_text(given)
    if found := _CALICO.match(said):
        return "calico", "calico", found[1].lower(), found[3]
    if found := _EVENT.match(said):
        level = "info" if found[1] == "Normal" else "warning"
        return "event", found[3].removeprefix("default-"), level, found[4]
    if found := _ROW.match(said):
        return "event", "", "info" if found[1] == "Normal" else "warning", found[4]
    if found := _WINDOWS_ROW.match(said) or _WINDOWS_EXPORT.match(said):
        return "windows", _service(found[2]), LEVELS[found[1]], found[2]
    if found := _WINDOWS_PLAIN.match(said):
        return "windows", _service(found[1]), "error" if _FAILURE.search(said) else "", found[1]
    if found := _POWERSHELL.search(said):
        message = said[: found.start()].partition(" At ")[0].rstrip()
        return "powershell", "", "error", f"{message}: {found[1].strip()}"
    if found := _JOURNAL.match(said):
        _inner, _who, level, message = _form(found[2])
        return "journal", found[1], level, message
    if re.match(r"(?:time|level|ts)=", said):
        fields = {key: value.strip('"') for key, value in _FIELD.findall(said)}
        return "logfmt", "", *_level_and_text(fields)
    if found := _ZAP.match(said):
        return "zap", found[2].partition(".")[0], found[1].lower(), found[3]
    if found := _TERMINAL.match(said):
        return "logrus", "", _LEVELS[found[1]], found[2]
    if found := _ERROR.match(said):
        return "text", "", "error", _with_error(found[1])
    if _PANIC.search(said):
        return "panic", "", "fatal", said
    return "text", "", "error" if _FAILURE.search(said) else "", _with_error(said)


def _level_and_text(fields: Mapping[str, object]) -> tuple[str, str]:
    message = str(fields.get("msg") or fields.get("message") or "")
    error = next((str(fields[each]) for each in _ERRORS if fields.get(each)), "")
    return str(fields.get("level") or "").lower(), f"{message}: {error}" if error and error not in message else message


def _with_error(text: str) -> str:
    """klog's `"message" err="..." key="..."` as a chain; err is quoted without regard to quotes inside of it here."""
    found = _WITH_ERROR.match(text)
    return f"{found[1]}: {found[2]}" if found else text


def _speaker(said: str) -> str:
    found = _FILE.search(said[:300])
    return SPEAKERS.get(found[1], "") if found else ""


def _service(said: str) -> str:
    found = _SERVICE.search(said)
    return found[1] or found[2] if found else _find_program(said)


def _find_program(said: str) -> str:
    """The program that a line begins with, as a shell or a command line has it."""
    if _CMDLET.match(said):
        return "PowerShell"
    found = _PROGRAM.search(said[:80])
    return found[1] if found else ""


def reason(text: str) -> Reason | None:
    """The code in a text, in whatever form, that says most; of several of one form the last one."""
    weak = None
    for pattern, kind in CODES:
        found = deque(pattern.finditer(text), maxlen=1)
        if found:
            one = _read_code(kind, found[0], text)
            if not one.weak:
                return one
            weak = weak or one
    windows = _SCANNER.list_fits(text)[2]
    return windows_reason(tuple(TEXTS)[windows[0]]) if windows else weak


def _read_code(kind: str, found: re.Match[str], text: str) -> Reason:
    code = next((each for each in found.groups() if each), found.group())
    if kind in {"hresult", "windows", "hex"}:
        return windows_reason(int(code, 16 if kind == "hex" or "x" in code else 10) & 0xFFFFFFFF, text)
    return Reason(kind, "" if kind in {"x509", "net"} else code, "" if kind in {"exit", "http"} else found.group())


_NAMES = re.compile(r"(?:ERROR|STATUS|HCN|HCS|GCN|RPC|EPT)_|WSAE")
_NTSTATUS = 0x10000000
"""Of an NTSTATUS as HRESULT. Source: learn.microsoft.com, HRESULT_FROM_NT."""
_FAMILIES = {0x803B: "hcn", 0x8037: "hcs"}


def windows_reason(code: int, text: str = "") -> Reason:
    """A Win32 code, or an HRESULT, which may wrap one. HCS' are HRESULTs, however hcsshim prints them."""
    form = f"0x{code:08x}" if code >> 16 == 0x8007 or code != of_hcs(code) else ""
    code = of_hcs(code & 0xFFFF if code >> 16 == 0x8007 else code)
    if code >> 28 == 0xD:
        code &= ~_NTSTATUS
    family = _FAMILIES.get(code >> 16, "windows")
    meant = meaning(code) or next((each for each in names(code) if _NAMES.match(each)), "")
    number = str(code) if code < 0x10000 else f"0x{code:08x}"
    return Reason(family, number, meant or text.strip()[:120], form)
