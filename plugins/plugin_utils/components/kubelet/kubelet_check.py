# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether a kubelet would start: settings, the assembled command line, kubeadm's files.

kubeadm writes further arguments into kubeadm-flags.env, which follow ours. So the assembled line is checked against the
flags of the version that will run.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...engine import command_line
from ...facts import feature_gates, kubelet_config
from ...facts.flags import KUBELET, PRE_RELEASE, PRIORITY_CLASSES, TRUE, line_for, normalize
from ...facts.quantity import SYSTEM_MEMORY_FLOOR, quantity
from ...facts.service_wrappers import GRACEFUL_SHUTDOWN_GATE, GRACEFUL_SHUTDOWN_SERVICE, GRACEFUL_SHUTDOWN_SINCE
from ...facts.version import Line, Version
from ..flag_check import CommandLine, Given, contradictions, gate_problems, line_problem, read
from . import own_config
from .duration import duration
from .kubelet_args import DOCKERSHIM_ENDS, Kubelet, arguments, configuration, endpoint, gates
from .places import ENV_FILE, drop_in_dir

OWN = "kubelet's arguments"
"""Names of the places of arguments in messages."""

NOT_OURS = frozenset({"pod-infra-container-image", "container-runtime"})
"""kubeadm writes these for kubelets of all kinds. With containerd they mean nothing: its sandbox image is in
config.toml, and `remote` is the only runtime from 1.24 on (before, kubelet_args sets it). Source: kubernetes
v1.23.17, v1.34.4 cmd/kubeadm/app/phases/kubelet/flags.go."""

PORT_FORWARD_PAUSE = Version.parse("1.4.1")
"""The first pause image for Windows with wincat, which `kubectl port-forward` runs in the sandbox.

Source: kubernetes.io, Windows in Kubernetes, v1.22, Troubleshooting (port-forward)."""

CLOUD_PAIRS = Line(1, 29)
"""The first minor release whose kubelet takes two addresses with --cloud-provider=external: CloudDualStackNodeIPs is
on by default. Source: kubernetes v1.29.0 pkg/features/kube_features.go."""

_VARIABLE = "KUBELET_KUBEADM_ARGS="
_TAINT = re.compile(r"[^=:,'\"\s]+(=[^=:,'\"\s]*)?:(NoSchedule|PreferNoSchedule|NoExecute)")
_MEMORY_EVICTION = Line(1, 31)
"""The first minor release that evicts on memory on Windows. Source: kubernetes v1.31.14
pkg/kubelet/eviction/helpers_windows.go, which v1.30.14 does not have."""
_NONE_IS_TAKEN = Line(1, 31)
"""The first minor release whose kubelet accepts enforceNodeAllocatable `none` on Windows; earlier ones refuse every
list that is not empty. Source: kubernetes v1.22.17, v1.27.16, v1.30.14, v1.31.14, v1.37.1
pkg/kubelet/apis/config/validation/validation_windows.go, validateKubeletOSConfiguration."""
_HOST_NETWORK_CONTAINERD = Version.parse("1.7.0")


def check_command_line(argv: Sequence[str], version: Version, env_file_text: str = "") -> list[str]:
    """Why a kubelet of `version` would not start or not do what its arguments say: one sentence each.

    `argv` are the arguments without the program; `env_file_text` is the text of kubeadm-flags.env.
    """
    if sentence := line_problem(version.line):
        return [sentence]
    parts = ((OWN, argv), (ENV_FILE, env_arguments(env_file_text)))
    line = read(parts, KUBELET, version.line)
    return [
        *line.problems,
        *contradictions(line),
        *gate_problems(line, "kubelet", version.line),
        *_values(line, version.line),
    ]


def env_arguments(text: str) -> list[str]:
    r"""The arguments in kubeadm-flags.env, `KUBELET_KUBEADM_ARGS="--a=b --c"`.

    kubeadm quotes the whole as Go does (`C:\\k` for C:\k).
    Source: kubernetes v1.37.1 cmd/kubeadm/app/phases/kubelet/flags.go.
    """
    for row in text.splitlines():
        if row.strip().startswith(_VARIABLE):
            value = row.strip().removeprefix(_VARIABLE).strip()
            if value.startswith('"'):
                try:
                    value = str(json.loads(value))
                except ValueError:
                    value = value.strip('"')
            return command_line.split(f"kubelet {value}")[1:]
    return []


def drop_unknown(env_file_text: str, version: Version) -> str:
    """kubeadm-flags.env without the arguments that a kubelet of `version` does not know; unchanged if it knows all.

    kubeadm up to 1.34 writes --pod-infra-container-image, on which a kubelet 1.35 exits (kubernetes#133778).
    """
    words = env_arguments(env_file_text)
    known = KUBELET.list_known(version.line)
    kept = [word for word in words if not word.startswith("--") or normalize(word[2:].partition("=")[0]) in known]
    if kept == words:
        return env_file_text
    return f"{_VARIABLE}{json.dumps(command_line.join(kept))}\n"


def list_kubeadm_arguments(kubelet: Kubelet, env_file_text: str) -> tuple[str, ...]:
    """The arguments in kubeadm-flags.env that these settings do not set and that this kubelet knows.

    Our service does not read that file: they are appended to its own arguments, so that the kubeletExtraArgs of the
    user's kubeadm configuration stay in force.
    """
    ours = _list_given(kubelet) | NOT_OURS
    return tuple(_format_flag(flag) for flag in _of_kubeadm(kubelet, env_file_text) if flag.name not in ours)


def find_overruled(kubelet: Kubelet, env_file_text: str) -> list[str]:
    """One sentence for each argument in kubeadm-flags.env that these settings override."""
    ours = read(((OWN, arguments(kubelet)),), KUBELET, line_for(kubelet.version.line))
    return [
        f"{ENV_FILE}: {flag.text}: the service has {given.text} instead, which counts."
        for flag in _of_kubeadm(kubelet, env_file_text)
        if flag.name not in NOT_OURS
        and (given := ours.find_last(flag.name)) is not None
        and given.value.casefold() != flag.value.casefold()
    ]


def _of_kubeadm(kubelet: Kubelet, env_file_text: str) -> tuple[Given, ...]:
    words = env_arguments(drop_unknown(env_file_text, kubelet.version))
    return read(((ENV_FILE, words),), KUBELET, line_for(kubelet.version.line)).given


def _list_given(kubelet: Kubelet) -> set[str]:
    """Names of the flags that the settings set, as arguments or in the drop-in; an argument would win over the
    drop-in."""
    line = read(((OWN, arguments(kubelet)),), KUBELET, line_for(kubelet.version.line))
    known = line_for(kubelet.version.line, PRE_RELEASE)
    there = own_config.list_paths(configuration(kubelet), known) if kubelet.uses_drop_in else ()
    return {
        *(flag.name for flag in line.given),
        *(flag for flag, path in kubelet_config.flags(known).items() if path in there),
    }


def _format_flag(flag: Given) -> str:
    """The flag as one argument: kubeadm may write two."""
    bare = KUBELET.flags[flag.name].boolean and "=" not in flag.text
    return f"--{flag.name}" if bare else f"--{flag.name}={flag.value}"


def problems(kubelet: Kubelet, env_file_text: str = "") -> list[str]:
    """Why these settings are impossible: one sentence each, plus the sentences of `check_command_line`."""
    if sentence := line_problem(kubelet.version.line):
        return [sentence]
    line = kubelet.version.line
    found = []
    if kubelet.options.container_runtime == "dockershim" and line >= DOCKERSHIM_ENDS:
        found.append(
            f"winkube_container_runtime: Kubernetes {DOCKERSHIM_ENDS} removed dockershim, so kubelet "
            f"{kubelet.version} cannot use Docker; use containerd."
        )
        return found
    if kubelet.options.container_runtime == "dockershim" and kubelet.has_configuration:
        found.append(
            "winkube_container_runtime: a node with dockershim joins with winkube_join: kubeconfig; kubeadm gets "
            "containerd's pipe."
        )
    found += [
        f"taint {taint!r}: not <key>=<value>:<effect> with the effect NoSchedule, PreferNoSchedule or NoExecute, "
        "without quotes; for example os=windows:NoSchedule."
        for taint in kubelet.options.taints
        if not _TAINT.fullmatch(taint)
    ]
    for what, reserved in (("system", kubelet.options.system_reserved), ("kube", kubelet.options.kube_reserved)):
        found += [
            f"{what}-reserved {resource}={value}: {value!r} is not a quantity such as 2Gi or 500m."
            for resource, value in sorted(reserved.items())
            if (amount := quantity(value)) is None or amount < 0
        ]
    found += _grace_periods(kubelet)
    found += _host_network(kubelet)
    found += _find_other_runtime(kubelet)
    if kubelet.uses_drop_in:  # these gates are in no argument
        found += [
            sentence
            for name, value in sorted(gates(kubelet).items())
            if (sentence := feature_gates.problem("kubelet", name, value, line))
        ]
        found += _find_double_settings(kubelet)
    found += own_config.problems(kubelet)
    return [*found, *check_command_line(arguments(kubelet), kubelet.version, env_file_text)]


def warnings(kubelet: Kubelet) -> list[str]:
    """Settings that work, but probably not as intended."""
    found = []
    memory = quantity(kubelet.options.system_reserved.get("memory", "0"))
    if memory is not None and memory < SYSTEM_MEMORY_FLOOR:
        found.append(
            f"system-reserved memory is {kubelet.options.system_reserved.get('memory', 'not set')}: Windows and its "
            "services need 2Gi and more; with less, pods are placed on memory that is not there. Set memory: 2Gi."
        )
    ranks = {name: rank for rank, name in enumerate(PRIORITY_CLASSES)}
    if ranks.get(kubelet.options.priority_class, len(ranks)) < ranks["ABOVE_NORMAL_PRIORITY_CLASS"]:
        found.append(
            f"priority class {kubelet.options.priority_class}: busy pods can starve the kubelet until the node is "
            "NotReady; use ABOVE_NORMAL_PRIORITY_CLASS or higher."
        )
    if kubelet.options.eviction_soft and kubelet.version.line < _MEMORY_EVICTION:
        found.append(
            f"eviction-soft: a kubelet {kubelet.version} on Windows evicts nothing by it (from {_MEMORY_EVICTION} on "
            "memory.available works); leave it out."
        )
    if kubelet.options.eviction_hard and kubelet.version.line < _MEMORY_EVICTION:
        found.append(
            f"eviction-hard: a kubelet {kubelet.version} on Windows subtracts it from what pods may request and "
            f"evicts nothing by it (from {_MEMORY_EVICTION} on memory.available works)."
        )
    if kubelet.options.pause_image and (sentence := pause_image_warning(kubelet.options.pause_image)):
        found.append(sentence)
    found += _open_door(kubelet)
    identify = feature_gates.gate("kubelet", "IdentifyPodOS", kubelet.version.line)
    if identify and identify.stage == "alpha":
        found.append("feature gate IdentifyPodOS: set it on kube-apiserver too, else `.spec.os.name` is dropped there.")
    return found


def _open_door(kubelet: Kubelet) -> list[str]:
    """Extra arguments that let everyone in."""
    line = read((("extra arguments", kubelet.extra),), KUBELET, line_for(kubelet.version.line))
    mode = line.find_last("authorization-mode")
    if mode is None or mode.value != "AlwaysAllow":
        return []
    return [
        f"{mode.place}: {mode.text}: anyone who passes the kubelet's authentication may run commands in every pod of "
        "this node; leave it out."
    ]


def pause_image_warning(image: str) -> str | None:
    """A sentence for a sandbox image too old for `kubectl port-forward`; None for a tag without a version number."""
    tag = image.rpartition("/")[2].partition(":")[2]
    if not re.fullmatch(r"\d+\.\d+(\.\d+)?", tag):
        return None
    version = Version.parse(tag if tag.count(".") == 2 else f"{tag}.0")
    if version >= PORT_FORWARD_PAUSE:
        return None
    return (
        f"pause image {image}: it has no wincat, so kubectl port-forward cannot reach pods on this node; use "
        f"{PORT_FORWARD_PAUSE} or newer."
    )


def conflicts(argv: Sequence[str], kubelet: Kubelet, config: Mapping[str, Any]) -> list[str]:
    """Settings that differ between the arguments and a KubeletConfiguration (kubeadm's config.yaml).

    The argument wins, and a reader of the file would not know.
    """
    line = read(((OWN, argv),), KUBELET, line_for(kubelet.version.line))
    wanted = configuration(kubelet)
    found = []
    for flag, name in kubelet_config.flags(kubelet.version.line).items():
        given = line.find_last(flag)
        if given is not None and name in wanted and name in config and config[name] != wanted[name]:
            found.append(
                f"--{flag}={given.value} and {name}: {json.dumps(config[name])} in the configuration file differ; the "
                "argument wins. Set one of them, or both to the same."
            )
    return found


def _find_double_settings(kubelet: Kubelet) -> list[str]:
    """Extra arguments for settings of the drop-in, ours or the user's (winkube_kubelet_config)."""
    line = kubelet.version.line
    overriding = kubelet_config.flags(line)
    own = own_config.list_paths(kubelet.options.config, line)
    there = own_config.list_paths(configuration(kubelet), line)
    where = f"stands in the drop-in {drop_in_dir(kubelet.layout)}"
    return [
        f"{flag.place}: {flag.text}: {path} {where}"
        + (f" ({own_config.VARIABLE}); take one of the two out." if path in own else "; change the setting instead.")
        for flag in read((("extra arguments", kubelet.extra),), KUBELET, line).given
        if (path := overriding.get(flag.name)) in there
    ]


_GRACE = "winkube_kubelet_shutdown_grace_period"


def _grace_periods(kubelet: Kubelet) -> list[str]:
    """Mistakes in the grace periods, as the kubelet validates them. Source: kubernetes v1.22.17, v1.37.1
    pkg/kubelet/apis/config/validation/validation.go, ValidateKubeletConfiguration."""
    given = {
        _GRACE: kubelet.options.shutdown_grace_period,
        f"{_GRACE}_critical_pods": kubelet.options.shutdown_grace_period_critical_pods,
    }
    total, critical = given.values()
    if not total:
        return (
            [f"{_GRACE}_critical_pods: {critical} is part of {_GRACE}, which is empty; set both."] if critical else []
        )
    found = []
    for name, text in given.items():
        seconds = duration(text) if text else 0
        if seconds is None:
            found.append(f"{name}: {text!r} is not a duration such as 60s or 1m30s.")
        elif seconds and seconds < 1:
            found.append(f"{name}: {text} is shorter than a second; a kubelet takes 0s, or 1s and more.")
    if not found and (duration(critical) or 0) > (duration(total) or 0):
        found.append(f"{_GRACE}_critical_pods: {critical} is more than {_GRACE}: {total}, of which it is a part.")
    if not kubelet.uses_drop_in and kubelet.version.line >= GRACEFUL_SHUTDOWN_SINCE:
        found.append(
            f"{_GRACE}: only a KubeletConfiguration has it, no flag, and this node has none; it needs "
            "winkube_join: kubeadm."
        )
    return found


def graceful_shutdown(kubelet: Kubelet, config: Mapping[str, Any], manager: str, service: str) -> list[str]:
    """Why a grace period, ours or that of kubeadm's file, has no effect on this node; empty if it works, or if there
    is none."""
    period = kubelet.options.shutdown_grace_period or str(config.get("shutdownGracePeriod") or "")
    if not duration(period):
        return []
    version, name = kubelet.version, f"shutdownGracePeriod {period}"
    gate = feature_gates.gate("kubelet", GRACEFUL_SHUTDOWN_GATE, version.line)
    on = kubelet.options.feature_gates.get(GRACEFUL_SHUTDOWN_GATE, bool(gate and gate.default))
    why = ""
    if version.line < GRACEFUL_SHUTDOWN_SINCE:
        why = f"a kubelet {version} on Windows has no graceful node shutdown ({GRACEFUL_SHUTDOWN_SINCE} is the first)."
    elif not on:
        why = (
            f"the feature gate {GRACEFUL_SHUTDOWN_GATE} is off; set it in winkube_kubelet_feature_gates. Graceful node "
            "shutdown has it on by default from 1.34 on."
        )
    elif manager == "nssm":
        why = (
            "the kubelet runs under nssm, and Windows tells of a shutdown only the service itself: no pod is ended "
            "gracefully. winkube_service_manager: sc converts the service."
        )
    elif service.casefold() != GRACEFUL_SHUTDOWN_SERVICE:
        why = (
            f"for its graceful shutdown the kubelet looks for the service {GRACEFUL_SHUTDOWN_SERVICE}, and this one is "
            f"{service} (winkube_kubelet_service_name)."
        )
    return [f"{name} does nothing: {why}"] if why else []


def _find_other_runtime(kubelet: Kubelet) -> list[str]:
    """A kubelet that uses another pipe than this node's containerd never becomes Ready."""
    given = read(((OWN, kubelet.extra),), KUBELET, line_for(kubelet.version.line)).find_last(
        "container-runtime-endpoint"
    )
    wanted = endpoint(kubelet.layout.containerd_pipe)
    if (
        given is None
        or not kubelet.layout.containerd_pipe
        or str(given.value).replace("\\", "/").casefold() == wanted.casefold()
    ):
        return []
    return [
        f"{given.place}: {given.text}: containerd listens on {wanted} (winkube_containerd_pipe); leave it out, the "
        "role sets that pipe."
    ]


def _host_network(kubelet: Kubelet) -> list[str]:
    if "WindowsHostNetwork" not in kubelet.options.feature_gates:
        return []
    found = feature_gates.gate("kubelet", "WindowsHostNetwork", kubelet.version.line)
    if found is not None and found.stage == "deprecated":
        return [
            f"feature gate WindowsHostNetwork: deprecated and without effect in Kubernetes {kubelet.version.line} "
            "(it was alpha in 1.26 to 1.32); leave it out."
        ]
    if kubelet.containerd_version is not None and kubelet.containerd_version < _HOST_NETWORK_CONTAINERD:
        return [
            f"feature gate WindowsHostNetwork: containerd {kubelet.containerd_version} cannot do it; use 1.7 or "
            "newer, or leave the gate out."
        ]
    return []


def _values(line: CommandLine, version: Line) -> list[str]:
    """Values with which a kubelet on Windows does not start, or that are surely mistakes."""
    found = []
    allocatable = line.find_last("enforce-node-allocatable")
    if allocatable and allocatable.value == "none" and version < _NONE_IS_TAKEN:
        found.append(
            f"{allocatable.place}: {allocatable.text}: a kubelet {version} on Windows takes an empty list only (none "
            f"is taken from {_NONE_IS_TAKEN} on); write --enforce-node-allocatable= with nothing behind it."
        )
    elif allocatable and allocatable.value not in {"", "none"}:
        found.append(
            f"{allocatable.place}: {allocatable.text}: Windows has no cgroups to enforce anything with; write "
            "--enforce-node-allocatable= with nothing behind it."
        )
    qos = line.find_last("cgroups-per-qos")
    if qos and qos.value.lower() in TRUE:
        found.append(f"{qos.place}: {qos.text}: Windows has no cgroups; write --cgroups-per-qos=false.")
    priority = line.find_last("windows-priorityclass")
    if priority and priority.value not in PRIORITY_CLASSES:
        found.append(
            f"{priority.place}: {priority.text}: no priority class; kubelet takes one of {', '.join(PRIORITY_CLASSES)}."
        )
    hostname = line.find_last("hostname-override")
    if hostname and hostname.value != hostname.value.lower():
        found.append(
            f"{hostname.place}: {hostname.text}: names of nodes are lower-case, and kube-proxy and flanneld look for "
            f"the same one; write --hostname-override={hostname.value.lower()}."
        )
    runtime = line.find_last("container-runtime")
    if runtime and runtime.value != "remote" and version >= DOCKERSHIM_ENDS:
        found.append(f"{runtime.place}: {runtime.text}: Kubernetes {DOCKERSHIM_ENDS} removed dockershim; use remote.")
    pipe, images = line.find_last("container-runtime-endpoint"), line.find_last("image-service-endpoint")
    if pipe and images and images.value and images.value != pipe.value:
        found.append(
            f"{images.place}: --image-service-endpoint is {images.value!r} and --container-runtime-endpoint is "
            f"{pipe.value!r}: containerd serves both on one pipe; leave out --image-service-endpoint."
        )
    return [*found, *_node_addresses(line, version)]


def _node_addresses(line: CommandLine, version: Line) -> list[str]:
    """Mistakes in --node-ip: a kubelet takes one address, or one of each family. With a cloud provider it takes two
    only if that is external, from CLOUD_PAIRS on. It ignores a text that is not an address and reports another one.

    Sources: kubernetes v1.22.17, v1.24.17 cmd/kubelet/app/server.go (run); v1.27.4, v1.37.1
    component-helpers/node/util/ips.go, ParseNodeIPArgument; kubelet_node_status.go, validateNodeIP.
    """
    given = line.find_last("node-ip")
    if not given or not given.value or given.value.startswith("--"):  # another check reports the missing value
        return []
    place = f"{given.place}: {given.text}"
    try:
        addresses = [ipaddress.ip_address(part.strip()) for part in given.value.split(",")]
    except ValueError as error:
        return [f"{place}: {error}; name an address of this host, or one of each family with a comma between them."]
    wrong = [str(each) for each in addresses if each.is_loopback or each.is_multicast or each.is_link_local]
    found = []
    if len(addresses) > 2 or len({each.version for each in addresses}) != len(addresses):
        found.append(f"{place}: a kubelet takes one address, or one of each family, such as 10.0.0.5,fd00::5.")
    elif len(addresses) == 2 and any(each.is_unspecified for each in addresses):
        found.append(f"{place}: a kubelet takes no 0.0.0.0 and no :: in a pair of addresses.")
    if wrong:
        found.append(f"{place}: a kubelet takes no address such as {', '.join(wrong)}: other machines do not reach it.")
    provider = line.find_last("cloud-provider")
    one = provider and provider.value and (provider.value != "external" or version < CLOUD_PAIRS)
    if len(addresses) == 2 and provider and one:
        found.append(
            f"{place}: with {provider.text} a kubelet {version} takes one address (two from {CLOUD_PAIRS} on, with "
            "--cloud-provider=external)."
        )
    return found
