"""Command lines of Kubernetes' programs, judged by transcripts.

Command lines of Kubernetes' own programs: the flags that a release knows, from what real programs said to --help.

What the Windows build of that very minor said, where it was recorded. Else the recording of the newest Linux build that
is not newer, with the changes that upstream's sources say since then; flags of Linux builds left out, those of Windows
builds added (tests/recorded). Parsing is that of Go's pflag.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

RECORDED = Path(__file__).resolve().parents[2] / "recorded"
_FLAG = re.compile(r"^ +(?:-(?P<short>\w), )?--(?P<name>[a-zA-Z][\w-]*)(?: (?P<kind>\S+))?(?:  +|$)(?P<said>.*)$")
_GATE = re.compile(r"(\w+)=true\|false \((ALPHA|BETA|DEPRECATED) - default=(\w+)\)")
_DURATION = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)(.*)")
HIDDEN = {
    # Accepted and not in --help. Source: kubernetes v1.22.17 pkg/kubelet/config/flags.go, cmd/kube-proxy/app.
    "kubelet": {"experimental-dockershim-root-directory": "string"},
    "kube-proxy": {"healthz-port": "int32", "metrics-port": "int32", "proxy-port-range": "string"},
}
# Gates that --help does not show since they are GA or gone: name -> first minor, locked from, last minor. Sources:
# kubernetes pkg/features/kube_features.go; v1.38.0-beta.0 has neither WinDSR nor WinOverlay (kube-proxy's --enable-dsr
# stays).
GATES: dict[str, tuple[int, int, int]] = {
    "WinOverlay": (14, 34, 37),
    "WinDSR": (14, 34, 37),
    "IdentifyPodOS": (23, 25, 26),
    "WindowsHostNetwork": (26, 99, 99),
    "PodAndContainerStatsFromCRI": (23, 99, 99),
    "RotateKubeletServerCertificate": (7, 99, 99),
}


CLIENT_GO = frozenset(
    {
        "AtomicFIFO",
        "ClientsAllowCARotation",
        "ClientsAllowCBOR",
        "ClientsAllowTLSCacheGC",
        "ClientsPreferCBOR",
        "ContextualLogging",
        "CustomCPUCFSQuotaPeriod",
        "InOrderInformers",
        "InOrderInformersBatchProcess",
        "InformerResourceVersion",
        "LoggingAlphaOptions",
        "LoggingBetaOptions",
        "UnlockWhileProcessingFIFO",
        "WatchListClient",
    }
)
"""Gates that upstream's list leaves out, or has under the name of their constant, and --help shows. Source: client-go
features/known_features.go, component-base logs/api/v1/kube_features.go, kubernetes pkg/features/kube_features.go."""


class FlagError(Exception):
    """What pflag says of a command line."""


@dataclass(frozen=True)
class Recording:
    minor: int
    flags: dict[str, str]
    shorts: dict[str, str]
    gates: frozenset[str]


@functools.cache
def recordings(program: str, system: str = "linux") -> tuple[Recording, ...]:
    """All of this program's builds for a system, oldest first."""
    found = []
    folder = RECORDED / "windows" if system == "windows" else RECORDED
    for path in folder.glob(f"{program}-1.*.help.txt"):
        text = path.read_text(encoding="utf-8")
        flags, shorts = {}, {}
        for line in text.splitlines():
            match = _FLAG.match(line)
            if match:
                name = match["name"].replace("_", "-")
                # A word in backquotes stands where the type would; these two are booleans all the same.
                boolean = match["kind"] is None or name == "seccomp-default"
                flags[name] = "bool" if boolean else str(match["kind"])
                if match["short"]:
                    shorts[match["short"]] = name
        minor = int(path.name.removeprefix(f"{program}-1.").split(".")[0])
        gates = frozenset(match[1] for match in _GATE.finditer(text))
        found.append(Recording(minor, flags, shorts, gates))
    return tuple(sorted(found, key=lambda one: one.minor))


def minor_of(version: str) -> int:
    return int(version.removeprefix("v").split(".")[1])


def base(program: str, minor: int) -> Recording:
    """The newest recording that is not newer; the oldest for still older releases."""
    every = recordings(program)
    return next((one for one in reversed(every) if one.minor <= minor), every[0])


@functools.cache
def known(program: str, minor: int) -> dict[str, str]:
    """Flag -> type (`bool` takes no value of its own) of the Windows build."""
    recorded = next((one for one in recordings(program, "windows") if one.minor == minor), None)
    return {**HIDDEN.get(program, {}), **recorded.flags} if recorded else derived(program, minor)


def derived(program: str, minor: int) -> dict[str, str]:
    """The same, out of recordings of Linux builds and upstream's sources."""
    start = base(program, minor)
    flags = {**HIDDEN.get(program, {}), **start.flags}
    kinds = {name: kind for one in recordings(program) for name, kind in one.flags.items()}
    for line in _lines("flag-changes.txt"):
        name, number, *changes = line.split()
        if name != program or not start.minor < int(number.removeprefix("1.")) <= minor:
            continue
        for change in changes:
            if change[0] == "+":
                flags[change[1:]] = kinds.get(change[1:], "string")
            else:
                flags.pop(change[1:], None)
    for line in _lines("system-flags.txt"):
        name, minors, system, flag, kind = line.split()
        first, _, last = minors.replace("1.", "").partition("-")
        if name != program:
            continue
        if system == "linux":
            flags.pop(flag, None)
        elif int(first) <= minor and (minor <= int(last) or minor > 37):
            flags[flag] = kind
    return flags


def _lines(name: str) -> list[str]:
    text = (RECORDED / name).read_text(encoding="utf-8")
    return [line for line in text.splitlines() if line and not line.startswith("#")]


@dataclass(frozen=True)
class Flags:
    """values: the last one of each flag that was given, `true` for a boolean without one; rest: what is no flag."""

    values: dict[str, str]
    rest: tuple[str, ...]

    def text(self, name: str, default: str = "") -> str:
        return self.values.get(name, default)

    def on(self, name: str, default: bool = False) -> bool:
        found = self.values.get(name)
        return default if found is None else found.lower() in {"true", "t", "1"}

    def given(self, name: str) -> bool:
        return name in self.values


def parse(program: str, version: str, arguments: list[str], more: dict[str, str] | None = None) -> Flags:
    """FlagError in pflag's words. Source: spf13/pflag flag.go (parseArgs, parseLongArg, parseShortArg)."""
    minor = minor_of(version)
    kinds = {**known(program, minor), **(more or {})} if recordings(program) else dict(more or {})
    shorts = base(program, minor).shorts if recordings(program) else {"v": "v", "h": "help"}
    values: dict[str, str] = {}
    rest: list[str] = []
    left = list(arguments)
    while left:
        item = left.pop(0)
        if item == "--":
            rest += left
            break
        if not item.startswith("-") or item == "-":
            rest.append(item)
            continue
        if item.startswith("--"):
            name, equals, value = item[2:].partition("=")
            if not name or name[0] in "-=":
                raise FlagError(f"bad flag syntax: {item}")
            name = name.replace("_", "-")
            shown = f"--{name}"
            if name not in kinds:
                raise FlagError(f"unknown flag: --{name}")
        else:
            short, value = item[1], item[2:]
            equals = "=" if value else ""
            value = value.removeprefix("=")
            if short not in shorts:
                raise FlagError(f"unknown shorthand flag: {short!r} in {item}")
            name = shorts[short]
            shown = f"-{short}, --{name}"
        kind = kinds[name]
        if not equals:
            if kind == "bool" or kind.endswith("[=true]"):
                value = "true"
            elif left:
                value = left.pop(0)
            else:
                raise FlagError(f"flag needs an argument: {item}")
        _check(kind, value, shown)
        values[name] = f"{values[name]},{value}" if kind.startswith("mapString") and name in values else value
    return Flags(values, tuple(rest))


def _check(kind: str, value: str, shown: str) -> None:
    said = ""
    if kind == "bool" and value not in {
        "1",
        "t",
        "T",
        "TRUE",
        "true",
        "True",
        "0",
        "f",
        "F",
        "FALSE",
        "false",
        "False",
    }:
        said = f'strconv.ParseBool: parsing "{value}": invalid syntax'
    elif kind in {"int", "int32", "uint", "Level"} and not re.fullmatch(r"[-+]?\d+", value):
        said = f'strconv.ParseInt: parsing "{value}": invalid syntax'
    elif kind == "duration" and value != "0" and not _DURATION.fullmatch(value):
        said = f'time: invalid duration "{value}"'
    elif kind == "ip" and value and not re.fullmatch(r"[0-9.]+|[0-9a-fA-F:.]+", value):
        said = f'failed to parse IP: "{value}"'
    elif kind.startswith("mapString") and any("=" not in part for part in value.split(",") if part):
        said = f"malformed pair, expect string=string, found {value!r}"
    if said:
        raise FlagError(f'invalid argument "{value}" for "{shown}" flag: {said}')


def check_gates(program: str, version: str, gates: dict[str, str]) -> None:
    """FlagError for a gate that this release does not know, or that it has locked to the other value.

    Where upstream's list of a minor is not recorded, a gate that some recording of --help shows counts as known to
    newer releases too: they may have made it GA. Source: kubernetes
    staging/src/k8s.io/component-base/featuregate/feature_gate.go.
    """
    minor = minor_of(version)
    listed = gate_list(minor)
    for name, value in gates.items():
        there, locked_to = _gate(program, minor, name, listed)
        if not there:
            raise FlagError(f"unrecognized feature gate: {name}")
        if value.lower() not in {"true", "false"}:
            raise FlagError(
                f'invalid value of {name}={value}, err: strconv.ParseBool: parsing "{value}": invalid syntax'
            )
        if locked_to and value.lower() != locked_to:
            raise FlagError(f"cannot set feature gate {name} to {value.lower()}, feature is locked to {locked_to}")


@functools.cache
def gate_list(minor: int) -> dict[str, tuple[str, bool]]:
    """Gate -> (default, locked), as upstream's own list of this minor has it; empty where there is no list."""
    path = RECORDED / f"gates-1.{minor}.txt"
    if not path.is_file():
        return {}
    rows = [line.split() for line in _lines(path.name)]
    return {name: (default, locked == "locked") for name, default, locked in rows}


def _gate(program: str, minor: int, name: str, listed: dict[str, tuple[str, bool]]) -> tuple[bool, str]:
    """(known, the only value that it takes or nothing)."""
    if name in {"AllAlpha", "AllBeta"}:
        return True, ""
    shown = base(program, minor).gates
    if listed:
        default, locked = listed.get(name, ("", False))
        return name in listed or (name in CLIENT_GO and name in shown), default if locked else ""
    if name in GATES:
        first, since, last = GATES[name]
        return first <= minor <= last, "true" if minor >= since else ""
    older = {gate for one in recordings(program) if one.minor <= minor for gate in one.gates}
    return name in shown or name in older, ""


def pairs(text: str) -> dict[str, str]:
    """`A=true,B=false` -> its pairs."""
    return dict(part.strip().partition("=")[::2] for part in text.split(",") if part.strip())
