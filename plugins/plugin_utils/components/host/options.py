# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of win_k8s_host and the variables of the role host."""

from __future__ import annotations

from ..options import Interface, Option, Variable

INTERFACE = Interface(
    module="win_k8s_host",
    summary="Prepares a Windows machine to become a Kubernetes node",
    task="Prepare the machine",
    shared=("node", "golden_image", "drain", "cluster"),
    options=(
        Option(
            "kubernetes_version",
            "str",
            "The Kubernetes release that the node is for. Empty for none.",
            default="",
            variable="winkube_kubernetes_version",
        ),
        Option(
            "containerd_version",
            "str",
            "The containerd release that the node is for. Empty for none.",
            default="",
            variable="winkube_containerd_version | default('')",
        ),
        Option(
            "pause_image",
            "str",
            "The sandbox image; empty for the one that fits the Kubernetes release.",
            default="",
            variable="winkube_pause_image | default('')",
        ),
        Option(
            "pause_image_source",
            "str",
            "Whose sandbox image; V(microsoft) has signed programs.",
            default="kubernetes",
            choices=("kubernetes", "microsoft"),
            variable="winkube_pause_image_source | default('kubernetes')",
        ),
        Option(
            "allow_unsupported_os",
            "bool",
            "Try a build of Windows that this Kubernetes does not support. What cannot work is still refused.",
            default=False,
            variable=Variable("winkube_allow_unsupported_os"),
        ),
        Option(
            "network",
            "dict",
            "The cluster's network, and the node's place in it.",
            options=(
                Option(
                    "mode",
                    "str",
                    "V(overlay) needs more of Windows than V(l2bridge). Empty where no network is set up.",
                    default="",
                    variable="winkube_network_mode if winkube_kubernetes_version else ''",
                ),
                Option(
                    "interface_name",
                    "str",
                    "The network adapter of the node's address. It must exist if O(kubernetes_version) is given.",
                    default="Ethernet",
                    variable="winkube_interface_name",
                ),
                Option(
                    "address",
                    "str",
                    "The node's address; empty for the first of the adapter.",
                    default="",
                    variable="winkube_management_ip",
                ),
                Option(
                    "cluster_cidr",
                    "str",
                    "The pods' network, not reached by way of a proxy.",
                    default="",
                    variable="winkube_cluster_cidr",
                ),
                Option(
                    "service_cidr",
                    "str",
                    "The services' network, not reached by way of a proxy.",
                    default="",
                    variable="winkube_service_cidr",
                ),
                Option(
                    "domain",
                    "str",
                    "The cluster's domain, not reached by way of a proxy.",
                    default="",
                    variable="winkube_cluster_domain",
                ),
            ),
        ),
        Option(
            "computer_name",
            "str",
            "The machine's name, up to 15 characters, set before it joins a cluster. Empty leaves it as it is.",
            default="",
            variable=Variable(
                "winkube_computer_name",
                text="The machine's name, up to 15 characters, set before the node joins a cluster; empty leaves"
                " it as it is. A node that has joined under another name is not renamed in the cluster.",
            ),
        ),
        Option(
            "proxy",
            "dict",
            "The web proxy as variables of the machine's environment (HTTP_PROXY, HTTPS_PROXY, NO_PROXY). Services see "
            "them only after a restart of the machine, so each service has its own setting for this. Without a proxy "
            "the variables are left alone.",
            options=(
                Option(
                    "http",
                    "str",
                    (
                        "Secret. It may hold a password.",
                        "The address of the proxy for http.",
                    ),
                    default="",
                    variable=Variable(
                        "winkube_node_http_proxy",
                        default="{{ winkube_proxy }}",
                        text="The machine's own web proxy for http, as a variable of its environment; empty leaves "
                        "the variables as they are. Services see them only after a restart of the machine, so "
                        "containerd and the kubelet have settings of their own.",
                    ),
                ),
                Option(
                    "https",
                    "str",
                    (
                        "Secret. It may hold a password.",
                        "The address of the proxy for https.",
                    ),
                    default="",
                    variable=Variable("winkube_node_https_proxy", default="{{ winkube_proxy }}"),
                ),
                Option(
                    "no_proxy",
                    "list",
                    "What else is reached without the proxy, besides the machine itself, its own network, and the "
                    "cluster's networks and domain.",
                    default=[],
                    elements="str",
                    variable=Variable("winkube_node_no_proxy", default="{{ winkube_no_proxy }}"),
                ),
            ),
        ),
        Option(
            "page_file_min_mb",
            "int",
            "The size in megabytes to which the page files together must be allowed to grow; less is a warning, and no "
            "page file always is.",
            default=0,
            variable=Variable("winkube_page_file_min_mb"),
        ),
        Option(
            "require_encryption",
            "bool",
            "Refuse the machine unless BitLocker protects the volume of the kubelet's folder; otherwise "
            "that is a warning.",
            default=False,
            variable=Variable("winkube_require_encryption"),
        ),
        Option(
            "gmsa",
            "bool",
            "Whether pods will use group Managed Service Accounts. A warning says what in Windows prevents them; "
            "nothing is changed.",
            default=False,
            variable=Variable("winkube_gmsa"),
        ),
        Option(
            "windows_revisions",
            "list",
            "Revisions of Windows that are known to be bad, beside those of docs/windows-support.md. A node that has "
            "one is a warning.",
            default=[],
            elements="dict",
            options=(
                Option("build", "int", "The build, such as V(20348).", required=True),
                Option("since", "int", "The revision that brought it; V(0) for the first release.", default=0),
                Option("mended", "int", "The revision that fixes it; V(0) if none is known.", default=0),
                Option("breaks", "str", "What is wrong, a sentence.", required=True),
                Option("source", "str", "An address; without one the entry is only told.", default=""),
                Option(
                    "concerns",
                    "str",
                    "Whom it concerns where that is not every node, such as V(overlay).",
                    default="",
                ),
                Option("unverified", "bool", "The entry is only told.", default=False),
            ),
            variable=Variable("winkube_windows_revisions"),
        ),
        Option(
            "log",
            "dict",
            "Limits for logs of services that nothing else limits: those that nssm has rotated, and the one that "
            "containerd holds open. A scheduled task looks at them each hour; not where "
            "O(runner=inline), which makes no tasks.",
            options=(
                Option(
                    "max_mb",
                    "int",
                    "Megabytes at which containerd's log is copied aside and emptied.",
                    default=10,
                    variable="winkube_log_max_mb",
                ),
                Option(
                    "keep_files",
                    "int",
                    "The number of older files that stay of each log. V(0) removes the task, and no file is deleted.",
                    default=10,
                    variable="winkube_log_keep_files",
                ),
                Option(
                    "keep_days",
                    "int",
                    "Days after which older files are removed.",
                    default=14,
                    variable="winkube_log_keep_days",
                ),
            ),
        ),
        Option(
            "reboot",
            "bool",
            "Restart the machine where a change is only in force after a restart. With V(false) a warning says which "
            "changes wait for it.",
            default=True,
            variable=Variable("winkube_reboot"),
        ),
        Option(
            "reboot_timeout",
            "int",
            "Seconds to wait for a restarting machine.",
            default=900,
            variable=Variable("winkube_reboot_timeout"),
        ),
    ),
)
