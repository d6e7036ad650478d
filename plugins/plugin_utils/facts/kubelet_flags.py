# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which flags a kubelet knows, Kubernetes 1.22 to 1.37.

A kubelet exits at once on a flag that it does not know ("failed to parse kubelet flag: unknown flag: --...").
`deprecated` marks those that upstream announced to remove, not the many that --help calls deprecated in favour of the
configuration file: they stay.
"""

from __future__ import annotations

from .flag_table import FlagTable, flags_of

_FLAGS = {
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
    # klog's own flags
    "deprecated=1.23 removed=1.26": "log-backtrace-at log-dir log-file log-file-max-size stderrthreshold",
    "bool deprecated=1.23 removed=1.26": """
        add-dir-header alsologtostderr logtostderr one-output skip-headers skip-log-headers
    """,
    "bool removed=1.24": "experimental-logging-sanitization",
    "since=1.23": "log-json-info-buffer-size",
    "bool since=1.23": "log-json-split-stream",
    "since=1.30": "log-text-info-buffer-size",
    "bool since=1.30": "log-text-split-stream",
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

_LOGS = "its output goes to the log file of the service (nssm's AppStdout and AppStderr, or kube-log-runner.exe)"
_CNI = "CNI's folders stand in containerd's config.toml (bin_dir and conf_dir)"
_INSTEAD = {
    "allow-privileged": "leave it out; it went with Kubernetes 1.15, and Windows has no privileged containers",
    "network-plugin": _CNI,
    "cni-bin-dir": _CNI,
    "cni-conf-dir": _CNI,
    "cni-cache-dir": _CNI,
    "image-pull-progress-deadline": "containerd has image_pull_progress_timeout in config.toml",
    "log-dir": _LOGS,
    "log-file": _LOGS,
    "logtostderr": _LOGS,
    "alsologtostderr": _LOGS,
    "container-runtime": "leave it out, every runtime is a remote one; --container-runtime-endpoint names it",
    "pod-infra-container-image": "take it out, the pause image stands in containerd's config.toml (sandbox_image)",
}

KUBELET = FlagTable(
    "kubelet",
    flags_of(_FLAGS),
    _SPELLINGS,
    _INSTEAD,
    "tests/recorded/kubelet-*.help.txt; between them kubernetes cmd/kubelet/app/options and component-base logs at "
    "v1.22.17, v1.23.17, v1.24.17, v1.25.16, v1.26.15, v1.27.16, v1.28.15, v1.29.15, v1.30.14, v1.31.14, v1.32.13, "
    "v1.33.13, v1.34.4, v1.35.6, v1.36.3, v1.37.1; Windows: osflags_windows.go there",
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
