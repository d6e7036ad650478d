"""Every secret option of every component, on a whole node at -vvv with ANSIBLE_DEBUG: where each secret is afterwards,
and whether anything else shows it.

A node is installed, changed, changed in vain by each component in turn, compared (check mode with diff, a report),
diagnosed and removed. Searched are what the runs print, the fact cache, the log file, junit's files, reports, temporary
folders and the other files of the controller, and all of the node (tests/integration/records.py). Canaries show that
the search finds: a secret in each written form.
"""

from __future__ import annotations

import base64
import gzip
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ansible_collections.winkube.node.plugins.plugin_utils.components.options import SECRET, Option
from ansible_collections.winkube.node.plugins.plugin_utils.components.registry import COMPONENTS, PROGRAM_SERVICES

from tests.integration.lab import ROOT, Bench, Run
from tests.integration.optional import optional_components
from tests.integration.records import forms_of, leaks, unpacked
from tests.integration.whole import BRIDGE, OVERLAY, Kind, Whole
from tests.lab.machine.faults import Fault, ServiceFault
from tests.unit.components.nodes import LAYOUT

PLAYBOOKS = ROOT / "playbooks"
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


def list_secret_options(rows: Sequence[Option], before: str) -> Iterator[str]:
    """`containerd registries.auth.password`, of a component's table."""
    for row in rows:
        text = row.description if isinstance(row.description, str) else row.description[0]
        if text.startswith(SECRET):
            yield before + row.name
        yield from list_secret_options(row.options, f"{before}{row.name}.")


OPTIONS = [path for each in COMPONENTS for path in list_secret_options(each.interface.rows, f"{each.role} ")]
"""Whatever is secret by its type."""
KEY = "containerd registries.client.key"
"""The file behind an option that is a path."""
SECRETS = (*OPTIONS, KEY)
SERVICES: Mapping[str, str] = {
    "containerd": LAYOUT.containerd_service,
    "kubelet": LAYOUT.kubelet_service,
    "kube_proxy": LAYOUT.kube_proxy_service,
    **{each.component.role: each.daemon.service(LAYOUT) for each in PROGRAM_SERVICES},
}
"""Of the components whose change in vain is a service that does not start."""


def give(bench: Bench, secrets: Mapping[str, str]) -> dict[str, Any]:
    """The variables that give these secrets. KeyError where a component has a secret option that nothing gives."""
    left = dict(secrets)
    take = left.pop
    certificate = bench.file("client.pem", "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n")
    key = bench.file("client.key", f"-----BEGIN PRIVATE KEY-----\n{take(KEY)}\n-----END PRIVATE KEY-----\n")
    mine, mirrors = "containerd registries.", "containerd registries.mirrors."
    one = {
        "host": "ghcr.io",
        "client": {"certificate": str(certificate), "key": str(key)},
        "header": {"X-Planted": take(f"{mine}header")},
        "auth": {"username": "ann", "password": take(f"{mine}auth.password")},
        "mirrors": [
            {
                "url": "https://one.example.com",
                "header": {"X-Planted": take(f"{mirrors}header")},
                "auth": {"username": "ann", "password": take(f"{mirrors}auth.password")},
            }
        ],
    }
    other = {
        "host": "quay.io",
        "auth": {"token": take(f"{mine}auth.token")},
        "mirrors": [{"url": "https://two.example.com", "auth": {"token": take(f"{mirrors}auth.token")}}],
    }
    found: dict[str, Any] = {
        "winkube_registries": [one, other],
        "winkube_node_http_proxy": f"http://ann:{_quoted(take('host proxy.http'))}@proxy:3128",
        "winkube_node_https_proxy": f"http://ann:{_quoted(take('host proxy.https'))}@proxy:3128",
        "winkube_proxy_environment": {"PLANTED_BY_ALL": take("containerd environment")},
        "winkube_kubelet_environment": {"PLANTED": take("kubelet service.environment")},
        "winkube_kube_proxy_environment": {"PLANTED": take("kube_proxy service.environment")},
    }
    for role in ("containerd", *(each.component.role for each in PROGRAM_SERVICES)):
        found[f"winkube_{role}_service"] = {"environment": {"PLANTED": take(f"{role} service.environment")}}
    if left:
        raise KeyError(f"no variable here gives {', '.join(left)}")
    return found


@dataclass
class Figures:
    """The last line of `make leaks`."""

    runs: int = 0
    options: int = len(SECRETS)
    secrets: int = 0
    found_where_they_belong: int = 0
    canaries: int = 0
    canaries_found: int = 0
    leaks: int = 0


class Search:
    """One node, its runs, and what was found."""

    def __init__(self, bench: Bench, kind: Kind, figures: Figures) -> None:
        self.bench, self.figures = bench, figures
        self.whole = Whole(bench, kind)
        self.optional = optional_components(bench)
        self.leaked: list[str] = []
        self._known: dict[str, list[str]] = {option: [] for option in SECRETS}
        self._number = 0
        environment = bench.environment
        (bench.directory / "tmp").mkdir()
        more = {
            "ANSIBLE_DEBUG": "1",
            "ANSIBLE_LOG_PATH": str(bench.directory / "ansible.log"),
            "ANSIBLE_CACHE_PLUGIN": "jsonfile",
            "ANSIBLE_CACHE_PLUGIN_CONNECTION": str(bench.directory / "facts"),
            "ANSIBLE_CALLBACKS_ENABLED": "winkube.node.steps,ansible.builtin.junit",
            "JUNIT_OUTPUT_DIR": str(bench.directory / "junit"),
            "TMPDIR": str(bench.directory / "tmp"),
        }
        bench.environment = lambda: {**environment(), **more}  # type: ignore[method-assign]

    def make(self, *roles: str) -> dict[str, str]:
        """New secrets, of these components or of all."""
        self._number += 1
        made: dict[str, str] = {}
        for option in SECRETS:
            if not roles or option.partition(" ")[0] in roles:
                name = "".join(letter for letter in option if letter.isalpha())
                secret = f'planted{self._number}/"{name}"+4711'
                # A key stands in a PEM file, an address and a header have their own letters.
                lawful = (": the registry", "event log of win1") if _is_in_registry(option) else (HOSTS, "client.key")
                made[option] = self.bench.plant(secret, f"{option}, number {self._number}", *lawful[:1])
                self._known[option].append(secret)
        return made

    def run(self, given: Mapping[str, str], playbook: str = "site", **more: Any) -> Run:
        return self.whole.site(
            "-vvv",
            "--diff",
            playbook=PLAYBOOKS / f"{playbook}.yml",
            **give(self.bench, given),
            **self.optional,
            **more,
        )

    def phase(self, name: str, run: Run, *, worked: bool | None, belongs: Mapping[str, str]) -> None:
        """After a run the node has the secrets of `belongs`, and no other."""
        self.figures.runs += 1
        if worked is not None and (run.rc == 0) != worked:
            raise AssertionError(f"{name}: exit status {run.rc}\n{run.stdout[-3000:]}")
        registry, files = self.whole.host.in_turn(self._look)
        for option in SECRETS:
            here = registry if _is_in_registry(option) else files
            for secret in self._known[option]:
                there = any(form in here for form in forms_of(secret))
                if secret == belongs.get(option):
                    self.figures.secrets += 1
                    self.figures.found_where_they_belong += there
                    print("" if there else f"{name}: {option} is not where it belongs\n", end="")
                elif there:
                    self.leaked.append(f"{name}: another secret of {option} is on the node")
        self.leaked += [f"{name}: {leak}" for leak in leaks(self.bench)]
        print(f"{self.whole.kind.mode}, {name}: {len(belongs)} secrets, {len(self.leaked)} leaks so far", flush=True)

    def _look(self) -> tuple[bytes, bytes]:
        """What the registry has, and the files of registries with all that is packed in them."""
        node = self.whole.host.node
        registry = json.dumps(node.dump()["registry"]).encode()
        files = [
            entry.data
            for path, entry in node.drive.walk()
            if entry.kind == "file" and "\\certs.d\\" in path.lower() and "\\winkube\\" not in path.lower()
        ]
        return registry, b"\n".join(piece for data in files for piece in unpacked(data))

    def fail(self, role: str) -> None:
        """The component's next batch fails."""
        faults = self.whole.host.node.faults
        if role in SERVICES:
            fault = ServiceFault("slow_start", 100_000, times=1)
            self.whole.host.in_turn(lambda: faults.service(SERVICES[role], fault))
        else:
            self.whole.host.in_turn(lambda: faults.arm(Fault("runner", 0, "after")))

    def plant_canaries(self) -> None:
        """In each form in a file of the controller, and in a file of the node that others may read."""
        node = self.whole.host.node
        for form, write in FORMS.items():
            for where in ("controller", "node"):
                what = f"canary {where} {form}"
                secret = self.bench.plant(f'{what.replace(" ", "+")}/"4711"!', what)
                if where == "controller":
                    (self.bench.directory / f"canary-{len(form)}-{form[:3]}").write_bytes(write(secret))
                else:
                    data, path = write(secret), f"C:\\canary-{form.replace(' ', '-')}"
                    self.whole.host.in_turn(lambda path=path, data=data: node.drive.write(path, data))  # type: ignore[misc]
        found = {leak.partition(" is in ")[0] for leak in leaks(self.bench) if leak.startswith("canary ")}
        self.figures.canaries += 2 * len(FORMS)
        self.figures.canaries_found += len(found)
        for form in FORMS:
            for where in ("controller", "node"):
                if f"canary {where} {form}" not in found:
                    print(f"the search does not find a secret in the form {form} on the {where}")


def _is_in_registry(option: str) -> bool:
    return "registries." not in option


def search(kind: Kind, figures: Figures, *, in_vain: bool) -> list[str]:
    """All phases on one node; what leaked."""
    with tempfile.TemporaryDirectory(prefix="leaks-") as folder:
        bench = Bench(Path(folder))
        try:
            found = Search(bench, kind, figures)
            first = found.make()
            found.phase("install", found.run(first), worked=True, belongs=first)
            now = found.make()
            found.phase("change", found.run(now), worked=True, belongs=now)
            for role in dict.fromkeys(option.partition(" ")[0] for option in SECRETS) if in_vain else ():
                found.fail(role)
                wanted = {**now, **found.make(role)}
                found.phase(f"change of {role} in vain", found.run(wanted), worked=False, belongs=now)
                found.whole.host.in_turn(found.whole.host.node.faults.clear)
            compared = found.run({**now, **found.make()}, "drift", winkube_drift_dir=str(bench.directory / "reports"))
            found.phase("comparison with others", compared, worked=False, belongs=now)
            found.phase("diagnosis", found.run(now, "diagnose"), worked=None, belongs=now)
            gone = found.run(now, "reset", winkube_reset=True, winkube_reset_variables=["HTTP_PROXY", "HTTPS_PROXY"])
            found.phase("removal", gone, worked=True, belongs={})
            found.plant_canaries()
            figures.leaks += len(found.leaked)
            return found.leaked
        finally:
            bench.close()


def search_all() -> tuple[Figures, list[str]]:
    """Both kinds of nodes; the changes in vain on the first."""
    figures = Figures()
    leaked = [*search(BRIDGE, figures, in_vain=True), *search(OVERLAY, figures, in_vain=False)]
    return figures, leaked
