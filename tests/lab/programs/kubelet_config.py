"""kubelet.exe's configuration, judged by kubernetes v1.37.1 cmd/kubelet/app/server.go.

What a kubelet runs with: config.yaml, its drop-ins, and the flags over them.

Sources: kubernetes cmd/kubelet/app/server.go (loadConfigFile, mergeKubeletConfigurations, kubeletConfigFlagPrecedence),
pkg/kubelet/apis/config/validation/validation{,_windows}.go, pkg/kubelet/apis/config/v1beta1/defaults.go.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import yaml

from tests.lab.cluster.client import windows
from tests.lab.cluster.store import merged
from tests.lab.machine.errors import WinError
from tests.lab.programs import kubelet_shutdown
from tests.lab.programs.daemon import ExitError
from tests.lab.programs.flags import FlagError, Flags, check_gates, gate_list, pairs

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

DEFAULT_ENDPOINT = "npipe:////./pipe/containerd-containerd"
ALPHA_VARIABLE = "KUBELET_CONFIG_DROPIN_DIR_ALPHA"
_LABEL_PREFIXES = ("kubelet.kubernetes.io", "node.kubernetes.io")
_LABELS = {
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/instance-type",
    "beta.kubernetes.io/os",
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "kubernetes.io/arch",
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
}


@dataclass(frozen=True)
class KubeletConfig:
    endpoint: str
    healthz_port: int
    serving: bool
    register: bool
    taints: tuple[dict[str, str], ...]
    cert_dir: str
    client_ca: str
    anonymous: bool
    authorization: str
    read_only_port: int
    document: dict[str, Any]

    def unauthenticated(self) -> tuple[int, bytes]:
        """What port 10250 says to a caller that shows nothing."""
        if not self.anonymous:
            return 401, b"Unauthorized"
        if self.authorization == "Webhook":
            return 403, b"Forbidden (user=system:anonymous, verb=get, resource=nodes, subresource=proxy)"
        return 200, b'{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[]}'


def load(node: SimulatedNode, version: str, flags: Flags, environment: dict[str, str]) -> KubeletConfig:
    """ExitError with the kubelet's own words."""
    minor = int(version.split(".")[1])
    _check_labels(pairs(flags.text("node-labels")))
    document = _file(node, flags.text("config")) if flags.text("config") else {}
    if minor >= 32:  # the defaults ask the gates: v1.32.13 pkg/kubelet/apis/config/v1beta1/defaults.go
        said = "panic: failed to merge global and in-flight KubeletConfiguration while setting defaults, error: "
        _gates(version, document, said)
    if flags.text("config"):
        # A default of config.yaml alone, which a drop-in's number does not change: v1.37.2 server.go, loadConfigFile.
        pulls = document.get("maxParallelImagePulls")
        document = {"serializeImagePulls": pulls is None or pulls < 2, **document}
    if flags.text("config-dir"):
        document = _with_drop_ins(node, minor, flags.text("config-dir"), document, environment)
    _check(version, flags, document)
    kubelet_shutdown.check(document)
    endpoint = flags.text("container-runtime-endpoint") or str(document.get("containerRuntimeEndpoint") or "")
    taints = tuple(_taint(part) for part in flags.text("register-with-taints").split(",") if part)
    if not taints:
        taints = tuple(dict(item) for item in document.get("registerWithTaints") or [])
    health = flags.text("healthz-port") or document.get("healthzPort")
    ca = flags.text("client-ca-file") or _client_ca(minor, flags.text("config"), document)
    if ca and not node.drive.is_file(windows(ca, "C:\\")):
        raise ExitError(
            f"failed to construct kubelet dependencies: unable to load client CA file {ca}: open {ca}: The system "
            "cannot find the file specified."
        )
    return KubeletConfig(
        endpoint or DEFAULT_ENDPOINT,
        10248 if health is None else int(health),
        bool(document.get("serverTLSBootstrap")) or flags.on("rotate-server-certificates"),
        flags.on("register-node", bool(document.get("registerNode", True))),
        taints,
        windows(flags.text("cert-dir", "/var/lib/kubelet/pki"), "C:\\"),
        ca,
        *_access(flags, document),
        _with_flags(flags, document),
    )


ROOTED_FROM = 30
"""From this minor on a path that begins with a slash counts as absolute: pkg/util/filesystem/util_windows.go, IsAbs;
1.27.4 asks filepath.IsAbs, 1.28 and 1.29 are unverified."""


def _client_ca(minor: int, file: str, document: dict[str, Any]) -> str:
    """A path that is not absolute lies beside the file that says it.

    Source: pkg/kubelet/kubeletconfig/configfiles/configfiles.go, resolveRelativePaths.
    """
    path = str(((document.get("authentication") or {}).get("x509") or {}).get("clientCAFile") or "")
    path = path.replace("/", "\\")
    rooted = path.startswith("\\") and minor >= ROOTED_FROM
    if not path or path[1:3] == ":\\" or rooted:
        return path
    folder = windows(file, "C:\\").rpartition("\\")[0]
    return f"{folder}\\{path.lstrip(chr(92))}"


def _with_flags(flags: Flags, document: dict[str, Any]) -> dict[str, Any]:
    """The reservations, and what pods ask for names, as the kubelet shows them under /configz: flags stand before the
    file."""
    names = {"systemReserved": "system-reserved", "kubeReserved": "kube-reserved"}
    given: dict[str, Any] = {key: pairs(flags.text(flag)) for key, flag in names.items() if flags.given(flag)}
    if flags.given("cluster-dns"):
        given["clusterDNS"] = flags.text("cluster-dns").split(",")
    if flags.given("cluster-domain"):
        given["clusterDomain"] = flags.text("cluster-domain")
    return {**document, **given}


def _access(flags: Flags, document: dict[str, Any]) -> tuple[bool, str, int]:
    """A configuration file has other defaults than flags: options.go, applyLegacyDefaults."""
    by_file = bool(flags.text("config"))
    anonymous = ((document.get("authentication") or {}).get("anonymous") or {}).get("enabled", not by_file)
    mode = (document.get("authorization") or {}).get("mode") or ("Webhook" if by_file else "AlwaysAllow")
    port = document.get("readOnlyPort", 0 if by_file else 10255)
    return (
        flags.on("anonymous-auth", bool(anonymous)),
        flags.text("authorization-mode", str(mode)),
        int(flags.text("read-only-port", str(port))),
    )


def _file(node: SimulatedNode, given: str) -> dict[str, Any]:
    path = windows(given, "C:\\")
    failed = (
        f"failed to load kubelet config file, path: {given}, error: failed to load Kubelet config file {given}, error"
    )
    try:
        text = node.drive.read(path).decode("utf-8-sig", errors="replace")
    except WinError as error:
        raise ExitError(f'{failed} failed to read kubelet config file "{given}", error: open {given}: {error.text}')
    try:
        document = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ExitError(f"{failed} error converting YAML to JSON: yaml: {' '.join(str(error).split())}") from error
    if document is None:
        raise ExitError(f'{failed} kubelet config file "{given}" was empty')
    if isinstance(document, dict) and not document.get("apiVersion") and document.get("kind"):
        shown = json.dumps(document)
        raise ExitError(f"{failed} failed to decode: Object 'apiVersion' is missing in '{shown}'")
    if not isinstance(document, dict) or document.get("kind") != "KubeletConfiguration":
        shown = json.dumps(document)
        raise ExitError(f"{failed} failed to decode: Object 'Kind' is missing in '{shown}'")
    if document.get("apiVersion") != "kubelet.config.k8s.io/v1beta1":
        said = f'no kind "KubeletConfiguration" is registered for version "{document.get("apiVersion")}"'
        raise ExitError(f"{failed} {said}")
    _check_types(given, document)
    return document


VERSIONED_FROM = 32
"""From this minor on drop-ins are merged into the form of v1beta1, where a null deletes; before, into the kubelet's own
form, whose names are others: v1.31.14, v1.32.13 cmd/kubelet/app/server.go, mergeKubeletConfigurations."""


def _with_drop_ins(
    node: SimulatedNode, minor: int, given: str, document: dict[str, Any], environment: dict[str, str]
) -> dict[str, Any]:
    if minor < 30 and ALPHA_VARIABLE not in environment:
        raise ExitError(f"the config-dir flag requires environment variable {ALPHA_VARIABLE}")
    folder = windows(given, "C:\\")
    walk = f'failed to merge kubelet configs: failed to walk through kubelet dropin directory "{given}": '
    if not node.drive.is_dir(folder):
        raise ExitError(f"{walk}CreateFile {given}: The system cannot find the file specified.")
    if minor >= VERSIONED_FROM:
        # Written as JSON without what is empty, and read again.
        document = {key: value for key, value in document.items() if (value != [] and value != {}) or key in POINTERS}
    for path in _walk(node, folder):
        if path.endswith(".conf"):
            try:
                part = _file(node, path)
            except ExitError as error:
                raise ExitError(f"{walk}{str(error).replace('config file,', 'dropin file,', 1)}") from error
            document = merged(document, part) if minor >= VERSIONED_FROM else _added(document, part)
    return document


def _walk(node: SimulatedNode, folder: str) -> list[str]:
    """Files of a folder and those below it, each folder's entries sorted by their bytes: Go's filepath.WalkDir."""
    found = []
    for name in sorted(node.drive.listdir(folder)):
        path = f"{folder}\\{name}"
        found += _walk(node, path) if node.drive.is_dir(path) else [path]
    return found


def _added(old: Any, part: Any) -> Any:
    """A merge in which a null finds nothing to delete."""
    if not isinstance(part, dict):
        return part
    result = dict(old) if isinstance(old, dict) else {}
    return {**result, **{key: _added(result.get(key), value) for key, value in part.items() if value is not None}}


POINTERS = ("userNamespaces", "tracing")
REFUSED_ON_WINDOWS = {"singleProcessOOMKill": 32, "userNamespaces": 33, "defaultPodSysctls": 37}
"""Field -> the first minor whose kubelet ends on it: validation_windows.go v1.31.14 to v1.37.2; a kubelet that does not
have the field yet ignores it."""
_NUMBERS = (
    *("maxPods", "port", "healthzPort", "readOnlyPort", "podsPerCore", "eventBurst", "kubeAPIBurst"),
    "maxParallelImagePulls",
)
_SWITCHES = (
    *("serverTLSBootstrap", "rotateCertificates", "cgroupsPerQOS", "failSwapOn", "enableServer", "registerNode"),
    *("serializeImagePulls", "enableSystemLogQuery", "enableSystemLogHandler"),
)


def _check_types(path: str, document: dict[str, Any]) -> None:
    """Go's decoder takes no text for a number and none for a boolean."""
    for names, kind, shown in ((_NUMBERS, int, "int32"), (_SWITCHES, bool, "bool")):
        for name in names:
            value = document.get(name)
            if value is not None and (not isinstance(value, kind) or (kind is int and isinstance(value, bool))):
                said = "string" if isinstance(value, str) else "number" if isinstance(value, float) else "bool"
                raise ExitError(
                    f"failed to load kubelet config file, path: {path}, error: failed to load Kubelet config file "
                    f"{path}, error failed to decode: json: cannot unmarshal {said} into Go struct field "
                    f"KubeletConfiguration.{name} of type {shown}"
                )


def _gates(version: str, document: dict[str, Any], said: str) -> None:
    try:
        check_gates("kubelet", version, {name: str(on) for name, on in (document.get("featureGates") or {}).items()})
    except FlagError as error:
        raise ExitError(f"{said}{error}") from error


def _check(version: str, flags: Flags, document: dict[str, Any]) -> None:
    gates = {name: str(value) for name, value in (document.get("featureGates") or {}).items()}
    gates |= pairs(flags.text("feature-gates"))
    try:
        check_gates("kubelet", version, gates)
    except FlagError as error:
        raise ExitError(f"failed to set feature gates from initial flags-based config: {error}") from error
    qos = flags.on("cgroups-per-qos", bool(document.get("cgroupsPerQOS", True)))
    enforce = [str(item) for item in document.get("enforceNodeAllocatable", ["pods"])]
    if flags.given("enforce-node-allocatable"):
        enforce = [part for part in flags.text("enforce-node-allocatable").strip('"').split(",") if part]
    cgroups = {
        f"{key}-reserved": flags.text(f"{key}-reserved-cgroup", str(document.get(f"{key}ReservedCgroup") or ""))
        for key in ("system", "kube")
    }
    minor = int(version.split(".")[1])
    problems = [*_enforced(minor, qos, enforce, cgroups), *_images_and_logs(minor, document, gates)]
    problems += [
        f"invalid configuration: {name} is not supported on Windows"
        for name, since in REFUSED_ON_WINDOWS.items()
        if minor >= since and document.get(name) is not None and (document[name] != {} or name in POINTERS)
    ][:1]
    if problems:
        said = problems[0] if len(problems) == 1 else f"[{', '.join(problems)}]"
        raise ExitError(
            f"failed to validate kubelet configuration, error: {said}, path: &TypeMeta{{Kind:,APIVersion:,}}"
        )


def _images_and_logs(minor: int, document: dict[str, Any], gates: dict[str, str]) -> list[str]:
    """Fields that have no flag.

    Source: kubernetes v1.34.9, v1.37.2 pkg/kubelet/apis/config/validation/validation.go, ValidateKubeletConfiguration.
    """

    def on(name: str) -> bool:
        default = gate_list(minor).get(name, ("false", False))[0]
        return gates.get(name, default).lower() == "true"

    pulls = document.get("maxParallelImagePulls")
    serial = document.get("serializeImagePulls", pulls is None or pulls < 2)  # without a file it has its own default
    period = (document.get("crashLoopBackOff") or {}).get("maxContainerRestartPeriod")
    found = []
    if pulls is not None and pulls < 1:
        found.append(f"maxParallelImagePulls {pulls} must be a positive number")
    if serial and pulls is not None and pulls > 1:
        found.append(
            "maxParallelImagePulls cannot be larger than 1 unless SerializeImagePulls (--serialize-image-pulls) is set "
            "to false"
        )
    if period is not None and not on("KubeletCrashLoopBackOffMax"):
        found.append(
            "FeatureGate KubeletCrashLoopBackOffMax not enabled, CrashLoopBackOff.MaxContainerRestartPeriod must not "
            "be set"
        )
    if document.get("enableSystemLogQuery") and not on("NodeLogQuery"):
        found.append("NodeLogQuery feature gate is required for enableSystemLogQuery")
    if document.get("enableSystemLogQuery") and not document.get("enableSystemLogHandler", True):
        found.append("enableSystemLogHandler is required for enableSystemLogQuery")
    return [f"invalid configuration: {each}" for each in found]


def _enforced(minor: int, qos: bool, enforce: list[str], cgroups: dict[str, str]) -> list[str]:
    """What it says of cgroups: up to 1.30 it refuses them on Windows, `none` too; from 1.31 on it ignores them there.

    Sources: kubernetes v1.22.17, v1.30.14, v1.31.14 pkg/kubelet/apis/config/validation/validation{,_windows}.go.
    """
    name = "(--enforce-node-allocatable)"
    problems = []
    if minor < 31 and not qos and enforce:
        problems.append(
            f"invalid configuration: enforceNodeAllocatable {name} is not supported unless cgroupsPerQOS "
            "(--cgroups-per-qos) is set to true"
        )
    for value in enforce:
        if value == "none":
            if len(enforce) > 1:
                problems.append(
                    f"invalid configuration: enforceNodeAllocatable {name} may not contain additional enforcements "
                    'when "none" is specified'
                )
            continue
        if value not in {"pods", *cgroups}:
            problems.append(f'invalid configuration: option "{value}" specified for enforceNodeAllocatable {name}.')
        elif not cgroups.get(value, "/"):
            problems.append(
                f"invalid configuration: {value.partition('-')[0]}ReservedCgroup (--{value}-cgroup) must be specified "
                f'when "{value}" contained in enforceNodeAllocatable {name}'
            )
        if minor >= 31 and not qos:
            problems.append(
                f'invalid configuration: cgroupsPerQOS (--cgroups-per-qos) must be set to true when "{value}" '
                f"contained in enforceNodeAllocatable {name}"
            )
    if minor < 31 and qos:
        problems.append("invalid configuration: CgroupsPerQOS (--cgroups-per-qos) true is not supported on Windows")
    if minor < 31 and enforce:
        shown = " ".join(enforce)
        problems.append(f"invalid configuration: EnforceNodeAllocatable {name} [{shown}] is not supported on Windows")
    return problems


def _check_labels(labels: dict[str, str]) -> None:
    """Source: kubernetes cmd/kubelet/app/options/options.go, ValidateKubeletFlags."""
    unknown = []
    for name in labels:
        space = name.partition("/")[0] if "/" in name else ""
        ours = any(space == one or space.endswith(f".{one}") for one in ("kubernetes.io", "k8s.io"))
        prefix = any(space == one or space.endswith(f".{one}") for one in _LABEL_PREFIXES)
        if ours and not prefix and name not in _LABELS:
            unknown.append(name)
    if unknown:
        raise ExitError(
            "failed to validate kubelet flags: unknown 'kubernetes.io' or 'k8s.io' labels specified with "
            f"--node-labels: [{' '.join(sorted(unknown))}]\n--node-labels in the 'kubernetes.io' namespace must begin "
            f"with an allowed prefix ({', '.join(_LABEL_PREFIXES)}) or be in the specifically allowed set "
            f"({', '.join(sorted(_LABELS))})"
        )


def _taint(text: str) -> dict[str, str]:
    rest, colon, effect = text.strip().strip("'\"").rpartition(":")
    key, _, value = rest.partition("=")
    if not colon or effect not in {"NoSchedule", "PreferNoSchedule", "NoExecute"} or not key:
        raise ExitError(f'invalid argument "{text}" for "--register-with-taints" flag: invalid taint effect: {effect}')
    return {"key": key, "value": value, "effect": effect} if value else {"key": key, "effect": effect}
