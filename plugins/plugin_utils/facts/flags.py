# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which flags kubelet and kube-proxy know, Kubernetes 1.22 to 1.37: since when, until when.

Both exit at once on a flag that they do not know ("failed to parse kubelet flag: unknown flag: --...").
`deprecated` marks those that upstream announced to remove, not the many that --help calls deprecated in favour of the
configuration file: they stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..foreign.spelling import meant
from .version import Line

OLDEST = Line(1, 22)
NEWEST = Line(1, 37)
"""The lines that the tables were read from."""
PRE_RELEASE, PRE_RELEASE_READ = Line(1, 38), "1.38.0-beta.0"
"""The line of which gates and the kubelet's fields are known as a pre-release has them; flags are not."""

TRUE = frozenset({"true", "t", "1"})
"""A boolean flag that is on, in small letters. Source: Go strconv.ParseBool."""


class UnknownLineError(ValueError):
    """A line older than the tables; str() is the sentence."""


@dataclass(frozen=True, slots=True)
class Flag:
    """One flag. `since` is None where it is older than OLDEST, `removed` is the first line without it.

    `system`: `windows` or `linux` where only that build has it. `boolean`: without `=` it takes no value.
    """

    name: str
    boolean: bool = False
    since: Line | None = None
    deprecated: Line | None = None
    removed: Line | None = None
    system: str = ""

    def in_line(self, line: Line) -> bool:
        """Whether this line has it, on whatever system."""
        return (self.since is None or self.since <= line) and (self.removed is None or line < self.removed)


@dataclass(frozen=True, slots=True)
class FlagTable:
    """All flags of one program. `spellings`: names that documents use and the program never had, with the right one.
    `instead`: for a removed flag, what to do (the end of a sentence)."""

    program: str
    flags: Mapping[str, Flag]
    spellings: Mapping[str, str]
    instead: Mapping[str, str]
    source: str

    def list_known(self, line: Line, system: str = "windows") -> frozenset[str]:
        """The flags that this line's build for `system` accepts. UnknownLineError for lines before OLDEST."""
        judged = line_for(line)
        return frozenset(
            flag.name for flag in self.flags.values() if flag.in_line(judged) and flag.system in {"", system}
        )

    def list_deprecated(self, line: Line) -> frozenset[str]:
        """Those that upstream announced to remove; not those that it only wants in a configuration file."""
        judged = line_for(line)
        return frozenset(
            flag.name
            for flag in self.flags.values()
            if flag.in_line(judged) and flag.deprecated is not None and flag.deprecated <= judged
        )

    def why_unknown(self, name: str, line: Line) -> str:
        """Why a Windows build of this line refuses `--name`, and what to do, as the rest of a sentence."""
        if name in self.spellings:
            return f"no {self.program} ever had this flag; write --{self.spellings[name]}"
        flag = self.flags.get(name)
        if flag is None and name in self.instead:
            return f"it was removed before Kubernetes {OLDEST}: {self.instead[name]}"
        if flag is None:
            return f"{self.program} has no such flag{_hint(self, name, line)}"
        if flag.system == "linux":
            return "only builds for Linux have it: leave it out"
        if flag.since is not None and line_for(line) < flag.since:
            return f"it came with Kubernetes {flag.since}: leave it out"
        return f"it was removed in Kubernetes {flag.removed}: {self.instead.get(name, 'leave it out')}"


def line_for(line: Line, newest: Line = NEWEST) -> Line:
    """The line whose flags are taken for `line`: its own, for newer ones NEWEST; with PRE_RELEASE as `newest` the one
    whose gates and fields are. UnknownLineError for older ones."""
    if line < OLDEST:
        raise UnknownLineError(
            f"The flags of Kubernetes {line} are not known; the tables begin with {OLDEST}. Install a newer release."
        )
    return min(line, newest)


def parse_flags(blocks: Mapping[str, str]) -> dict[str, Flag]:
    """The flags of blocks `attributes -> names`. Attributes are words: `bool`, `since=1.25`, `deprecated=1.24`,
    `removed=1.27`, `windows`, `linux`."""
    found: dict[str, Flag] = {}
    for attributes, names in blocks.items():
        words = attributes.split()
        lines = {key: Line.parse(value) for key, _equals, value in (word.partition("=") for word in words) if value}
        system = next((word for word in words if word in {"windows", "linux"}), "")
        for name in names.split():
            if name in found:
                raise ValueError(f"--{name} stands in two blocks")
            found[name] = Flag(
                name,
                "bool" in words,
                lines.get("since"),
                lines.get("deprecated"),
                lines.get("removed"),
                system,
            )
    return found


def normalize(name: str) -> str:
    """As the programs see a flag's name: underscores are hyphens. Source: component-base cli/flag/flags.go,
    WordSepNormalizeFunc, set by kubelet and kube-proxy."""
    return name.replace("_", "-")


def _hint(table: FlagTable, name: str, line: Line) -> str:
    near = meant(name, sorted(table.list_known(line)))
    return f"; meant is probably --{near}" if near else ": leave it out"


_LOGGING = {
    # klog's own flags, and those of component-base that came for them
    "deprecated=1.23 removed=1.26": "log-backtrace-at log-dir log-file log-file-max-size stderrthreshold",
    "bool deprecated=1.23 removed=1.26": """
        add-dir-header alsologtostderr logtostderr one-output skip-headers skip-log-headers
    """,
    "since=1.30": "log-text-info-buffer-size",
    "bool since=1.30": "log-text-split-stream",
}
_LOG_FILES = dict.fromkeys(
    ("log-dir", "log-file", "logtostderr", "alsologtostderr"),
    "its output goes to the log file of the service (nssm's AppStdout and AppStderr, or kube-log-runner.exe)",
)
_TAGS = (
    "v1.22.17, v1.23.17, v1.24.17, v1.25.16, v1.26.15, v1.27.16, v1.28.15, v1.29.15, v1.30.14, v1.31.14, v1.32.13, "
    "v1.33.13, v1.34.4, v1.35.6, v1.36.3, v1.37.1"
)

_KUBELET = _LOGGING | {
    "": """
        address allowed-unsafe-sysctls authentication-token-webhook-cache-ttl authorization-mode
        authorization-webhook-cache-authorized-ttl authorization-webhook-cache-unauthorized-ttl bootstrap-kubeconfig
        cert-dir cgroup-driver cgroup-root client-ca-file cloud-provider cluster-dns cluster-domain config
        container-log-max-files container-log-max-size container-runtime-endpoint cpu-cfs-quota-period
        cpu-manager-policy cpu-manager-policy-options cpu-manager-reconcile-period enforce-node-allocatable
        event-burst event-qps
        eviction-hard eviction-max-pod-grace-period eviction-minimum-reclaim eviction-pressure-transition-period
        eviction-soft eviction-soft-grace-period feature-gates file-check-frequency hairpin-mode healthz-bind-address
        healthz-port hostname-override http-check-frequency image-credential-provider-bin-dir
        image-credential-provider-config image-gc-high-threshold image-gc-low-threshold image-service-endpoint
        kube-api-burst kube-api-content-type kube-api-qps kube-reserved kube-reserved-cgroup kubeconfig
        kubelet-cgroups lock-file log-flush-frequency logging-format manifest-url manifest-url-header max-open-files
        max-pods memory-manager-policy minimum-image-ttl-duration node-ip node-labels node-status-max-images
        node-status-update-frequency oom-score-adj pod-cidr pod-manifest-path pod-max-pids pods-per-core port
        provider-id qos-reserved read-only-port register-with-taints registry-burst registry-qps reserved-cpus
        reserved-memory resolv-conf root-dir runtime-cgroups runtime-request-timeout streaming-connection-idle-timeout
        sync-frequency system-cgroups system-reserved system-reserved-cgroup tls-cert-file tls-cipher-suites
        tls-min-version tls-private-key-file topology-manager-policy topology-manager-scope v vmodule
        volume-plugin-dir volume-stats-agg-period
    """,
    "bool": """
        anonymous-auth authentication-token-webhook cgroups-per-qos contention-profiling cpu-cfs-quota
        enable-controller-attach-detach enable-debugging-handlers enable-server exit-on-lock-contention fail-swap-on
        help kernel-memcg-notification make-iptables-util-chains protect-kernel-defaults register-node
        rotate-certificates rotate-server-certificates runonce seccomp-default serialize-image-pulls version
    """,
    "windows": "windows-priorityclass",
    "bool windows": "windows-service",
    # dockershim and what went with it
    "deprecated=1.22 removed=1.24": """
        cni-bin-dir cni-cache-dir cni-conf-dir docker-endpoint dynamic-config-dir image-pull-progress-deadline
        network-plugin network-plugin-mtu non-masquerade-cidr
    """,
    "removed=1.24": "experimental-dockershim-root-directory",
    "bool deprecated=1.22 removed=1.24": """
        experimental-check-node-capabilities-before-mount really-crash-for-testing
    """,
    "deprecated=1.24 removed=1.27": "container-runtime",
    "deprecated=1.24 removed=1.35": "pod-infra-container-image",
    "bool removed=1.24": "experimental-logging-sanitization",
    "since=1.23": "log-json-info-buffer-size",
    "bool since=1.23": "log-json-split-stream",
    # the rest
    "deprecated=1.22": """
        experimental-mounter-path maximum-dead-containers maximum-dead-containers-per-container
        minimum-container-ttl-duration
    """,
    "bool deprecated=1.22": "experimental-allocatable-ignore-eviction",
    "deprecated=1.22 removed=1.23": "experimental-bootstrap-kubeconfig seccomp-profile-root",
    "deprecated=1.22 removed=1.27": "master-service-namespace",
    "deprecated=1.22 removed=1.34": "cloud-config",
    "bool deprecated=1.22 removed=1.31": "keep-terminated-pod-volumes",
    "bool deprecated=1.22 removed=1.34": "register-schedulable",
    "bool removed=1.25": "experimental-kernel-memcg-notification",
    "deprecated=1.28 removed=1.30": "azure-container-registry-config",
    "deprecated=1.28 removed=1.31": "iptables-drop-bit iptables-masquerade-bit",
    "bool since=1.25": "local-storage-capacity-isolation",
    "since=1.26": "topology-manager-policy-options",
    "since=1.28": "config-dir",
    "bool since=1.31": "fail-cgroupv1",
    # cAdvisor's: globalflags_linux.go registers them, globalflags_other.go does not
    "linux": "housekeeping-interval",
    "linux removed=1.24": """
        docker docker-env-metadata-whitelist docker-root docker-tls-ca docker-tls-cert docker-tls-key
    """,
    "bool linux removed=1.24": "docker-only docker-tls",
    "linux removed=1.37": """
        application-metrics-count-limit boot-id-file container-hints containerd containerd-namespace
        event-storage-age-limit event-storage-event-limit global-housekeeping-interval machine-id-file
        storage-driver-buffer-duration storage-driver-db storage-driver-host storage-driver-password
        storage-driver-table storage-driver-user
    """,
    "bool linux removed=1.37": "enable-load-reader log-cadvisor-usage storage-driver-secure",
}

_SPELLINGS = {
    "kubelet-reserve": "kube-reserved",
    "kubelet-reserved": "kube-reserved",
    "kube-reserve": "kube-reserved",
    "system-reserve": "system-reserved",
    "enforce-node-allocable": "enforce-node-allocatable",
    "service": "windows-service",
}
"""How the documentation spells them. Source: kubernetes.io, Windows containers in Kubernetes, v1.22 and v1.27."""

_CNI = "CNI's folders stand in containerd's config.toml (bin_dir and conf_dir)"
_INSTEAD = _LOG_FILES | {
    "allow-privileged": "leave it out; it went with Kubernetes 1.15, and Windows has no privileged containers",
    "network-plugin": _CNI,
    "cni-bin-dir": _CNI,
    "cni-conf-dir": _CNI,
    "cni-cache-dir": _CNI,
    "image-pull-progress-deadline": "containerd has image_pull_progress_timeout in config.toml",
    "container-runtime": "leave it out, every runtime is a remote one; --container-runtime-endpoint names it",
    "pod-infra-container-image": "take it out, the pause image stands in containerd's config.toml (sandbox_image)",
}

KUBELET = FlagTable(
    "kubelet",
    parse_flags(_KUBELET),
    _SPELLINGS,
    _INSTEAD,
    "tests/recorded/kubelet-*.help.txt; between them kubernetes cmd/kubelet/app/options and component-base logs at "
    f"{_TAGS}; Windows: osflags_windows.go there",
)

PRIORITY_CLASSES = (
    "IDLE_PRIORITY_CLASS",
    "BELOW_NORMAL_PRIORITY_CLASS",
    "NORMAL_PRIORITY_CLASS",
    "ABOVE_NORMAL_PRIORITY_CLASS",
    "HIGH_PRIORITY_CLASS",
    "REALTIME_PRIORITY_CLASS",
)
"""What --windows-priorityclass takes, lowest first; with any other the kubelet does not start.

Source: kubernetes v1.22.17, v1.37.1 cmd/kubelet/app/init_windows.go, getPriorityValue.
"""


_KUBE_PROXY = _LOGGING | {
    "": """
        bind-address cluster-cidr config config-sync-period conntrack-max-per-core conntrack-min
        conntrack-tcp-timeout-close-wait conntrack-tcp-timeout-established detect-local-mode feature-gates
        healthz-bind-address hostname-override iptables-masquerade-bit iptables-min-sync-period iptables-sync-period
        ipvs-exclude-cidrs ipvs-min-sync-period ipvs-scheduler ipvs-sync-period ipvs-tcp-timeout ipvs-tcpfin-timeout
        ipvs-udp-timeout kube-api-burst kube-api-content-type kube-api-qps kubeconfig log-flush-frequency master
        metrics-bind-address nodeport-addresses oom-score-adj proxy-mode show-hidden-metrics-for-version v vmodule
        write-config-to
    """,
    "bool": """
        bind-address-hard-fail cleanup help ipvs-strict-arp masquerade-all profiling version
    """,
    "windows": "network-name source-vip",
    "bool windows": "enable-dsr windows-service",
    "windows since=1.24": "root-hnsendpoint-name",
    "bool windows since=1.24": "forward-healthcheck-vip",
    "since=1.24": "pod-bridge-interface pod-interface-name-prefix",
    "bool since=1.26": "iptables-localhost-nodeports",
    "since=1.29": "conntrack-udp-timeout conntrack-udp-timeout-stream",
    "bool since=1.29": "conntrack-tcp-be-liberal init-only",
    "deprecated=1.22": "healthz-port metrics-port",
    "deprecated=1.29 removed=1.31": "proxy-port-range",
    "removed=1.26": "udp-timeout",
    # cAdvisor's: server_others.go, later server_linux.go, imports them
    "linux removed=1.36": "boot-id-file machine-id-file",
    # component-base's options for logs: 1.27 has taken their gates over already (cmd/kube-proxy/app/server.go calls
    # logsapi.AddFeatureGates), its flags not before 1.28 (logsapi.AddFlags)
    "since=1.28": "log-json-info-buffer-size logging-format",
    "bool since=1.28": "log-json-split-stream",
}

KUBE_PROXY = FlagTable(
    "kube-proxy",
    parse_flags(_KUBE_PROXY),
    {"service": "windows-service"},
    _LOG_FILES,
    "tests/recorded/kube-proxy-*.help.txt; between them kubernetes cmd/kube-proxy/app and component-base logs at "
    f"{_TAGS}; Windows: init_windows.go there",
)
