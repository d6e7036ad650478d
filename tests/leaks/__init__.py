"""Secret options of a whole node, installed, changed, changed in vain and removed at -vvv with ANSIBLE_DEBUG: where
each secret is afterwards, and whether anything else shows it.

Searched are what the runs print, the fact cache, the log file, the other files of the controller, and all of the node
(tests/integration/records.py). Canaries show that the search finds: a secret in each written form.
"""

from __future__ import annotations

import base64
import gzip
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tests.integration.lab import ROOT, Bench
from tests.integration.records import leaks
from tests.integration.whole import BRIDGE, Whole
from tests.lab.machine.faults import ServiceFault

RESET = ROOT / "playbooks" / "reset.yml"
HOSTS = "hosts.toml"


def _quoted(secret: str) -> str:
    return quote(secret, safe="")


FORMS: Mapping[str, Callable[[str], bytes]] = {
    "plain": lambda secret: f"x{secret}y".encode(),
    "base64": lambda secret: base64.b64encode(f"a line of text with {secret} in it".encode()),
    "gzip": lambda secret: gzip.compress(f"x{secret}y".encode()),
    "gzip in base64": lambda secret: base64.b64encode(gzip.compress(f"x{secret}y".encode())),
    "UTF-16": lambda secret: f"x{secret}y".encode("utf-16-le"),
    "URL": lambda secret: _quoted(secret).encode(),
    "JSON": lambda secret: json.dumps({"x": secret}).encode(),
}

Options = Mapping[str, Any]
OPTIONS: Mapping[str, tuple[str, Callable[[str], Options]]] = {
    "containerd's environment": (
        "registry",
        lambda secret: {"winkube_containerd_service": {"environment": {"PLANTED_C": secret}}},
    ),
    "kubelet's environment": ("registry", lambda secret: {"winkube_kubelet_environment": {"PLANTED_K": secret}}),
    "kube-proxy's environment": ("registry", lambda secret: {"winkube_kube_proxy_environment": {"PLANTED_P": secret}}),
    "the machine's proxy": (
        "registry",
        lambda secret: {"winkube_node_https_proxy": f"http://ann:{_quoted(secret)}@proxy:3128"},
    ),
    "a registry's header": (
        "file",
        lambda secret: {"winkube_registries": [{"host": "ghcr.io", "header": {"X-Planted": secret}}]},
    ),
}
"""What is secret: where it belongs on the node, and the variables that give it."""


class Search:
    """One node, its runs, and what was found; `figures` is the last line of `make leaks`."""

    def __init__(self, bench: Bench) -> None:
        self.bench, self.whole = bench, Whole(bench, BRIDGE)
        self.secrets = self.in_place = self.canaries = 0
        self.leaked: list[str] = []
        environment = bench.environment
        more = {
            "ANSIBLE_DEBUG": "1",
            "ANSIBLE_LOG_PATH": str(bench.directory / "ansible.log"),
            "ANSIBLE_CACHE_PLUGIN": "jsonfile",
            "ANSIBLE_CACHE_PLUGIN_CONNECTION": str(bench.directory / "facts"),
        }
        bench.environment = lambda: {**environment(), **more}  # type: ignore[method-assign]

    def phase(self, name: str, run: str, given: Mapping[str, str], belongs: Mapping[str, str]) -> None:
        """One run with `given` secrets by option; afterwards the node has those of `belongs`, and no other."""
        variables: dict[str, Any] = {}
        for option, secret in given.items():
            place = (": the registry", "event log of win1") if OPTIONS[option][0] == "registry" else (HOSTS,)
            self.bench.plant(secret, f"{option}, {name}", *place[:1])
            variables |= OPTIONS[option][1](secret)
        if run == "reset":
            done = self.whole.site("-vvv", playbook=RESET, winkube_reset=True, winkube_reset_variables=["HTTPS_PROXY"])
        else:
            done = self.whole.site("-vvv", **variables)
        if (done.rc == 0) != (run != "fails"):
            raise AssertionError(f"{name}: exit status {done.rc}\n{done.stdout[-3000:]}")
        for option, secret in belongs.items():
            self.secrets += 1
            there = self._has(option, secret)
            self.in_place += there
            print("" if there else f"{name}: {option} is not where it belongs\n", end="")
        for option in OPTIONS:
            for secret in set(self._all(option)) - {belongs.get(option)}:
                if self._has(option, secret):
                    self.leaked.append(f"{name}: an old secret of {option} is still on the node")
        self.leaked += [f"{name}: {leak}" for leak in leaks(self.bench)]

    def _all(self, option: str) -> Iterator[str]:
        return (secret for secret, what in self.bench.planted.items() if what.startswith(f"{option}, "))

    def _has(self, option: str, secret: str) -> bool:
        node = self.whole.host.node
        wanted = _quoted(secret) if option == "the machine's proxy" else secret

        def look() -> bool:
            if OPTIONS[option][0] == "registry":
                return wanted in json.dumps(node.dump()["registry"])
            files = (entry for path, entry in node.drive.walk() if path.lower().endswith(HOSTS))
            return any(wanted.encode() in entry.data for entry in files if entry.kind == "file")

        return bool(self.whole.host.in_turn(look))

    def plant_canaries(self) -> None:
        """In each form in a file of the controller, and in a file of the node that others may read."""
        node = self.whole.host.node
        for form, write in FORMS.items():
            for where in ("controller", "node"):
                what = f"canary {where} {form}"
                secret = self.bench.plant(f"{what.replace(' ', '+')}/4711!", what)
                if where == "controller":
                    (self.bench.directory / f"canary-{len(form)}-{form[:3]}").write_bytes(write(secret))
                else:
                    data, path = write(secret), f"C:\\canary-{form.replace(' ', '-')}"
                    self.whole.host.in_turn(lambda path=path, data=data: node.drive.write(path, data))  # type: ignore[misc]
        found = {leak.partition(" is in ")[0] for leak in leaks(self.bench) if leak.startswith("canary ")}
        self.canaries = len(found)
        for form in FORMS:
            for where in ("controller", "node"):
                if f"canary {where} {form}" not in found:
                    print(f"the search does not find a secret in the form {form} on the {where}")

    def figures(self) -> dict[str, int]:
        return {
            "runs": len(self.bench.runs),
            "secrets": self.secrets,
            "found_where_they_belong": self.in_place,
            "canaries": 2 * len(FORMS),
            "canaries_found": self.canaries,
            "leaks": len(self.leaked),
        }


def search() -> Search:
    """All phases on one node."""
    with tempfile.TemporaryDirectory(prefix="leaks-") as folder:
        bench = Bench(Path(folder))
        try:
            found = Search(bench)
            names = {each: "".join(letter for letter in each if letter.isalpha()) for each in OPTIONS}
            first, second, third = (
                {each: f"planted{number}/{name}+4711" for each, name in names.items()} for number in (1, 2, 3)
            )
            found.phase("install", "site", first, first)
            found.phase("change", "site", second, second)
            node = found.whole.host.node
            found.whole.host.in_turn(lambda: node.faults.service("containerd", ServiceFault("no_pipe", times=1)))
            only = "containerd's environment"
            found.phase("change in vain", "fails", {**second, only: third[only]}, second)
            found.phase("removal", "reset", {}, {})
            found.plant_canaries()
            return found
        finally:
            bench.close()
