"""What the real programs answered (tests/recorded/transcripts) is what the lab answers to the same command lines:
exit code, text, and the registry after each line.

What differs is in DIFFERENT, by name and with its reason; an entry that no transcript needs any more fails.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from tests.lab.machine.builds import build
from tests.lab.machine.node import SimulatedNode
from tests.lab.machine.registry import Value
from tests.lab.twin.node import LabNode
from tests.wine.record import KEY, flat, keys
from tests.wine.transcripts import (
    CONTAINERD_LINES,
    CTR_LINES,
    NO_FILE,
    NO_SOCKET,
    NSSM_LINES,
    SC_LINES,
    WORKER,
    Changes,
    Line,
    Transcript,
    changes,
    printed,
    recorded,
)

NSSM = r"C:\k\nssm.exe"
SC = r"C:\Windows\System32\sc.exe"
CONTAINERD = r"C:\k\containerd.exe"
CTR = r"C:\k\ctr.exe"
WINDOWS_NAMES = {NO_FILE: r"C:\nowhere\config.toml", NO_SOCKET: r"\\.\pipe\nowhere"}
KINDS = {"string": "REG_SZ", "expand_string": "REG_EXPAND_SZ", "multi_string": "REG_MULTI_SZ", "dword": "REG_DWORD"}


@dataclass(frozen=True)
class Answer:
    """What came of a line."""

    exit: int
    out: str
    registry: Changes = field(default_factory=dict)


@dataclass(frozen=True)
class Difference:
    """An allowed one: in which lines of which program, why, and what makes both sides the same again."""

    name: str
    program: str
    lines: str
    why: str
    real: Callable[[Answer], Answer] = lambda answer: answer
    lab: Callable[[Answer], Answer] = lambda answer: answer
    versions: str = ""


def without(*names: str) -> Callable[[Answer], Answer]:
    return lambda answer: replace(answer, registry={k: v for k, v in answer.registry.items() if k not in names})


def text(pattern: str, replacement: str = "") -> Callable[[Answer], Answer]:
    return lambda answer: replace(answer, out=re.sub(pattern, replacement, answer.out, flags=re.DOTALL).strip())


def nothing(_answer: Answer) -> Answer:
    """For a line of which the two have nothing in common."""
    return Answer(0, "")


def image_path(answer: Answer) -> Answer:
    found = answer.registry.get("imagepath")
    return replace(answer, registry={**answer.registry, "imagepath": ("", found[1])}) if found else answer


def no_last_nul(answer: Answer) -> Answer:
    values = {name: value and (value[0], value[1].removesuffix("\\0")) for name, value in answer.registry.items()}
    return replace(answer, registry=values)


def silent(answer: Answer) -> Answer:
    return replace(answer, out="")


def just_failed(answer: Answer) -> Answer:
    return replace(answer, exit=1, out="") if answer.exit else answer


def stamped(answer: Answer) -> Answer:
    out = re.sub(r"(?m)^( *Version: +|ctr \S+ )v?([0-9.]+).*$", r"\1v\2", answer.out)
    return replace(answer, out=re.sub(r"(?m)^( *(?:Revision|Go version):).*$", r"\1", out))


WINE_WORDS = {
    "Service does not exist.": "The specified service does not exist as an installed service.",
    "Service exists.": "The specified service already exists.",
    "Service not active.": "The service has not been started.",
}

DIFFERENT = (
    *(
        Difference(
            f"words: {wine}", "nssm", "", "the system's own message; Wine's is shorter", text(re.escape(wine), own)
        )
        for wine, own in WINE_WORDS.items()
    ),
    Difference(
        "list of valid values",
        "nssm",
        "(get|set) ",
        "the lab says the first sentence only",
        text(r"  Valid .* are:\n.*"),
    ),
    Difference(
        "empty last string",
        "nssm",
        "set .* AppEnvironmentExtra",
        "2.23 writes one more empty string behind the variables than later builds",
        no_last_nul,
    ),
    Difference(
        "dependencies",
        "nssm",
        "get .* DependOnService",
        "Wine keeps the value, but QueryServiceConfig does not give it back",
        silent,
        silent,
    ),
    *(
        Difference(
            "preshutdowntimeout",
            program,
            "(install|remove|create|delete) ",
            "Wine writes it for each service, Windows only for those that ask for it",
            without("preshutdowntimeout"),
        )
        for program in ("nssm", "sc")
    ),
    *(
        Difference(
            "type of ImagePath",
            program,
            "(install|create) ",
            "Windows writes REG_EXPAND_SZ, Wine REG_SZ",
            image_path,
            image_path,
        )
        for program in ("nssm", "sc")
    ),
    Difference(
        "delayed start",
        "nssm",
        "(set .* Start|remove) ",
        "nssm sets it with the start type; Wine keeps nothing of it",
        lab=without("delayedautostart"),
    ),
    Difference(
        "exit code of a failure",
        "sc",
        "",
        "Windows' sc.exe ends with the Win32 error and says it; Wine's with 1 and no word",
        just_failed,
        just_failed,
    ),
    Difference(
        "words of a success", "sc", "(create|description|failure|delete) ", "Wine's sc.exe says nothing", lab=silent
    ),
    Difference(
        "what is accepted",
        "sc",
        "query ",
        "a line that Windows prints below the state, and Wine does not",
        lab=text(r"\n +\([A-Z_, ]+\)"),
    ),
    Difference(
        "create without a program",
        "sc",
        "create \\S+ start= auto$",
        "Windows' sc.exe says how it is used and ends with 1639; Wine 10's says nothing, makes nothing and ends with 0",
        nothing,
        nothing,
    ),
    Difference("qc", "sc", "qc ", "Wine's sc.exe does not know the command", nothing, nothing),
    Difference("config", "sc", "config ", "Wine's sc.exe does not know the command", nothing, nothing),
    Difference("failureflag", "sc", "failureflag ", "Wine's sc.exe does not know the command", nothing, nothing),
    Difference("failure", "sc", "failure ", "Wine's sc.exe takes it and does nothing", lab=without("failureactions")),
    Difference(
        "what these had set",
        "sc",
        "delete ",
        "config, failure and failureflag left nothing on Wine that could go",
        lab=without("failureactions", "failureactionsonnoncrashfailures", "delayedautostart"),
    ),
    Difference(
        "builder's stamp",
        "containerd",
        "--version",
        "version and revision are stamped at build time: Debian's has no v and a suffix, ours no revision",
        text(r"^(containerd \S+) v?([0-9.]+).*", r"\1 v\2"),
        text(r"^(containerd \S+) v?([0-9.]+).*", r"\1 v\2"),
    ),
    Difference(
        "punctuation",
        "containerd",
        "--nonsense",
        "cli versions put the sentence behind `Incorrect Usage.`, `Incorrect Usage:` or at the end",
        text(r".*(flag provided but not defined: -nonsense).*", r"\1"),
        text(r".*(flag provided but not defined: -nonsense).*", r"\1"),
    ),
    Difference(
        "missing file",
        "containerd",
        "--config .* dump",
        "1.x says what it did before the system's own message; the lab says that message",
        text(r"(failed to load TOML: \S+: )?(open [^:]+): .*", r"\2"),
        text(r"(failed to load TOML: \S+: )?(open [^:]+): .*", r"\2"),
        versions="1",
    ),
    Difference(
        "missing file, 2.x",
        "containerd",
        "--config .* dump",
        "2.x dumps its defaults for it; the lab refuses it, as containerd does when it is to run with it",
        nothing,
        nothing,
        versions="2",
    ),
    Difference(
        "stamp of a package",
        "ctr",
        "",
        "versions as they were stamped by Debian: no v, a suffix; revision and Go are the builder's",
        stamped,
        stamped,
    ),
    Difference(
        "why it cannot dial",
        "ctr",
        ".* version",
        "the words behind the address are the operating system's and gRPC's",
        text(r'(failed to dial "[^"]+": ).*context deadline exceeded.*', r"\1context deadline exceeded"),
        text(r'(failed to dial "[^"]+": ).*context deadline exceeded.*', r"\1context deadline exceeded"),
    ),
)


def agree(whole: Transcript, line: Line, lab: Answer) -> tuple[Answer, Answer, set[str]]:
    """Both answers with the differences taken out, and which of them were needed."""
    real = Answer(line.exit, line.out, line.registry)
    used = set()
    for one in DIFFERENT:
        if one.program != whole.program or not re.match(one.lines, line.shown):
            continue
        if not re.match(one.versions, whole.version):
            continue
        changed = one.real(real), one.lab(lab)
        if real != lab and changed != (real, lab):
            used.add(f"{one.program}: {one.name}")
            real, lab = changed
    return real, lab, used


def node_for(transcript: Transcript) -> SimulatedNode:
    node = LabNode("win1")
    node.drive.mkdir(r"C:\k")
    node.drive.write(NSSM, build("nssm", "2.24", resource="2.24"))
    node.drive.write(WORKER, build("worker", "1"))
    for path, name in ((CONTAINERD, "containerd"), (CTR, "ctr")):
        node.drive.write(path, build(name, transcript.version.partition("~")[0]))
    return node


def shown(value: Value) -> tuple[str, str]:
    """A value as reg.exe shows it."""
    match value.data:
        case list():
            data = "\\0".join(value.data)
        case int():
            data = hex(value.data)
        case bytes():
            data = value.data.hex()
        case _:
            data = str(value.data)
    return KINDS.get(value.type, value.type), data


def registry(node: SimulatedNode) -> dict[str, tuple[str, str]]:
    """Of the service's key, as the recorder has it."""
    if not node.registry.exists(KEY):
        return {}
    found = node.registry.walk(KEY)
    return flat({path[len(KEY) :].strip("\\"): {v.name: shown(v) for v in key.values.values()} for path, key in found})


def replay(transcript: Transcript) -> tuple[list[str], set[str]]:
    """What the lab answers otherwise, a sentence each; and the differences that were needed."""
    node, wrong, used = node_for(transcript), [], set()
    program = {"nssm": NSSM, "sc": SC, "containerd": CONTAINERD, "ctr": CTR}[transcript.program]
    before = registry(node)
    for line in transcript.lines:
        argv = [WINDOWS_NAMES.get(item, item) for item in line.argv]
        done = node.run(program, argv)
        after = registry(node)
        out = printed(done.stdout, done.stderr)
        for name, own in WINDOWS_NAMES.items():
            out = out.replace(own, name).replace(own.replace("\\", "/"), name)
        lab = Answer(done.exit_code, out, changes(before, after))
        before = after
        if transcript.program == "containerd" and "config" in argv and line.exit == done.exit_code == 0:
            unknown = keys_of(done.stdout) - set(line.out.splitlines())
            excused = {
                key for key in unknown if any(re.match(v, transcript.version) for v in ONLY_IN_THE_LAB.get(key, ()))
            }
            used |= {f"containerd: {key}" for key in excused}
            wrong += [f"{line.shown}: the real one has no {key}" for key in sorted(unknown - excused)]
            continue
        real, lab, needed = agree(transcript, line, lab)
        used |= needed
        if real != lab:
            wrong.append(f"{line.shown}: real {real}, lab {lab}")
    return wrong, used


_CRI, _RUNTIME = "plugins.io.containerd.grpc.v1.cri", "plugins.io.containerd.cri.v1.runtime"
ONLY_IN_THE_LAB: dict[str, str] = {
    # The runtime that containerd has on Windows. The recorded builds are for Linux and have runc there.
    f"{_CRI}.containerd.runtimes.runhcs-wcow-process": "1",
    f"{_CRI}.containerd.runtimes.runhcs-wcow-process.runtime_type": "1",
    f"{_RUNTIME}.containerd.runtimes.runhcs-wcow-process": "2",
    f"{_RUNTIME}.containerd.runtimes.runhcs-wcow-process.runtime_type": "2",
}
"""Keys of a default configuration that the lab prints and the real program does not: key to its versions."""


def keys_of(document: bytes) -> set[str]:
    return set(keys(tomllib.loads(document.decode())))


TRANSCRIPTS = {one.path.stem: one for program in ("nssm", "sc", "containerd", "ctr") for one in recorded(program)}


@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_the_lab_answers_as_the_real_program_did(name: str) -> None:
    wrong, _ = replay(TRANSCRIPTS[name])
    assert not wrong, "\n".join(wrong)


def test_every_line_is_in_a_transcript_and_every_allowed_difference_is_needed() -> None:
    wanted = {"nssm": NSSM_LINES, "sc": SC_LINES, "containerd": CONTAINERD_LINES, "ctr": CTR_LINES}
    assert {one.program for one in TRANSCRIPTS.values()} == set(wanted)
    for one in TRANSCRIPTS.values():
        assert tuple(line.argv for line in one.lines) == wanted[one.program], f"record {one.path.name} anew: {one.by}"
    needed = set().union(*(replay(one)[1] for one in TRANSCRIPTS.values()))
    assert needed == {f"{one.program}: {one.name}" for one in DIFFERENT} | {
        f"containerd: {key}" for key in ONLY_IN_THE_LAB
    }


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (lambda line: replace(line, exit=4), "real Answer(exit=4"),
        (lambda line: replace(line, out="Something else."), "Something else."),
        (lambda line: replace(line, registry={}), "registry={}"),
    ],
)
def test_another_answer_is_found(change: Callable[[Line], Line], finding: str) -> None:
    whole = TRANSCRIPTS["nssm-2.23"]
    number = next(n for n, line in enumerate(whole.lines) if line.argv[0] == "install")
    lines = [*whole.lines]
    lines[number] = change(lines[number])
    wrong, _ = replay(replace(whole, lines=tuple(lines)))
    assert len(wrong) == 1
    assert finding in wrong[0]
