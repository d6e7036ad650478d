# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The services behind provisioned programs: what they start, whether a new program would start with it, and what says
that it works."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..components import flag_check, healthz
from ..components.containerd import containerd
from ..components.healthz import wait_healthy
from ..components.kube_proxy import kube_proxy_args
from ..components.kubelet import kubelet, kubelet_check
from ..components.layout import Layout
from ..components.registry import DAEMONS
from ..engine import windows_path
from ..engine.batch import Op
from ..engine.environment import names_of
from ..engine.reading import Query, Reading, file_key, file_query
from ..engine.resources.service import ACTIVE, Service
from ..engine.services.definition import AUTOMATIC
from ..engine.services.existing import WINDOWS, AsFound, Existing
from ..engine.tools import wait_run, wait_service
from ..facts.flags import KUBE_PROXY, KUBELET, NEWEST, FlagTable
from ..facts.version import Line, Version, VersionError
from .options import Timeouts
from .provision_items import WRAPPERS, Item

STABLE_S = 10
"""So long a service has to stay up that has no other way to say that it works."""
SETTLED_S = 3
"""So long one has to that does: under nssm (AppThrottle 1.5 s) a program that ends at once shows by then."""
_TABLES: Mapping[str, FlagTable] = {"kubelet": KUBELET, "kube-proxy": KUBE_PROXY}


def explain_bad_start(
    item: Item, found: Mapping[str, Any], version: str, before: str, env_file: str
) -> tuple[list[str], list[str]]:
    """Why the new kubelet or kube-proxy would not start as its service starts it, and what could not be checked.

    `version` is the new program's, `before` the present one's (empty: unknown): what the present one lives with is no
    reason. `env_file` is what kubeadm-flags.env holds, which counts where a script starts the kubelet.
    """
    program = item.name.casefold()
    if program not in _TABLES:
        return [], []
    argv = healthz.find_arguments(found, item.destination)
    own_env = env_file if argv is None and program == "kubelet" else ""
    if argv is None and not own_env:
        return [], [
            f"{item.name}: what the service {item.service} starts it with cannot be told from its definition, so its "
            "arguments are not checked against the new version."
        ]
    try:
        new = Version.parse(version)
    except VersionError:
        return [], [
            f"{item.name}: its version is not known, so the arguments of the service {item.service} are not checked."
        ]
    if new.line < Line(1, 22):
        return [], [
            f"{item.name} {version}: the flags of its release are not known, so the arguments of the service "
            f"{item.service} are not checked."
        ]
    problems = _judge(program, argv or (), new, found, own_env)
    try:
        old = set(_judge(program, argv or (), Version.parse(before), found, own_env))
    except VersionError:
        old = set()
    return [
        f"{item.name} {version} would not start as the service {item.service} starts it; nothing was stopped. "
        f"{sentence}"
        for sentence in problems
        if sentence not in old
    ], []


def _judge(program: str, argv: Sequence[str], version: Version, found: Mapping[str, Any], env_file: str) -> list[str]:
    if program == "kubelet":
        return kubelet_check.check_command_line(argv, version, env_file)
    return kube_proxy_args.check_command_line(argv, version, names_of(_environment(found)))


def _environment(found: Mapping[str, Any]) -> Iterable[Any]:
    nssm = found.get("nssm") or {}
    return (*(found.get("environment") or ()), *(nssm.get("AppEnvironmentExtra") or ()))


def service(
    items: Sequence[Item], found: Mapping[str, Any], layout: Layout, reading: Reading, timeouts: Timeouts
) -> Service:
    """The service that runs these items, as it was made by no matter who made it."""
    program = _program(items, found)
    name = str(found["name"])
    gated = [item for item in items if item.wait_for != "none"]
    ready: tuple[Op, ...] = ()
    stays: tuple[Op, ...] = ()
    if gated:
        ready, stays = ready_ops(gated[0], found, layout, reading, timeouts)
    return Service(
        name=name,
        definition=AsFound(found, program),
        uses=frozenset(file_key(item.destination) for item in items),
        ready=ready,
        start_timeout_s=timeouts.start_timeout,
        stop_timeout_s=timeouts.stop_timeout,
        run=not explain_rest(items, found, layout, reading),
        first_end=bool(gated),
        stays=stays,
    )


def explain_rest(items: Sequence[Item], found: Mapping[str, Any], layout: Layout, reading: Reading) -> str:
    """Why the service is not started afterwards, a clause; empty if it is: it runs now, or Windows would start it at
    boot and it has what it needs."""
    if found.get("state") in ACTIVE:
        return ""
    if found.get("start") != AUTOMATIC:
        return "it is not started automatically"
    item = next((item for item in items if _is(item, "kubelet")), None)
    if item is None:
        return ""
    own = kubeconfigs(item, found)
    if own is None:
        return "" if kubelet.is_configured(layout, reading) else f"{layout.kubelet_kubeconfig} is not there"
    if not own or any(reading.parts.get(file_key(path), {}).get("exists") for path in own):
        return ""
    return f"its command line names {' and '.join(own)}, which the node does not have"


def kubeconfigs(item: Item, found: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The kubeconfigs that a kubelet's own command line names, one of which it needs; none for one without a cluster.
    None where the command line cannot be told, as in a script."""
    argv = healthz.find_arguments(found, item.destination)
    if argv is None:
        return None
    line = flag_check.read((("kubelet", argv),), KUBELET, NEWEST)
    given = (line.find_last(name) for name in ("kubeconfig", "bootstrap-kubeconfig"))
    return tuple(flag.value for flag in given if flag is not None and flag.value)


def needs(items: Iterable[tuple[Item, Mapping[str, Any] | None]]) -> tuple[Query, ...]:
    """What `explain_rest` has to know, besides what was read: the kubeconfigs of kubelets that do not run."""
    return tuple(
        file_query(path)
        for item, found in items
        if found is not None and _is(item, "kubelet") and found.get("state") not in ACTIVE
        for path in kubeconfigs(item, found) or ()
        if windows_path.problem(path) is None
    )


def ready_ops(
    item: Item, found: Mapping[str, Any], layout: Layout, reading: Reading, timeouts: Timeouts
) -> tuple[tuple[Op, ...], tuple[Op, ...]]:
    """What decides whether the service works with its new program, RUNNING proves nothing; and that it goes on so."""
    name, limit = str(found["name"]), timeouts.start_timeout
    where = _answers_at(item, found, layout, reading)
    is_containerd = windows_path.is_same(name, layout.containerd_service)
    stable = timeouts.stable
    if stable is None:
        stable = SETTLED_S if is_containerd or where else STABLE_S
    settled = wait_service(name, "running", limit + stable, stable_s=stable)
    if is_containerd:
        gate = containerd.build_gate(layout, has_ctr=containerd.has_ctr(layout, reading), timeout_s=limit)
        return (*gate, *_cri_answers(layout, reading, limit)), (settled,)
    if where:
        ask = wait_healthy(where, limit)
        return (ask,), (settled, ask)
    return (), (settled,)


def _crictl(layout: Layout) -> str:
    return windows_path.join(layout.containerd_bin_dir, "crictl.exe")


def _cri_answers(layout: Layout, reading: Reading, timeout_s: int) -> tuple[Op, ...]:
    """CRI's own Version, where crictl.exe lies beside containerd: the pipe and ctr also answer without the CRI plugin,
    with which a kubelet that depends on it would end."""
    if not reading.parts.get(file_key(_crictl(layout)), {}).get("exists"):
        return ()
    address = f"npipe:////./pipe/{layout.containerd_pipe}"
    return (wait_run(_crictl(layout), "--runtime-endpoint", address, "version", timeout_s=timeout_s),)


def _answers_at(item: Item, found: Mapping[str, Any], layout: Layout, reading: Reading) -> str:
    """The URL at which a component's program says that it is healthy; empty for what does not."""
    daemon = DAEMONS.get(item.name.casefold())
    return "" if daemon is None else healthz.find_url(daemon, found, layout, reading, item.destination)


def _is(item: Item, program: str) -> bool:
    return item.name.casefold() == program


def _program(items: Sequence[Item], found: Mapping[str, Any]) -> str:
    """Whose processes have to be gone before the files are swapped: the service's own program's. A wrapper starts one
    of the items."""
    present = Existing(found).program
    wrapped = present.casefold().startswith(WINDOWS) or windows_path.name(present).casefold() in WRAPPERS
    if wrapped or windows_path.problem(present) is not None:
        return items[0].destination
    return present


def runs_another(item: Item, found: Mapping[str, Any]) -> str | None:
    """A sentence where the service runs a program of that name from another place: the swap would change nothing."""
    present = Existing(found).program
    same_name = windows_path.name(present).casefold() == windows_path.name(item.destination).casefold()
    if not same_name or windows_path.is_same(present, item.destination):
        return None
    return (
        f"{item.name}: the service {item.service} runs {present}, not {item.destination}: it will not notice the new "
        "program."
    )


def reads(layout: Layout) -> tuple[Query, ...]:
    """What the checks need to know besides services and programs."""
    return (*(query for query in kubelet.reads(layout) if query.op == "file"), file_query(_crictl(layout)))
