# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What HNS and those who ask it say when something is wrong (message.py)."""

from __future__ import annotations

from . import windows_codes as win
from .message import ANY, Message, Rule
from .message_places import (
    ANY_CONTAINER,
    ANY_NETWORK,
    ENDPOINT,
    HNS,
    HOT_ATTACH,
    NAMESPACE,
    NETWORK,
    POD_NETWORK,
    RULE,
    SANDBOX,
)

_CODES = "golang.org/x/sys windows/zerrors_windows.go"
_EXISTS = (win.ERROR_OBJECT_ALREADY_EXISTS, win.ERROR_ALREADY_EXISTS)
_ANY = (HNS, NETWORK, ENDPOINT, RULE)
_NO_NETWORK = r"(?:network|Network name|Network ID) (?!namespace\b|adapter\b|interface\b|path\b)\S+ (?:is )?not found"
_NO_PORT = "(?:Only one usage of each socket address|.{0,60}the system lacked sufficient buffer space)"

MESSAGES: tuple[Message | Rule, ...] = (
    Rule("hns.no-free-adapter", (win.HCN_E_ADAPTER_NOT_FOUND, win.GCN_E_NETADAPTER_NOT_FOUND), "microsoft/SDN#269"),
    Rule("hns.name-exists", (win.HCN_E_NETWORK_ALREADY_EXISTS,), "microsoft/hcsshim#850"),
    Rule(
        "hns.name-exists",
        (*_EXISTS, "object name already existed"),
        "kubernetes-sigs/sig-windows-tools#128; learn.microsoft.com STATUS_OBJECT_NAME_EXISTS",
        doing=(NETWORK,),
        over=("cni.pods-on-nat", "hns.endpoint-exists"),
    ),
    Message(
        "cni.pods-on-nat",
        r"\bsandbox\b.{0,400}\bplugin type=\W{0,2}nat\b",
        "containerd script/setup/install-cni-windows: it writes 0-containerd-nat.conf; kubernetes/kubernetes#101680",
        over=ANY,
    ),
    Message(
        "container.linux-pod",
        r"network host not found|cannot run as .*hostNetwork|Windows does not support privileged",
        "aws/containers-roadmap#227; moby/moby daemon/daemon_windows.go",
        over=("hns.no-network",),
    ),
    Message(
        "container.linux-pod",
        r"(?:failed for volume \S+ : (?:open|stat|mkdir) |hostPath type check failed.*(?<![\w:]))"
        r"/(?:run|lib|proc|sys|dev|etc|usr|boot)\b",
        "kubernetes/kubernetes#71130",
        over=("volume.path-missing",),
    ),
    Message(
        "start.program-missing",
        r'exec: "?(?:\S*[\\/])?(?:containerd|kubelet|kube-proxy|flanneld|calico-node)(?:\.exe)?"?: (?:\w+ )?file '
        "(?:not found|does not exist)",
        "Go os/exec lp_windows.go, of a program of the node; rancher/rke2#2300",
        over=("start.runtime-pipe", "container.command"),
    ),
    Rule("hns.network-refused", (win.HCN_E_INVALID_NETWORK,), "microsoft/containers-toolkit#24"),
    Message(
        "hns.absent",
        r"(?:hcs|hcsshim|hns|hcn)\w*(?:::\w+)*.*specified (?:module|procedure) could not be found",
        "microsoft/hcsshim#1445",
    ),
    Message(
        "hns.vmcompute-stopped",
        r"(?:hcs|hcsshim)::.*(?:remote procedure call failed|RPC server is unavailable|\(0x6b[aef]\))",
        "microsoft/hcsshim#1472",
    ),
    Message("kube-proxy.rule-too-many", "invalid number of destinations", "kubernetes/kubernetes#98680"),
    Message("cni.antrea-uplink", "MSFT_NetAdapter.{0,400}'br-int'", "antrea-io/antrea#1528"),
    Message(
        "host.no-adapter",
        r"No (?:matching )?MSFT_NetAdapter objects found",
        "learn.microsoft.com Get-NetAdapter; antrea-io/antrea#1528",
    ),
    Rule("host.firewall-stopped", (win.HCN_E_ICS_DISABLED,), _CODES),
    Rule("hns.endpoint-refused", (win.ERROR_INVALID_PARAMETER,), "Azure/aks-engine#807", doing=(ENDPOINT,)),
    Rule("hns.network-refused", (win.ERROR_INVALID_PARAMETER,), "flannel-io/flannel#1966", doing=(NETWORK,)),
    Rule(
        "hns.endpoint-refused",
        (rf"hnsCall\w* failed.{{0,200}}{win.pattern(win.ERROR_INVALID_PARAMETER)}",),
        "containernetworking/plugins plugins/main/windows/win-bridge: a plugin asks HNS for the pod's endpoint",
        doing=(POD_NETWORK, SANDBOX),
        over=("hns.network-refused",),
    ),
    Message(
        "hns.network-refused",
        "HNS failed with error ?: Failed to create network|"
        r"hnsCallRawResponse.*(?:The parameter is incorrect|\(0x57\))",
        "microsoft/hcsshim internal/hns; antrea-io/antrea#2213",
    ),
    Rule("hns.adapter-slow", (win.GCN_E_NETADAPTER_TIMEOUT, win.GCN_E_NETINTERFACE_NOT_FOUND), _CODES),
    Message(
        "hns.adapter-slow",
        r"interface bound to \S+ took too long to get ready",
        "flannel-io/flannel pkg/backend/vxlan/vxlan_windows.go",
    ),
    Message(
        "hns.no-management-address",
        "failed to get management IP from (?:HNSNetwork|HostComputeNetwork)",
        "flannel-io/flannel#1066",
    ),
    Message(
        "hns.no-management-address",
        "failed to get net interface for (?:HNSNetwork|HostComputeNetwork)|Failed to parse "
        r"management ip \(",
        "flannel-io/flannel pkg/backend/hostgw/hostgw_windows.go",
    ),
    Message(
        "flannel.bridge-endpoint",
        rf"(?:flannel|bridge HNSEndpoint).{{0,400}}{win.pattern(win.HCN_E_ENDPOINT_ALREADY_ATTACHED)}",
        "flannel-io/flannel#1391",
    ),
    Message(
        "kube-proxy.source-vip",
        "Source Vip endpoint creation failed.{0,400}"
        + win.pattern(win.HCN_E_INVALID_IP, win.HCN_E_ADDR_INVALID_OR_RESERVED),
        "kubernetes/kubernetes#100962",
    ),
    Message("kube-proxy.source-vip", "source-vip flag not set", "kubernetes/kubernetes pkg/proxy/winkernel/proxier.go"),
    Rule(
        "kube-proxy.rule-exists",
        (*_EXISTS, win.HCN_E_POLICY_ALREADY_EXISTS, r"already exists\.? \(0xb7\)"),
        "kubernetes/kubernetes#139519",
        doing=(RULE,),
    ),
    Rule("hns.ports-exhausted", (win.ERROR_OUTOFMEMORY,), "Azure/AKS#1375", doing=_ANY),
    Message(
        "hns.ports-exhausted",
        rf"dial (?:tcp|udp) \S+: connect(?:ex)?: .{{0,20}}{_NO_PORT}",
        "learn.microsoft.com WSAEADDRINUSE (10048), WSAENOBUFS (10055) of a connection that is opened",
    ),
    Rule("kube-proxy.rule-port-taken", (win.HCN_E_PORT_ALREADY_EXISTS,), "kubernetes/community#8883"),
    Rule("kube-proxy.rule-reference", (win.HCN_E_INVALID_JSON_REFERENCE,), "microsoft/Windows-Containers#103"),
    Rule(
        "kube-proxy.rule-target-gone",
        (win.HCN_E_PORT_NOT_FOUND, win.HCN_E_POLICY_NOT_FOUND),
        "microsoft/SDN#273",
        never=(POD_NETWORK, SANDBOX, HOT_ATTACH),
    ),
    Message(
        "hns.endpoint-gone",
        r"(?:docker_sandbox|Type:docker|networkPlugin cni failed).*failed to find HNSEndpoint \S+: Endpoint \S+ not "
        "found",
        "kubernetes-sigs/sig-windows-tools#171",
    ),
    Message(
        "cni.dockershim-form",
        r"error while \w+\(.*failed to find HNSEndpoint \S+: Endpoint \S+ not found",
        "kubernetes/kubernetes#94924; microsoft/hcsshim#1698",
    ),
    Rule("hns.no-network", (win.HCN_E_NETWORK_NOT_FOUND,), _CODES),
    Rule("hns.endpoint-refused", (win.HCN_E_SUBNET_NOT_FOUND,), _CODES),
    Message(
        "hns.no-network",
        "Unable to find HNS Network sp|Could not find HNS network|could not find vxlan0|"
        "didn't find any HNS networks? matching",
        "kubernetes/kubernetes pkg/proxy/winkernel/proxier.go; projectcalico/calico#9120",
    ),
    Rule(
        "hns.no-network",
        (_NO_NETWORK,),
        "containernetworking/plugins plugins/main/windows/win-overlay/win-overlay_windows.go",
        doing=(*_ANY, ANY_NETWORK, POD_NETWORK, ANY_CONTAINER),
    ),
    Message(
        "hns.no-network",
        rf"^Network \S+ not found$|(?:HNS|CNI|vxlan|flannel|endpoint).{{0,200}}{_NO_NETWORK}",
        "microsoft/hcsshim hcn/hcnerrors.go NetworkNotFoundError",
    ),
    Message(
        "hns.no-network",
        r"^\+ .*\$(?:hns)?network\w*\.(?:Subnets|ManagementIP)\b",
        "PowerShell quotes the line of a script that failed: kubernetes-sigs/sig-windows-tools#336",
    ),
    Message(
        "hns.network-type",
        r"network \S+ is of (?:an )?unexpected type",
        "containernetworking/plugins plugins/main/windows/win-bridge/win-bridge_windows.go",
    ),
    Rule("hns.network-type", (win.HCN_E_INVALID_NETWORK_TYPE,), "microsoft/SDN#238"),
    Rule(
        "hns.endpoint-not-attached",
        (win.HCN_E_DEGRADED_OPERATION,),
        "projectcalico/felix#2893; docker/for-win#3558",
    ),
    Rule("hns.switch-in-use", (win.HCN_E_SHARED_SWITCH_MODIFICATION, win.HCN_E_ENTITY_HAS_REFERENCES), _CODES),
    Rule("hns.no-switch-extension", (win.HCN_E_SWITCH_EXTENSION_NOT_FOUND, win.HCN_E_SWITCH_NOT_FOUND), _CODES),
    Rule(
        "hns.address-refused",
        (win.HCN_E_INVALID_IP, win.HCN_E_ADDR_INVALID_OR_RESERVED),
        "aws/amazon-vpc-cni-k8s#1103",
    ),
    Rule(
        "hns.policy-refused",
        (
            *(win.HCN_E_INVALID_POLICY, win.HCN_E_INVALID_POLICY_TYPE, win.HCN_E_INVALID_JSON),
            win.HCN_E_MAPPING_NOT_SUPPORTED,
        ),
        "projectcalico/calico#8465",
    ),
    Rule(
        "hns.namespace-refused",
        (win.HCN_E_ENDPOINT_NAMESPACE_ALREADY_EXISTS, win.HCN_E_NAMESPACE_ATTACH_FAILED),
        _CODES,
    ),
    Rule("hns.endpoint-exists", _EXISTS, "kubernetes/kubernetes#72696", doing=(ENDPOINT, POD_NETWORK)),
    Message(
        "hns.endpoint-exists",
        r"(?:HNSEndpoint|HostComputeNetwork) \S+ is already existed",
        "containernetworking/plugins pkg/hns/endpoint_windows.go, of an endpoint in both",
    ),
    Rule(
        "hns.endpoint-gone",
        (win.HCN_E_ENDPOINT_NOT_FOUND, win.HCN_E_INVALID_ENDPOINT),
        "kubernetes-sigs/sig-windows-tools#91",
    ),
    Message("hns.endpoints-lost", "Failed to look up one or more HNS endpoints", "projectcalico/calico#5164"),
    Message(
        "hns.endpoint-gone",
        r"Local endpoint not found|Endpoint \S+ not found on network|"
        r"Failed to get hcn endpoint with id: .{0,160} not found",
        "kubernetes/kubernetes pkg/proxy/winkernel/proxier.go",
    ),
    Rule(
        "hns.element-not-found",
        (win.ERROR_NOT_FOUND,),
        "Azure/aks-engine#853",
        doing=_ANY,
        never=(NAMESPACE,),
    ),
    Rule("host.firewall-stopped", (win.EPT_S_NOT_REGISTERED,), "microsoft/WSL#11306", doing=_ANY),
    Message(
        "host.firewall-stopped",
        r"-NetFirewall\w+ : There are no more endpoints available",
        "learn.microsoft.com EPT_S_NOT_REGISTERED (1753)",
    ),
    Rule(
        "hns.stopped",
        (win.RPC_S_SERVER_UNAVAILABLE, win.ERROR_SERVICE_NOT_ACTIVE),
        "kubernetes/kubernetes#139519",
        doing=_ANY,
    ),
    Rule("hns.stopped", (win.HCN_E_MANAGER_STOPPED,), _CODES),
    Message(
        "hns.absent",
        r"(?:vmcompute|computenetwork)\.dll.*(?:could not be found|not found)",
        "microsoft/hcsshim internal/hcserror/hcserror.go (DLLError)",
        over=("container.dll-missing",),
    ),
    Rule(
        "hns.absent",
        (win.ERROR_MOD_NOT_FOUND, win.ERROR_PROC_NOT_FOUND),
        "microsoft/hcsshim internal/hcserror/hcserror.go (DLLError)",
        doing=_ANY,
        over=("container.dll-missing",),
    ),
    Rule("hns.not-supported", (win.ERROR_NOT_SUPPORTED,), "microsoft/hcsshim hcn/hcn.go", doing=_ANY),
    Rule(
        "hns.not-supported",
        (win.HCN_E_REQUEST_UNSUPPORTED, "platform does not support feature"),
        "microsoft/hcsshim hcn/hcn.go",
    ),
    Rule("host.not-elevated", (win.ERROR_ACCESS_DENIED,), "microsoft/hcsshim hcn/hcn.go", doing=_ANY),
    Rule("host.not-elevated", (win.HCS_E_ACCESS_DENIED,), "microsoft/hcsshim internal/hcs/errors.go"),
    Message(
        "host.no-adapter",
        "virtual network creation|no network adapter (?:is )?found|Failed to find a suitable network adapter",
        "kubernetes.io v1.20 Intro to Windows support (No network adapter is found when starting Kubelet)",
    ),
)
