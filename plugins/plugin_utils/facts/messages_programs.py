# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What flanneld, CNI plugins, kubelet, kube-proxy, containerd and kubeadm say when something is wrong (message.py)."""

from __future__ import annotations

from . import windows_codes as win
from .message import Message, Rule
from .message_places import ANY_NETWORK, CNS, ENDPOINT, JOINING, OWN_PIPE, POD_NETWORK, SANDBOX

MESSAGES: tuple[Message | Rule, ...] = (
    Message(
        "node.no-pod-cidr",
        "pod cidr not assigned",
        "flannel-io/flannel pkg/subnet/kube/kube.go; kubernetes-sigs/sig-windows-tools#345",
    ),
    Message(
        "flannel.net-conf-network",
        "specified in the flannel net config doesn't contain",
        "flannel-io/flannel pkg/subnet/kube/kube.go",
    ),
    Message(
        "flannel.net-conf-vxlan",
        "invalid VXLAN backend config",
        "flannel-io/flannel pkg/backend/vxlan/vxlan_windows.go",
    ),
    Message(
        "flannel.no-net-conf",
        r"failed to read net conf|error parsing subnet config|net-conf\.json' is denied",
        "flannel-io/flannel pkg/subnet/kube/kube.go; kubernetes-sigs/sig-windows-tools#316",
    ),
    Message(
        "flannel.net-conf-backend",
        r"(?:fetching|create|register) backend.{0,40}unknown backend type|^unknown backend type|"
        r"flannel.{0,200}unknown backend type",
        "flannel-io/flannel pkg/backend/manager.go; kubernetes/kubernetes#86482",
    ),
    Message(
        "flannel.iface",
        "Could not find valid interface matching|Failed to find (?:any valid )?interface to use|"
        "no interface with given IP found|unable to find default gateway interface|no IPv4 "
        "address found for given interface",
        "flannel-io/flannel#944",
    ),
    Message(
        "flannel.no-external-network",
        "Cannot find network with Management IP",
        "flannel-io/flannel v0.11.0 backend/vxlan/vxlan_windows.go; flannel-io/flannel#1109, #1111",
    ),
    Message(
        "flannel.node-name",
        "env variables POD_NAME and POD_NAMESPACE must be set|node name not present in pod spec",
        "flannel-io/flannel pkg/subnet/kube/kube.go",
    ),
    Message(
        "flannel.public-ip",
        "PublicIP differs from interface IP",
        "flannel-io/flannel pkg/backend/hostgw/hostgw_windows.go",
    ),
    Message(
        "cluster.unreachable",
        "Timed out waiting for node controller sync|error waiting for nodeController to sync|"
        "timeout contacting kube-api",
        "flannel-io/flannel pkg/subnet/kube/kube.go",
    ),
    Message(
        "flannel.no-subnet-env",
        r"loadFlannelSubnetEnv failed|open \S*subnet\.env: |failed to load flannel '?subnet\.env",
        "flannel-io/cni-plugin flannel_windows.go, flannel.go",
        over=("cni.file-missing",),
    ),
    Message(
        "cni.plugin-missing",
        r"needs CNI plugin .{1,40} to be installed|"
        r"failed to find plugin \\*\"?[\w.-]+\\*\"? in path",
        "rancher/rke2#7793",
    ),
    Message(
        "cni.version",
        "incompatible CNI versions|unsupported CNI (?:result )?version",
        "kubernetes-sigs/sig-windows-tools#266",
    ),
    Message(
        "cni.absent",
        "NetworkPluginNotReady|cni plugin not initialized|cni config uninitialized|No networks "
        "found in|no network config found in",
        "containerd/go-cni errors.go; kubernetes-sigs/sig-windows-tools#351",
        early=True,
        over=("cni.unreadable",),
    ),
    Rule(
        "cni.unreadable",
        ("error parsing configuration",),
        "containernetworking/cni libcni/conf.go",
        doing=(ANY_NETWORK,),
    ),
    Message(
        "cni.unreadable",
        "failed to load CNI config|network type not found in|has no "
        "networks, skipping|invalid cni config|failed to load netconf|error loading CNI config|"
        "'delegate' dictionary (?:is (?:not present|missing)|must not have)|"
        r"Range(?:Start|End) \S+ not in network|IPAM config missing 'ipam' key",
        "containernetworking/plugins plugins/ipam/host-local/backend/allocator; containerd/go-cni opts.go; "
        "containernetworking/cni libcni/conf.go; flannel-io/cni-plugin flannel.go",
    ),
    Rule(
        "cni.addresses-used-up",
        (
            r"no IP addresses available|out of subnets\b|no available address(?:es| pools)\b|"
            r"not enough (?:available |free )?IPs?\b|no (?:more )?(?:free|available) (?:IPs?|addresses)\b|"
            r"InsufficientFreeAddresses|(?:IP|address) pool \S* ?(?:is )?(?:exhausted|full|depleted)",
        ),
        "containernetworking/plugins plugins/ipam/host-local/backend/allocator/allocator.go; "
        "Azure/azure-container-networking cns/restserver/ipam.go; MicrosoftDocs/architecture-center#4402",
        doing=(ANY_NETWORK, POD_NETWORK, SANDBOX, ENDPOINT, CNS, JOINING),
        over=("cni.azure-ipam",),
    ),
    Message(
        "cni.addresses-used-up",
        r"IP_SPACE_EXHAUSTED|IP space of '\S+' is exhausted|InsufficientSubnetSize|SubnetIsFull|"
        r"Pre-allocated IPs \d+ exceeds IPs available|does not have enough capacity for \d+ IP addresses",
        "MicrosoftDocs/SupportArticles-docs error-code-subnetisfull-upgrade.md; Azure/AKS#2119, #3653; "
        "cloud.google.com, Avoiding the GKE IP_SPACE_EXHAUSTED error",
    ),
    Message(
        "cni.address-taken",
        r"duplicate allocation is not allowed|requested IP address \S+ is not available",
        "containernetworking/plugins plugins/ipam/host-local/backend/allocator/allocator.go",
    ),
    Message(
        "cni.eks-address",
        r"(?:label|Insufficient|create resource|no capacity\S*|does not have) vpc\.amazonaws\.com/PrivateIPv4Address|"
        r"vpc\.amazonaws\.com/PrivateIPv4Address.{0,80}(?:not found|fail|missing|unavailable)",
        "aws/containers-roadmap#240",
    ),
    Message(
        "cni.plugin-old",
        "failed to parse netns",
        "containerd/containerd#5892",
    ),
    Message(
        "cni.azure-lock",
        r"timed out (?:on )?locking store|Failed to initialize key-value store|(?:azure|vnet|"
        r"cni)\b.{0,200}(?:Store is locked|Failed to lock store)",
        "Azure/azure-container-networking#774",
    ),
    Rule(
        "cni.calico-api",
        ("host must be a URL or a host:port pair",),
        "kubernetes-sigs/sig-windows-tools#302",
        doing=(ANY_NETWORK, POD_NETWORK),
    ),
    Message(
        "cni.calico-bgp",
        r"BGP is not configured|RemoteAccess\b.{0,80}(?:stopped|not running|not installed|cannot be (?:started|found))",
        "projectcalico/calico#11714; Calico docs, troubleshoot Calico for Windows",
    ),
    Message(
        "cni.calico-affinity",
        "strict affinity should not be false",
        "projectcalico/calico#10619",
    ),
    Message(
        "cni.calico-endpoint",
        r"(?:found|find|wait|creat).{0,40}Calico_ep|Calico_ep.{0,40}not found|"
        r"Waiting for (?:hns )?network.*Calico|(?:unable|failed) to create hns network calico",
        "projectcalico/calico#8219",
    ),
    Message(
        "cni.antrea-ovs",
        r"ovs_client\.go.*Not connected yet",
        "antrea-io/antrea pkg/ovs/ovsconfig/ovs_client.go",
        early=True,
    ),
    Message(
        "start.unknown-flag",
        r"unknown (?:shorthand )?flag|flag provided but not defined|unknown command \"?[^\"]+\"? "
        r"for \"?kube",
        "antrea-io/antrea#6109; kubernetes/kubernetes#133778",
    ),
    Message(
        "start.feature-gate",
        "unrecognized feature gate|cannot set feature gate|feature is locked to|feature gate must be enabled",
        "kubernetes/component-base featuregate/feature_gate.go",
    ),
    Message(
        "start.kubeconfig",
        r"unable to read (?:certificate-authority|client-cert|client-key)|invalid kubeconfig|"
        r"context \S+ does not exist|error loading config file \\*\"|no context exists with the name|"
        r"no server found for cluster|cluster \\*\"[^\"]+\" does not exist|cluster has no server defined|"
        r"context was not found for specified context|^error: host must be a URL or a host:port|"
        r"Cannot find path '[^']*kubeconfig[^']*'|"
        r"(?:CreateFile|GetFileAttributesEx|open) \S*kubeconfig\S*: The system cannot find",
        "kubernetes/client-go tools/clientcmd/validation.go, loader.go; Go os/stat_windows.go",
    ),
    Message(
        "start.binary-held",
        r"(?:rename|remove|replac|copy|overwrit|delet)\w* .{0,160}\.exe\b.{0,120}(?:Access is denied|"
        r"being used by another)|"
        r"cannot access the file '[^']+\.(?:exe|dll|sys)' because it is being used|DeleteFile failed; code (?:5|32)\b|"
        r"\bopen \S+[\\/]+(?:containerd\S*|kube\S+|flanneld|csi-proxy)\.exe: .{0,60}used by another",
        "rancher/windows#138; learn.microsoft.com ERROR_ACCESS_DENIED of an image that runs",
    ),
    Message(
        "node.address",
        "unable to upgrade connection: pod does not exist",
        "kubernetes/kubernetes#63702: another kubelet answers at the Node's address",
    ),
    Message(
        "start.config",
        r"\bKubeProxyConfiguration\.[\w.\[\]]+: (?:Invalid|Required|Unsupported) value|"
        "LoadBalancerMode DSR requires feature gate",
        "kubernetes/kubernetes pkg/proxy/apis/config/validation",
    ),
    Message(
        "host.script-policy",
        "running scripts is disabled on this system|is not digitally signed|"
        "overridden by a policy defined at a more specific scope",
        "learn.microsoft.com about_Execution_Policies",
    ),
    Message(
        "cluster.extension-api",
        r"unable to handle the request \(\w+ \S+\.\w+\.k8s\.io\)|failing or missing response from https?://|"
        r"FailedDiscoveryCheck|unable to retrieve the complete list of server APIs",
        "kubernetes/kube-aggregator pkg/controllers/status; kubernetes-sigs/metrics-server#1025",
        over=("cluster.overloaded", "cluster.unreachable"),
    ),
    Message(
        "cni.calico-addresses",
        r"no configured Calico pools|no affine block|"
        r"could not claim .{0,20}block|"
        r"unable to (?:assign|find) .{0,20}(?:block|address) .{0,40}(?:affinity|pool)",
        "projectcalico/calico libcalico-go/lib/ipam",
    ),
    Message(
        "cni.calico-datastore",
        r"[Dd]atastore (?:is )?not ready|Unable to access datastore|"
        r"resource does not exist: (?:ClusterInformation|Node)",
        "projectcalico/calico libcalico-go/lib/errors, node/pkg/lifecycle/startup",
    ),
    Message(
        "cni.calico-node-address",
        r"(?:unable to|couldn't|failed to) auto-?detect .{0,40}(?:IPv?[46]?\b|address|interface)|"
        "no valid host interfaces? found",
        "projectcalico/calico node/pkg/lifecycle/startup/autodetection",
    ),
    Message(
        "cni.antrea-ovs",
        r"[Ff]ailed to connect to OVSDB|openvswitch\S*db\.sock.{0,80}(?:cannot find|refused|denied)|"
        r"ovs-vsctl.{0,200}database connection failed",
        "antrea-io/antrea pkg/ovs",
    ),
    Message(
        "cni.azure-ipam",
        r"NodeNetworkConfig\b.{0,120}(?:not found|fail|error)|(?:azure|CNS)\b.{0,200}IPAM (?:pool|"
        r"is not)\b.{0,60}(?:not|fail)|"
        r"waiting on Azure CNS",
        "Azure/azure-container-networking cns",
    ),
    Message(
        "cni.eks-adapter",
        r"failed to find (?:the )?(?:ENI|network interface) .{0,60}(?:MAC|eni-)",
        "aws/amazon-vpc-cni-plugins network/eni",
    ),
    Message(
        "host.not-elevated",
        r"must be run with elevated privileges.{0,200}Access is denied|"
        r"(?:error during connect|\bGet \"?http\S+|[Ee]rror while dialing).{0,200}pipe[\\/]+\S+: Access is denied|"
        r"(?:Open(?:SCManager|Service) FAILED|[Ss]ystem error) 5\b|"
        r"Cannot open .{0,60}service on computer|permission denied while trying to connect to the Docker daemon|"
        r"requires elevation|run as administrator",
        "moby/moby client/errors.go; learn.microsoft.com sc.exe",
    ),
    Message(
        "start.client-ca",
        r"unable to load client CA (?:file|provider)|open \S*[\\/](?:kubernetes|pki|"
        r"k)[\\/](?:\S*[\\/])?ca\.crt: The system cannot find",
        "kubernetes-sigs/sig-windows-tools#72",
    ),
    Message(
        "start.no-kubeconfig",
        "no configuration has been provided, try setting KUBERNETES_MASTER|unable to load in-cluster configuration|"
        r"(?:[Uu]nable to connect to the server|http: proxy error|connection to the server).{0,40}"
        r"(?:\[::1\]|127\.0\.0\.1|localhost):8080\b",
        "kubernetes/client-go rest/config.go, tools/clientcmd/client_config.go; kubernetes-sigs/sig-windows-tools#343",
    ),
    Message(
        "start.no-login",
        "unable to load bootstrap kubeconfig|unable to read existing bootstrap client config|"
        "existing bootstrap client certificate.*is expired",
        "kubernetes/kubernetes pkg/kubelet/certificate/bootstrap/bootstrap.go",
    ),
    Message(
        "start.kubelet-config",
        "failed to load kubelet (?:config|dropin) file|failed to (?:validate|set) kubelet configuration|"
        "invalid configuration: .*(?:cgroups|EnforceNodeAllocatable|enforce-node-allocatable)|"
        "failed to decode.*KubeletConfiguration|failed to create kubelet: misconfiguration",
        "kubernetes/kubernetes cmd/kubelet/app/server.go",
    ),
    Message(
        "start.kubelet-config",
        r"(?:kubelet|server\.go|run\.go).{0,200}invalid configuration: (?!no configuration)|"
        r"invalid configuration: (?:\w+ \(--|.{1,200}is not supported on Windows)|"
        "node allocatable enforcement",
        "kubernetes/kubernetes pkg/kubelet/apis/config/validation; kubernetes/kubernetes#79936",
    ),
    Message(
        "start.runtime-api",
        r"unknown service (?:runtime\.|\S*(?:CRIPlugin|ImageService|RuntimeService))|"
        r"CRI v1 runtime API is not implemented",
        "kubernetes/kubernetes cri-client pkg/remote_runtime.go; containerd/containerd docs/cri",
        over=("start.runtime-pipe",),
    ),
    Rule(
        "start.pipe",
        (
            win.ERROR_ACCESS_DENIED,
            win.ERROR_PIPE_BUSY,
            win.ERROR_PATH_NOT_FOUND,
            r"\bpipe\b.{0,200}(?:in use|busy|already exists)",
        ),
        "moby/moby cmd/dockerd; microsoft/go-winio pipe.go",
        doing=(OWN_PIPE,),
    ),
    Message(
        "start.containerd-twice",
        r"failed to get listener.*pipe|open \\\\\.\\pipe\\containerd\S*: Access is "
        "denied|All pipe instances are busy|waiting for response from boltdb|"
        r"meta\.db.*(?:timeout|being used)",
        "containerd/containerd cmd/containerd/command/main.go",
    ),
    Message(
        "start.runtime-pipe",
        r"pipe[\\/]+(?:containerd-containerd|docker_engine|dockershim)\S*:? .*(?:cannot find the "
        r"file|refused)|[Ee]rror while dialing.{0,40}pipe[\\/]+\S*(?:container|docker)|"
        r"dial unix \S*containerd\S*\.sock: connect|Cannot connect to the Docker daemon|"
        r"only support tcp and npipe endpoint|"
        r"(?:endpoint|runtime|image service).{0,200}protocol \\*\"\w*\\*\" not supported|"
        r"validate service connection: .{0,80}for endpoint .{0,200}(?:cannot find the (?:file|path)|no such file)|"
        r"fata.{0,60}connect endpoint .{1,200}make sure you are running as root and the endpoint has been started",
        "containerd/containerd#9437; kubernetes/cri-client pkg/util/util_windows.go, pkg/remote_runtime.go; "
        "kubernetes-sigs/cri-tools cmd/crictl/main.go",
    ),
    Message(
        "kubelet.pleg",
        "PLEG is not healthy: pleg was last seen active",
        "kubernetes/kubernetes#110143; kubernetes pkg/kubelet/pleg/generic.go",
    ),
    Message(
        "start.node-ip",
        "not found in the host's network interfaces|failed to validate nodeIP",
        "kubernetes/kubernetes pkg/kubelet/kubelet_node_status.go",
    ),
    Message(
        "node.absent",
        r"Error from server \(NotFound\): nodes|"
        r"Unable to (?:update|retrieve) node status.*nodes? "
        r"\S+ not found|failed to (?:get|patch) node \S+.*not found",
        "kubernetes/kubernetes pkg/util/node/node.go",
    ),
    Message(
        "kube-proxy.network-name",
        "KUBE_NETWORK and network-flag not initialized",
        "kubernetes/kubernetes pkg/proxy/winkernel/proxier.go",
    ),
    Message(
        "kube-proxy.hostname-override",
        "[Cc]an't determine this node's IP|Failed to retrieve node info: nodes",
        "aws/containers-roadmap#273; kubernetes/kubernetes "
        "cmd/kube-proxy/app/server.go, pkg/util/node/node.go GetNodeIP",
    ),
    Message(
        "start.kube-proxy-gate",
        r"Win(?:Overlay|DSR) feature gate (?!(?:is )?enabled)",
        "kubernetes/kubernetes pkg/proxy/winkernel/proxier.go",
    ),
    Message(
        "start.service-state",
        r"(?:\[SC\] \w+ FAILED|StartService (?:failed|error)) (?:\((?:code )?)?(?:1056|1058|1060|1062|1073|1078)\b|"
        r"(?:Start|Stop|Restart|"
        r"Set)-Service : Cannot find any service|"
        r"service cannot be started, either because it is disabled|does not exist as an installed service|"
        "specified service already exists",
        "learn.microsoft.com ERROR_SERVICE_DISABLED (1058), _DOES_NOT_EXIST (1060), _EXISTS (1073)",
    ),
    Message(
        "start.program-missing",
        r"service failed to start due to the following error:.{0,20}(?:%%[23]\b|The system cannot find the)|"
        r"StartService FAILED [23]\b",
        "learn.microsoft.com event 7000 of the Service Control Manager, ERROR_FILE_NOT_FOUND (2)",
    ),
    Message(
        "start.program-missing",
        r"(?:['\" ]|^)(?!(?:Get|Set|New|Add|Remove|Import|Install|Enable|Start|Stop|Invoke|Test)-)[\w.:\\-]+['\"]? is "
        "not recognized as (?:the name of a cmdlet|an internal or external command)",
        "learn.microsoft.com about_Command_Precedence, CommandNotFoundException; cmd.exe",
    ),
    Message(
        "start.program-missing",
        r"exec: \"?[\w.\\:/ -]+\"?: executable file not found in %PATH%",
        "Go os/exec lp_windows.go",
    ),
    Message(
        "start.containerd-config",
        r"failed to load TOML|containerd\b.{0,200}toml: |expected containerd config version|containerd: (?:invalid|"
        "unsupported) config|containerd.{0,200}unsupported config version|invalid plugin config: |"
        "invalid (?:disabled|required) plugin URI",
        "containerd/containerd cmd/containerd/server/config/config.go",
    ),
    Message(
        "join.token",
        r"could not find a JWS signature|failed to verify JWS signature|token id \S+ is invalid|"
        "invalid bootstrap token",
        "kubernetes/kubernetes cmd/kubeadm/app/discovery/token/token.go",
    ),
    Message(
        "join.ca-hash",
        r"CA hash does not match|identity of the API Server.{0,40}encoding/hex: |"
        r"discovery-token-ca-cert-hash.{0,80}invalid|"
        r"none of the public keys \S+ are pinned|cluster CA found in cluster-info ConfigMap is "
        "invalid",
        "kubernetes/kubernetes cmd/kubeadm/app/discovery/token/token.go",
    ),
    Message(
        "join.not-admin",
        "user is not running as (?:administrator|root)|ERROR IsPrivilegedUser",
        "kubernetes/kubernetes#108140",
    ),
    Message(
        "join.leftovers",
        r"ERROR (?:FileAvailable|DirAvailable)\b|\[ERROR Port-\d|\bnode\b.{0,80} already exists in the cluster|"
        r"Node password rejected",
        "kubernetes/kubernetes cmd/kubeadm/app/preflight/checks.go",
        over=("start.port-in-use",),
    ),
)
