"""Writes plugins/plugin_utils/facts/feature_gates.txt: every feature gate of kubelet and kube-proxy, per minor.

    python tests/real/upstream/gates.py 1.22.17 1.23.17 ...     reads these releases' sources through the module proxy

Of a minor, several releases can be named: gates come, go and change their defaults in patch releases as well. The
newest speaks for the minor; the table also says where an older one differs from it.

--help hides gates that are GA or deprecated, and whether a gate is locked: both stand in the sources alone. What --help
does show, the unit tests compare with the table.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from itertools import pairwise
from pathlib import Path
from zipfile import ZipFile

from tests.go_modules import ModuleMissing, download
from tests.real.build import GO_CACHE, ROOT, library_version

TABLE = ROOT / "plugins" / "plugin_utils" / "facts" / "feature_gates.txt"

LIBRARIES = (
    ("apiserver", "pkg/features/kube_features.go", '"k8s.io/apiserver/pkg/features"'),
    ("apiextensions-apiserver", "pkg/features/kube_features.go", '"k8s.io/apiextensions-apiserver/pkg/features"'),
    ("client-go", "features/known_features.go", '"k8s.io/client-go/features"'),
    ("controller-manager", "pkg/features/kube_features.go", '"k8s.io/controller-manager/pkg/features"'),
    ("component-base", "logs/kube_features.go", "logs.AddFeatureGates("),
    ("component-base", "logs/api/v1/kube_features.go", "logsapi.AddFeatureGates("),
    ("component-base", "metrics/features/kube_features.go", "metricsfeatures.AddFeatureGates("),
    ("component-base", "zpages/features/kube_features.go", "zpagesfeatures.AddFeatureGates("),
)
"""Libraries with gates of their own, and what a program or its pkg/features says when it takes them over: an import
(the library registers them itself) or a call."""

PROGRAMS = ("kubelet", "kube-proxy")

_CONSTANT = re.compile(r'^\s*(\w+)\s+(?:featuregate\.)?Feature\s*=\s*"(\w+)"', re.MULTILINE)
_BOOLEAN = re.compile(r"^\s*(?:const\s+)?(\w+)\s*=\s*(true|false)\b", re.MULTILINE)
_KEY = re.compile(r"^\t+(?:\w+\.)?(\w+):\s*\{", re.MULTILINE)
_MAP = re.compile(r"map\[(?:\w+\.)?Feature\](?:\w+\.)?(?:FeatureSpec|VersionedSpecs)\{\n")

State = tuple[str, bool, bool]
"""Stage (alpha, beta, ga, deprecated), default, locked."""

Release = tuple[int, int]
"""Minor and patch of a release 1.x.y."""


@cache
def downloaded(library: str, version: str) -> Path:
    """The folder of k8s.io/`library` at the tag that belongs to this release."""
    tag = f"v{version}" if library == "kubernetes" else library_version(version)
    module = f"k8s.io/{library}@{tag}"
    with suppress(ModuleMissing):
        return download(module)
    folder = GO_CACHE / "sources"  # go leaves what wants a newer Go packed
    if not (folder / module).is_dir():
        with ZipFile(download(module, "Zip")) as archive:
            archive.extractall(folder)
    return folder / module


def source_files(program: str, version: str) -> list[str]:
    """The texts that give this program its gates."""
    root = downloaded("kubernetes", version)
    texts = [path.read_text(encoding="utf-8") for path in _go_files(root / "pkg" / "features")]
    code = [*_go_files(root / "cmd" / program / "app"), *_go_files(root / "pkg" / program / "server")]
    own = "\n".join([*texts, *(path.read_text(encoding="utf-8") for path in code)])
    for library, path, sign in LIBRARIES:
        if sign in own:
            source = downloaded(library, version) / path
            if source.is_file():
                texts.append(source.read_text(encoding="utf-8"))
    return texts


def _go_files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.glob("*.go")) if not path.name.endswith("_test.go")]


def gates_in(texts: list[str], minor: int) -> dict[str, State]:
    """Every gate of these sources as a release 1.`minor` has it. ValueError for a default that is not understood."""
    names = dict(pair for text in texts for pair in _CONSTANT.findall(text))
    found: dict[str, State] = {}
    for text in texts:
        text = re.sub(r"//.*", "", text)
        booleans = {"true": True, "false": False, **{name: said == "true" for name, said in _BOOLEAN.findall(text)}}
        for start in _MAP.finditer(text):
            for constant, specs in _entries(_braces(text, start.end())):
                state = _state(specs, minor, booleans)
                if state is not None:
                    found[names.get(constant, constant)] = state
    return found


def _entries(body: str) -> Iterator[tuple[str, str]]:
    """Each gate's constant and the text of its spec or specs."""
    position = 0
    while key := _KEY.search(body, position):
        specs = _braces(body, key.end())
        yield key[1], specs
        position = key.end() + len(specs)


def _braces(text: str, start: int) -> str:
    """From `start`, just after an opening brace, up to the brace that closes it."""
    depth, end = 1, start
    while depth:
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
    return text[start : end - 1]


def _state(specs: str, minor: int, booleans: Mapping[str, bool]) -> State | None:
    """`booleans`: the words that a default may be, with their values; sources also name a constant of the file."""
    chosen: str | None = None
    for spec in re.findall(r"\{([^{}]*)\}", specs) or [specs]:
        since = re.search(r'\bVersion:\s*version\.MustParse\("1\.(\d+)', spec)
        compatible = re.search(r'\bMinCompatibilityVersion:\s*version\.MustParse\("1\.(\d+)', spec)
        # A release is compatible with the one before it unless --min-compatibility-version says otherwise.
        if (since is None or int(since[1]) <= minor) and (compatible is None or int(compatible[1]) < minor):
            chosen = spec
    if chosen is None:
        return None
    stage = re.search(r"PreRelease:\s*(?:\w+\.)?(\w+)", chosen)
    default = re.search(r"\bDefault:\s*([\w.]+)", chosen)
    if default and default[1] not in booleans:
        raise ValueError(f"Default: {default[1]} in {{{chosen.strip()}}} is no constant of the same file.")
    return (
        stage[1].lower() if stage else "unknown",
        bool(default and booleans[default[1]]),
        "LockToDefault: true" in re.sub(r"\s+", " ", chosen),
    )


def word(state: State | None) -> str:
    """One state as the table writes it: `beta+` on by default, `ga!` locked, `gone`."""
    if state is None:
        return "gone"
    stage, default, locked = state
    return f"{stage}{'+' if default else '-'}{'!' if locked else ''}"


def table(per_program: dict[str, dict[Release, dict[str, State]]], releases: list[str]) -> str:
    """The table's text: each gate with the minors at which its state changes."""
    lines = [
        "# Feature gates of kubelet and kube-proxy. Written by tests/real/upstream/gates.py; do not edit.",
        "# <gate> <minor>:<state> ..., a state holds until the next one. alpha, beta, ga, deprecated; + on by default,",
        "# - off by default, ! locked to its default; gone: this minor does not know the gate. Where the two programs",
        "# differ, a line begins with kubelet/ or kube-proxy/. A minor is as its newest release below;",
        "# <release>:<state> is an older one below that differs from the next; it speaks for those before it, too.",
        "# Source: kubernetes pkg/features and the gates of the libraries that it and cmd/<program>/app take over, at",
        *(
            f"#   {' '.join(f'v{release}' for release in releases[start : start + 8])}"
            for start in range(0, len(releases), 8)
        ),
        *(f"# {release} is a pre-release: what follows it may be otherwise." for release in releases if "-" in release),
    ]
    histories = {program: _histories(per_release) for program, per_release in per_program.items()}
    first, second = PROGRAMS
    for gate in sorted(set(histories[first]) | set(histories[second])):
        one, other = histories[first].get(gate), histories[second].get(gate)
        if one == other:
            lines.append(f"{gate} {one}")
            continue
        lines += [f"{program}/{gate} {history}" for program, history in ((first, one), (second, other)) if history]
    return "\n".join(lines) + "\n"


def _histories(per_release: dict[Release, dict[str, State]]) -> dict[str, str]:
    releases = sorted(per_release)
    following = {one: other for one, other in pairwise(releases) if one[0] == other[0]}
    found = {}
    for gate in {gate for gates in per_release.values() for gate in gates}:
        states = {release: word(gates.get(gate)) for release, gates in per_release.items()}
        words, before = [], "gone"
        for release in releases:
            minor, patch = release
            now = states[release]
            if release in following:
                if now != states[following[release]]:
                    words.append(f"1.{minor}.{patch}:{now}")
                continue
            if now != before:
                words.append(f"1.{minor}:{now}")
            before = now
        found[gate] = " ".join(words)
    return found


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="+", help="releases of every minor: the table is written anew")
    chosen = sorted(parser.parse_args(arguments).versions, key=_release)
    found: dict[str, dict[Release, dict[str, State]]] = {program: {} for program in PROGRAMS}
    for version in chosen:
        release = _release(version)
        for program in PROGRAMS:
            found[program][release] = gates_in(source_files(program, version), release[0])
        print(version, *(f"{program}: {len(found[program][release])} gates" for program in PROGRAMS), flush=True)
    TABLE.write_text(table(found, chosen), encoding="utf-8")
    return 0


def _release(version: str) -> Release:
    _major, minor, patch = version.partition("-")[0].split(".")
    return int(minor), int(patch)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
