# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which flags a kube-proxy knows, Kubernetes 1.22 to 1.37. It exits at once on one that it does not know."""

from __future__ import annotations

from .flag_table import FlagTable, flags_of

_FLAGS = {
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
    # klog's own flags, and those of component-base that came for them
    "deprecated=1.23 removed=1.26": "log-backtrace-at log-dir log-file log-file-max-size stderrthreshold",
    "bool deprecated=1.23 removed=1.26": """
        add-dir-header alsologtostderr logtostderr one-output skip-headers skip-log-headers
    """,
    # component-base's options for logs: 1.27 has taken their gates over already (cmd/kube-proxy/app/server.go calls
    # logsapi.AddFeatureGates), its flags not before 1.28 (logsapi.AddFlags)
    "since=1.28": "log-json-info-buffer-size logging-format",
    "bool since=1.28": "log-json-split-stream",
    "since=1.30": "log-text-info-buffer-size",
    "bool since=1.30": "log-text-split-stream",
}

_LOGS = "its output goes to the log file of the service (nssm's AppStdout and AppStderr, or kube-log-runner.exe)"
_INSTEAD = {
    "log-dir": _LOGS,
    "log-file": _LOGS,
    "logtostderr": _LOGS,
    "alsologtostderr": _LOGS,
}

KUBE_PROXY = FlagTable(
    "kube-proxy",
    flags_of(_FLAGS),
    {"service": "windows-service"},
    _INSTEAD,
    "tests/recorded/kube-proxy-*.help.txt; between them kubernetes cmd/kube-proxy/app and component-base logs at "
    "v1.22.17, v1.23.17, v1.24.17, v1.25.16, v1.26.15, v1.27.16, v1.28.15, v1.29.15, v1.30.14, v1.31.14, v1.32.13, "
    "v1.33.13, v1.34.4, v1.35.6, v1.36.3, v1.37.1; Windows: init_windows.go there",
)
