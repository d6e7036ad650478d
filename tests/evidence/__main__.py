"""Fills in versions and lines of plugins/plugin_utils/facts/evidence.txt from the modules' own sources.

    python -m tests.evidence

A row that names a function which its file does not have (any more) ends it: the rule has lost its evidence.
"""

from __future__ import annotations

import re

from ansible_collections.winkube.node.plugins.plugin_utils.facts.evidence import FILE, PAGE

from tests.go_modules import download

VERSIONS = {
    "k8s.io/kubernetes": "v1.37.1",
    "k8s.io/apimachinery": "v0.37.0",
    "k8s.io/mount-utils": "v0.37.0",
    "k8s.io/pod-security-admission": "v0.37.0",
    "github.com/containerd/containerd/v2": "v2.3.7",
    "github.com/containerd/platforms": "v1.0.0-rc.5",
    "github.com/Microsoft/hcsshim": "v0.15.0-rc.1",
}


def filled(line: str) -> str:
    parts = [part.strip() for part in line.split("|")]
    outcome, module, file, function, rules = parts
    if module == PAGE:
        return line
    module, file = module.partition("@")[0], file.partition(":")[0]
    text = (download(f"{module}@{VERSIONS[module]}") / file).read_text(encoding="utf-8")
    begins = re.search(rf"^func (?:\([^)]*\) )?{function}\(", text, re.MULTILINE) if function != "-" else None
    if function != "-" and begins is None:
        raise SystemExit(f"{module}@{VERSIONS[module]} {file} has no function {function}: {rules}")
    place = f"{file}:{text.count(chr(10), 0, begins.start()) + 1}" if begins else file
    return " | ".join((outcome, f"{module}@{VERSIONS[module]}", place, function, rules))


def main() -> None:
    lines = FILE.read_text(encoding="utf-8").splitlines()
    FILE.write_text("".join(f"{filled(each) if '|' in each and each[0] != '#' else each}\n" for each in lines), "utf-8")
    print(f"{FILE.name}: {sum('|' in each and each[0] != '#' for each in lines)} rows")


if __name__ == "__main__":
    main()
