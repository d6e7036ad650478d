"""Lane `wine`: the argument lists of our plans make the same services with the real nssm.exe and Wine's sc.exe as on
the simulated node, down to the registry.

What Wine cannot tell is left out and named in NOT_ON_WINE.
"""

from __future__ import annotations

import itertools
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.kube_proxy import kube_proxy_args
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet import kubelet_args
from ansible_collections.winkube.node.plugins.plugin_utils.components.layout import Layout
from ansible_collections.winkube.node.plugins.plugin_utils.components.registry import DAEMONS
from ansible_collections.winkube.node.plugins.plugin_utils.components.service import service_of
from ansible_collections.winkube.node.plugins.plugin_utils.engine.batch import Op
from ansible_collections.winkube.node.plugins.plugin_utils.engine.environment import Entry
from ansible_collections.winkube.node.plugins.plugin_utils.engine.services.native import Native
from ansible_collections.winkube.node.plugins.plugin_utils.engine.services.nssm import Nssm

from tests.lab.machine.builds import build
from tests.lab.machine.node import SimulatedNode
from tests.lab.twin.node import LabNode
from tests.lab.twin.ops import execute_op
from tests.unit.components.nodes import LAYOUT, running, wanted_kube_proxy, wanted_kubelet
from tests.wine import chroot, nssm
from tests.wine.prefix import REG, SC, Prefix, Registry

SERVICES = r"HKLM\SYSTEM\CurrentControlSet\Services"
NSSM = r"C:\k\nssm.exe"
NUMBERS = itertools.count(1)
"""What makes the names of services differ."""
NOT_ON_WINE = {
    "preshutdowntimeout": "Wine writes it for each service; Windows only for those that ask for it",
    "failureactions": "Wine's sc.exe takes `failure` and does nothing",
    "failureactionsonnoncrashfailures": "Wine's sc.exe does not know `failureflag`",
}
NOT_ON_WINE["delayedautostart"] = "nssm sets it with the start type; Wine keeps nothing of it"
NOT_ON_WINE_AT_ALL = {"failure", "failureflag"}
TYPES = {
    "string": "REG_SZ",
    "expand_string": "REG_EXPAND_SZ",
    "multi_string": "REG_MULTI_SZ",
    "dword": "REG_DWORD",
}


LOGS = replace(LAYOUT, log_dir=r"C:\Program Files\logs", nssm=NSSM)


def _made(
    component: str,
    manager: str,
    arguments: Sequence[str],
    environment: tuple[Entry, ...] = (),
    layout: Layout = LOGS,
) -> Nssm | Native:
    made = service_of(
        component,
        DAEMONS[component],
        layout,
        running(manager),
        arguments=tuple(arguments),
        ready=(),
        environment=environment,
    ).definition
    assert isinstance(made, (Nssm, Native))
    return made


def _kubelet(version: str) -> kubelet_args.Kubelet:
    return wanted_kubelet(version, log_dir=r"C:\Program Files\logs", labels={"tier": "web"})


def _kube_proxy(version: str, mode: str) -> kube_proxy_args.KubeProxy:
    return wanted_kube_proxy(version, mode, source_vip="10.244.2.3")


_FLANNELD = ("--kubeconfig-file=c:\\k\\config", "--iface=10.0.0.5", "--ip-masq=1", "--kube-subnet-mgr=1")
_BRIDGE = kube_proxy_args.arguments(_kube_proxy("1.22.17", "l2bridge"))

CASES = {
    "kubelet 1.22, nssm": _made("kubelet", "nssm", kubelet_args.arguments(_kubelet("1.22.17"))),
    "kubelet 1.37, nssm": _made("kubelet", "nssm", kubelet_args.arguments(_kubelet("1.37.1"))),
    "kubelet 1.37, sc": _made("kubelet", "sc", kubelet_args.arguments(_kubelet("1.37.1"))),
    "kubelet 1.22, sc": _made("kubelet", "sc", kubelet_args.arguments(_kubelet("1.22.17"))),
    "kube-proxy l2bridge, nssm": _made(
        "kube-proxy", "nssm", _BRIDGE, environment=(Entry.plain("KUBE_NETWORK", "cbr0"),)
    ),
    "kube-proxy overlay, nssm": _made(
        "kube-proxy", "nssm", kube_proxy_args.arguments(_kube_proxy("1.33.13", "overlay"))
    ),
    "kube-proxy overlay, sc": _made("kube-proxy", "sc", kube_proxy_args.arguments(_kube_proxy("1.37.1", "overlay"))),
    "kube-proxy l2bridge, sc": _made(
        "kube-proxy", "sc", _BRIDGE, environment=(Entry.plain("KUBE_NETWORK", "cbr0"), Entry.plain("A", "b c"))
    ),
    "flanneld, nssm": _made("flanneld", "nssm", _FLANNELD, environment=(Entry.plain("NODE_NAME", "win1"),)),
    "a program in a folder with blanks, sc": _made(
        "kubelet",
        "sc",
        ["--config", r"C:\a b\c.yaml", '--x="y z"'],
        layout=replace(LOGS, kubelet_binary=r"C:\Program Files\k\kubelet.exe"),
    ),
}


AT_HAND = [version for version, build in nssm.BUILDS.items() if build.at_hand()]


@pytest.fixture(scope="module", params=AT_HAND)
def wine(request: pytest.FixtureRequest, prefix: Prefix) -> Prefix:
    """The prefix with each nssm.exe at hand in turn where our plans expect it."""
    prefix.place(fetched(nssm.BUILDS[request.param]), NSSM)
    return prefix


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prefix]:
    """One prefix for all."""
    if (why := chroot.missing()) is not None:
        pytest.skip(f"lane wine: {why}")
    with Prefix(tmp_path_factory.mktemp("wine") / "prefix") as prefix:
        yield prefix


def fetched(build: nssm.Build) -> Path:
    """The program; a test that cannot have it is skipped."""
    try:
        return nssm.fetch(build)
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"lane wine: nssm.exe {build.version} could not be fetched by {build.client}: {error}")


class SilentError(AssertionError):
    """A program failed without a word. nssm and sc say why they refuse; Wine has been seen to fail so under load."""


def on_wine(wine: Prefix, ops: Sequence[Op]) -> None:
    """Carries the ops out: programs themselves, registry values by reg.exe."""
    for op in ops:
        if op.op == "run" and op.args["args"][0] in NOT_ON_WINE_AT_ALL:
            continue
        if op.op == "run":
            done = wine.run(op.args["program"], op.args["args"])
            if done.returncode not in op.args["ok_exit"]:
                failure = AssertionError if done.stdout or done.stderr else SilentError
                raise failure(op.args, done.returncode, done.stdout, done.stderr)
        else:
            assert op.op == "registry_set", op
            values = "\\0".join(op.args["value"])
            key = op.args["path"]
            wine.run(REG, ["add", key, "/v", op.args["name"], "/t", "REG_MULTI_SZ", "/d", values, "/f"])


def made_on_wine(wine: Prefix, wanted: Nssm | Native) -> Nssm | Native:
    """The service made, under a name that the prefix has not had before; once more after a silent failure."""
    first, second = (replace(wanted, name=f"{wanted.name}-{next(NUMBERS)}") for _ in range(2))
    try:
        on_wine(wine, first.create())
    except SilentError:
        wine.run(SC, ["delete", first.name])
        on_wine(wine, second.create())
        return second
    return first


def on_the_lab(node: SimulatedNode, ops: Sequence[Op]) -> None:
    for op in ops:
        done = execute_op(node, op.op, dict(op.args))
        assert "failed" not in done, (op.args, done)


def in_the_lab(node: SimulatedNode, key: str) -> Registry:
    """The same shape as Prefix.registry gives."""
    found: Registry = {}
    for path, below in node.registry.walk(key):
        values = {}
        for value in below.values.values():
            match value.data:
                case list():
                    data = "\\0".join(value.data)
                case int():
                    data = hex(value.data)
                case bytes():
                    data = value.data.hex()
                case _:
                    data = value.data
            values[value.name] = (TYPES.get(value.type, value.type), data)
        found[path[len(key) :].strip("\\").lower()] = values
    return found


def comparable(registry: Registry) -> dict[str, dict[str, tuple[str, str]]]:
    """Names without regard to case, without what Wine cannot tell."""
    return {
        key: {
            # Windows writes it as REG_EXPAND_SZ, Wine as REG_SZ.
            name.lower(): ("", data) if name.lower() == "imagepath" else (kind, data)
            for name, (kind, data) in values.items()
            if name.lower() not in NOT_ON_WINE
        }
        for key, values in registry.items()
    }


def differences(real: Registry, simulated: Registry) -> list[str]:
    """What one has and the other has not, or has otherwise."""
    return [
        f"{key}\\{name}: Wine {real.get(key, {}).get(name)}, lab {simulated.get(key, {}).get(name)}"
        for key in sorted({*real, *simulated})
        for name in sorted({*real.get(key, {}), *simulated.get(key, {})})
        if real.get(key, {}).get(name) != simulated.get(key, {}).get(name)
    ]


@pytest.fixture
def node() -> SimulatedNode:
    """A simulated node with the same nssm.exe."""
    node = LabNode("win1")
    node.drive.mkdir(r"C:\k")
    node.drive.write(NSSM, build("nssm", "2.24", resource="2.24"))
    return node


FIRST, *_ = AT_HAND
WITH_EACH = {"kubelet 1.37, nssm", "kube-proxy l2bridge, nssm"}
CASES_OF = [(version, case) for version in AT_HAND for case in CASES if version == FIRST or case in WITH_EACH]
"""All cases with the first nssm.exe, with each other those that have every kind of setting."""


@pytest.mark.lane("wine")
@pytest.mark.parametrize(("wine", "case"), CASES_OF, indirect=["wine"])
def test_the_real_programs_make_the_service_that_the_lab_makes(case: str, wine: Prefix, node: SimulatedNode) -> None:
    made = made_on_wine(wine, CASES[case])
    try:
        on_the_lab(node, made.create())
        key = f"{SERVICES}\\{made.name}"
        real = comparable(wine.registry(key))
        assert not differences(real, comparable(in_the_lab(node, key)))
        assert real[""]["start"] == ("REG_DWORD", "0x2")
    finally:
        wine.run(SC, ["delete", made.name])


@pytest.mark.lane("wine")
def test_the_switch_of_the_network_mode_is_the_same_too(wine: Prefix, node: SimulatedNode) -> None:
    """KP-16: the same service, other arguments, no KUBE_NETWORK any more."""
    bridge = made_on_wine(wine, CASES["kube-proxy l2bridge, nssm"])
    overlay = replace(CASES["kube-proxy overlay, nssm"], name=bridge.name)
    on_the_lab(node, bridge.create())
    key = f"{SERVICES}\\{bridge.name}"
    try:
        service = found(node, key)
        ops = [op for difference in overlay.differences(service) for op in difference.ops]
        settings = [op for op in ops if op.op == "run"]
        assert settings
        on_wine(wine, settings)
        on_the_lab(node, settings)
        assert differences(comparable(wine.registry(key)), comparable(in_the_lab(node, key))) == []
    finally:
        wine.run(SC, ["delete", bridge.name])


def found(node: SimulatedNode, key: str) -> dict[str, object]:
    """The service of that key as a probe reports it, as far as its definition looks at it."""
    parameters = in_the_lab(node, rf"{key}\Parameters")
    values: dict[str, object] = {"AppExit": parameters["appexit"][""][1]}
    for name, (kind, data) in parameters[""].items():
        match kind:
            case "REG_DWORD":
                values[name] = int(data, 16)
            case "REG_MULTI_SZ":
                values[name] = data.split("\\0")
            case _:
                values[name] = data
    display = in_the_lab(node, key)[""]["DisplayName"][1]
    return {
        "display_name": display,
        "image_path": NSSM,
        "start": 2,
        "delayed": False,
        "nssm": values,
        "environment": [],
    }
