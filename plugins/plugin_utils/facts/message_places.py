# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who prints a line, what it was doing, on what, and in which forms a reason has a code: patterns, each with its words.

A file of its own: words/line.py reads lines by it, whatever the cause. What stands first counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

SPEAKERS: Mapping[str, str] = {
    **dict.fromkeys(
        (
            *("kubelet.go", "kubelet_node_status.go", "kubelet_pods.go", "kubelet_volumes.go", "pod_workers.go"),
            *("nestedpendingoperations.go", "reconciler.go", "reconciler_common.go", "operation_generator.go"),
            *("remote_runtime.go", "remote_image.go", "kuberuntime_sandbox.go", "kuberuntime_manager.go", "log.go"),
            *("kuberuntime_container.go", "kuberuntime_gc.go", "cni.go", "docker_sandbox.go", "csi_plugin.go"),
            *("csi_attacher.go", "csi_mounter.go", "csi_client.go", "nodeinfomanager.go", "image_gc_manager.go"),
            *("eviction_manager.go", "container_manager_windows.go", "controller.go", "nodelease.go", "prober.go"),
            *("certificate_manager.go", "bootstrap.go", "kubelet_getters.go", "setters.go", "generic.go", "file.go"),
            *("cpu_manager.go", "topology_manager.go", "manager.go", "plugin_watcher.go", "processstarttime.go"),
            *("kubelet_network.go", "perfcounter_nodestats.go", "file_unsupported.go", "csi_drivers_store.go"),
            *("volume_manager.go", "desired_state_of_world_populator.go", "aws_credentials.go", "reflector_kubelet.go"),
        ),
        "kubelet",
    ),
    **dict.fromkeys(
        ("proxier.go", "hns.go", "hnsV1.go", "hnsV2.go", "proxy.go", "bounded_frequency_runner.go"), "kube-proxy"
    ),
    **dict.fromkeys(("vxlan_windows.go", "hostgw_windows.go", "kube.go", "route_network_windows.go"), "flanneld"),
    **dict.fromkeys(("ovs_client.go", "agent_windows.go", "net_windows.go"), "antrea"),
    **dict.fromkeys(("preflight.go", "join.go", "token.go", "waitcontrolplane.go"), "kubeadm"),
    **dict.fromkeys(("nodeserver.go", "controllerserver.go", "driver.go", "safe_mounter_windows.go"), "csi driver"),
}
"""By the file that klog names. Sources: kubernetes pkg/kubelet, pkg/volume, pkg/proxy/winkernel, cmd/kubeadm;
flannel-io/flannel pkg; kubernetes-csi/csi-driver-smb pkg/smb."""

AGENTS = "(?:6443|6444|7443|7445|8443|9345)"
"""Ports of an agent's own load balancer before the API server. Sources: rancher/rke2 (6443, 6444, 9345), k0s (7443),
siderolabs/talos (7445)."""
LOOPBACK = r"(?:127\.\d+\.\d+\.\d+|\[::1\]|localhost):"

WEBHOOK, PROXY, METADATA, CNS = (
    *("asking an admission webhook", "going through a proxy", "asking the cloud's metadata", "asking azure-cns"),
)
KUBELET, ETCD, OWN_PORT, API = (
    *("logs or exec of a pod", "asking etcd", "asking a port of the machine itself", "asking the API server"),
)
SHARE, STAGE, VOLUME, UNMOUNT = (
    *("mounting an SMB share", "mounting the device of a volume", "mounting a volume", "unmounting a volume"),
)
ATTACH, SUBPATH, PULL, LAYER = (
    *("attaching a volume", "mounting a subPath", "pulling an image", "unpacking an image's layer"),
)
NETWORK, ENDPOINT, RULE, HNS = (
    *("making a network", "making an endpoint", "making a load balancer's rule", "a call to HNS"),
)
NAMESPACE, HOT_ATTACH = "opening HNS's namespace of a pod", "attaching an endpoint"
POD_NETWORK, SANDBOX, CONTAINER, PROCESS, HCS, SHIM = (
    *("setting up a pod's network", "making a pod's sandbox", "making a container"),
    *("starting a container's process", "a call to HCS", "asking a container's shim"),
)
LISTENING = "opening a port of its own"
OWN_PIPE, PROBE, GMSA, SOCKET, SERVICE, DNS = (
    *(
        "opening its own pipe",
        "probing a container",
        "giving a pod its gMSA",
        "opening a socket or pipe",
        "starting a service",
    ),
    "looking a name up",
)

JOINING, STOPPING = "joining the pod network", "stopping a container"
REMOVE_LAYER = "removing an image's layer"
DISK, PROVIDING = "asking Windows for a disk or volume", "providing a volume"
DEVICES, CREDENTIALS = "its sockets for devices", "running a credential provider for a registry"

(
    ANY_IMAGE,
    ANY_LAYER,
    ANY_VOLUME,
    ANY_UNMOUNT,
    ANY_NETWORK,
    ANY_CONTAINER,
    ANY_CONFIG,
    ANY_CERTIFICATE,
    ANY_API,
    ANY_STREAM,
) = (
    *("images", "layers", "volumes", "unmounting", "networks of pods", "containers", "configuration", "certificates"),
    *("the API", "streams"),
)
SPOKEN = "said by a program of the node"
"""The group of each line that names its program and nothing that it was doing: what it says is then of the program
itself, or of the API server, which each of them asks."""
CLUSTER = (
    *(API, "watching objects of the cluster", "renewing its lease", "registering its Node", "joining the cluster"),
    *("getting its certificate", JOINING, "starting", ANY_API, SPOKEN),
)
"""Where a reason that any library gives is the API server's. Of anything else it says nothing of the cluster."""
GROUPS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(words))
    for name, words in (
        (ANY_IMAGE, r"\bimages?\b|registry|content of images"),
        (ANY_LAYER, r"layer"),
        (ANY_VOLUME, r"volume|\bshare\b|subPath|disk\b"),
        (ANY_UNMOUNT, r"unmounting"),
        (ANY_NETWORK, r"pod's network|address of a pod"),
        (ANY_CONTAINER, r"container|sandbox|shim|\bHCS\b"),
        (ANY_CONFIG, r"configuration"),
        (ANY_CERTIFICATE, r"certificate"),
        (ANY_API, r"API server|objects of the cluster|registering|lease|joining the cluster"),
        (ANY_STREAM, r"stream of exec\b|running a command|forwarding a port"),
    )
)
"""Groups of operations, by words of theirs."""

_DOING: tuple[tuple[str, str, str], ...] = (
    (r"(?:calling|admission|validating|mutating|conversion) webhook|https?://[\w.-]*webhook", "API server", WEBHOOK),
    (r"proxyconnect|Proxy Authentication", "", PROXY),
    (r"169\.254\.169\.254", "", METADATA),
    (r"from CNS\b|(?:localhost|127\.0\.0\.1):10090", "azure-vnet", CNS),
    (
        r"(?:could not|failed to|cannot|unable to) (?:listen|serve)\b|failed to load listeners?|"
        r"[Ll]isten ?[Pp]ipe|CreateNamedPipe",
        "",
        OWN_PIPE,
    ),
    (
        r"SmbGlobalMapping|smb mapping|smbMount|\bSMBMount|\bnet use\b|"
        r"System error (?:53|64|67|71|85|86|87|1219|1240|13(?:1[12]|2[678]|3[01]|55|85|96)|190[79]) has occurred",
        "csi driver",
        SHARE,
    ),
    (
        r"[Cc]redential ?[Ss]pec|cred ?spec|\bgmsa|gMSA|nltest|Credential Guard|external credentials|"
        r"Trusted DC|Connection Status = \d|"
        r"Trust Verification|Getting parent domain|I_NetLogonControl|/(?:sc_verify|parentdomain)\b",
        "",
        GMSA,
    ),
    (r"[Ss]ub[Pp]ath\b|cannot read link [A-Za-z]:", "kubelet", SUBPATH),
    (r"MountVolume\.MountDevice|NodeStageVolume", "kubelet", STAGE),
    (
        r"GetVolumeFromMount|GetVolumeIDFromTargetPath|ListVolumesOnDisk|PartitionDisk|(?:Get|"
        r"Resize)-Partition|Get-Volume\b|"
        r"Get-Disk\b|Format-Volume|Initialize-Disk|StorageWMI|diskMount\b|formatAndMount",
        "csi-proxy",
        DISK,
    ),
    (r"storage (?:account|key)|persistentvolume-controller|provision volume", "csi driver", PROVIDING),
    (r"invalid (?:volume spec|mount config|bind mount|volume name)|[Uu]nrecognised volume spec", "", VOLUME),
    (r"kubernetes\.io~\w+[\\/]|mklink", "kubelet", VOLUME),
    (
        r"MapVolume|AttachVolume|Attach failed for volume|failed to attach disk|FailedAttachVolume|"
        r"attacher\.\w+|Multi-Attach",
        "kubelet",
        ATTACH,
    ),
    (
        r"MountVolume\.\w+|NodePublishVolume|Unable to attach or mount volumes|FailedMount|failed for volume",
        "kubelet",
        VOLUME,
    ),
    (r"UnmountVolume\.\w+|[Tt]ear down volume|UnmountDevice|NodeUnpublishVolume|NodeUnstageVolume", "kubelet", UNMOUNT),
    (r"(?:Liveness|Readiness|Startup) probe|Unhealthy\b|ProbeError", "kubelet", PROBE),
    (
        r"error dialing backend|unable to upgrade connection|:10250\b|remote error: tls: internal error|"
        r"no preferred addresses found|unable to fully scrape|[Ff]ailed to scrape",
        "API server",
        KUBELET,
    ),
    (
        r"podresources|podResources|pod-resources|device[ -]?plugin|deviceplugin|devices unavailable for|"
        r"cannot allocate unhealthy devices",
        "kubelet",
        DEVICES,
    ),
    (r"credential[ -]?provider", "kubelet", CREDENTIALS),
    (r"(?:decode|parse|load|read) hosts\.toml", "containerd", "reading the configuration of a registry"),
    (
        r"ErrImagePull|pull access denied|ImagePullBackOff|[Ff]ailed to pull|[Ff]ailed pulling|PullImage|"
        r"failed to resolve reference|"
        r"[Pp]ulling from|sandbox image|manifest (?:for \S+ not found|unknown)|Unable to find image|docker pull|"
        r"[Ee]rror (?:(?:while )?pulling|reading manifest)|^docker(?:\.exe)?: (?:x509|tls): |"
        r"failed to authorize|fetch (?:anonymous|oauth) token|"
        r"\"code\": ?\"(?:UNAUTHORIZED|DENIED|\w+_UNKNOWN|TOOMANYREQUESTS)\"|"
        r"failed to do request: (?:Head|Get)|https?://[^\s/\"]+/(?:v2|v1/(?:users|_ping|repositories))/",
        "containerd",
        PULL,
    ),
    (
        r"failed to remove root filesystem|[Ee]rror removing (?:mounted )?layer|snapshot garbage collection|"
        r"failed to detach VHD|DestroyLayer\b|[\\/]rm-\d+\b|-removing\b",
        "containerd",
        REMOVE_LAYER,
    ),
    (
        r"failed to (?:extract|register|prepare) (?:layer|snapshot)|[A-Z]\w*Layer\b|ociwclayer|snapshotter|"
        r"ExpandSandbox|scratch layer|"
        r"windowsfilter",
        "containerd",
        LAYER,
    ),
    (
        r"failed commit on ref|unexpected commit (?:size|digest)|failed to read expected number of bytes",
        "containerd",
        "writing the content of images",
    ),
    (
        r"failed to (?:set ?up|setup|teardown|destroy) network for sandbox|SetupPodNetwork|plugin type=\"?[\w-]+|"
        r"ClusterInformation|\[cni-\w+\]|\bMultus: |networkPlugin cni|NetworkPlugin cni|"
        r"Error (?:while )?adding (?:network|to cni)|netplugin failed|failed to set ?up pod .{1,200} network",
        "containerd",
        POD_NETWORK,
    ),
    (
        r"hcnCreateEndpoint|[Cc]reat\w* (?:the new )?(?:[Hh][Nn][Ss] ?)?[Ee]ndpoint|ProvisionEndpoint|"
        r"-Type endpoints",
        "HNS",
        ENDPOINT,
    ),
    (r"failed to allocate for range \d|in range set: ", "host-local", "reserving the address of a pod"),
    (r"(?i:attaching the endpoint|hot ?attach)", "HNS", HOT_ATTACH),
    (r"hcn\w*Namespace|HostComputeName[Ss]pace", "HNS", NAMESPACE),
    (
        r"hcnCreateNetwork|[Cc]reate.{0,12}(?:(?i:HNS ?Network)|HostComputeNetwork)|New-H[Nn][Ss]Network|"
        r"(?:[Ff]ailed to create|[Ff]ailed creating|[Ee]rror creating) (?:\w+ )?network\b|"
        r"antrea-hnsnetwork|POST.{0,20}/networks|-Type networks",
        "HNS",
        NETWORK,
    ),
    (
        r"hcn(?:Create|Modify|Delete)LoadBalancer|[Pp]olicy creation failed|[Ll]oad ?[Bb]alancer.{0,30}failed",
        "kube-proxy",
        RULE,
    ),
    (
        r"(?i:hnsCall\w*)|\bhcn[A-Z]\w+|Invoke-H[Nn][Ss]\w+|HNS failed|HNSEndpoint|HostComputeEndpoint|"
        r"\bHNS\b.{0,40}fail|HNS/0x|\b(?:Get|New|Remove|Attach|Detach)-H[Nn][Ss]\w+ : ",
        "HNS",
        HNS,
    ),
    (
        r"RunPodSandbox|[Cc]reate pod sandbox|FailedCreatePodSandBox|sandbox container|CreatePodSandbox",
        "containerd",
        SANDBOX,
    ),
    (r"StopPodSandbox|RemovePodSandbox|KillPodSandbox|FailedKillPod", "containerd", "removing a pod's sandbox"),
    (r"hcs(?:shim)?::(?:System::)?CreateProcess|CreateProcess\b|RunContainerError", "containerd", PROCESS),
    (
        r"hcs(?:shim)?::(?:\w*System::)?Start\b|hcs(?:shim)?::CreateComputeSystem|CreateComputeSystem",
        "containerd",
        CONTAINER,
    ),
    (r"hcs(?:shim)?::\w+(?:::\w+)?", "containerd", HCS),
    (r"failed to (?:start|connect to|shutdown|delete) shim\b", "containerd", SHIM),
    (
        r"StartContainer|failed to start containerd task|failed to create containerd task|CreateContainer|shim task|"
        r"failed to create container: |failed to generate (?:container \S+ )?spec",
        "containerd",
        "starting a container",
    ),
    (r"encountered an error during \w+", "", HCS),
    (
        r"ExecSync|exec in container|failed to exec|exec failed: |StartExec|error executing (?:remote )?command|"
        r"command terminated with exit code",
        "containerd",
        "running a command in a container",
    ),
    (r"(?:reading from|sending) error stream|next reader: websocket", "", "reading the stream of exec or port-forward"),
    (r"KillContainer|StopContainer|RemoveContainer|failed to kill", "containerd", STOPPING),
    (r"\[ERROR \w+\]|error execution phase|kubeadm", "kubeadm", "joining the cluster"),
    (r"register(?:ing)? node|Attempting to register|node \S+ not found", "kubelet", "registering its Node"),
    (r"[Ff]ailed to (?:list|watch) |reflector\.go", "", "watching objects of the cluster"),
    (
        r"Error registering network|[Ff]ailed to acquire (?:lease|subnet)|SubnetManager|subnet lease",
        "flanneld",
        JOINING,
    ),
    (r"\blease\b", "kubelet", "renewing its lease"),
    (
        r"certificate signing request|TLS bootstrap|bootstrap[- ](?:client|kube|credential|token|cert)|bootstrap\.go|"
        r"rotat\w+ cert|kubelet-client-current",
        "kubelet",
        "getting its certificate",
    ),
    (
        r"[Aa]ntrea client\b|endpoint_resolver\.go|Cannot resolve endpoint because",
        "antrea-agent",
        "connecting to antrea-controller",
    ),
    (r"uplink port|\bto bridge br-|ovs-(?:of|vs)ctl\b", "antrea-agent", "setting up the bridge of Open vSwitch"),
    (r"failed complete: ", "kube-proxy", "reading its configuration"),
    (r"error unmarshaling configuration", "kubeadm", "reading its configuration"),
    (r"failed to run [Kk]ubelet|command failed|error: failed to|[Ff]ailed to start ContainerManager", "", "starting"),
    (
        r"metrics\.k8s\.io|GetPodStats|GetContainerStats|stats summary|ListPodSandboxStats|failed to get stats|"
        r"PodSandboxStats",
        "kubelet",
        "reading a pod's figures",
    ),
    (
        r"^Exit Code: |State: +Terminated|Reason: +ContainerCannotRun|"
        r"[Ee]xit ?[Cc]ode.{0,80}container|container.{0,80}[Ee]xit(?:ed| ?[Cc]ode)",
        "",
        "running a container",
    ),
    (r"garbage collect|image_gc", "kubelet", "removing images"),
    (r"eviction manager|evict|local storage usage exceeds", "kubelet", "evicting pods"),
    (r"'[^']+' (?:failed to start|could not initialize)", "Hyper-V", "starting a virtual machine"),
    (
        r"StartService|(?:stop|start) or query status of service|"
        r"entered failed state|Active: failed|(?<!runtime )service (?:failed|cannot|did not)|"
        r"\[SC\]|\b(?:Start|Stop|Restart|Set|New|Remove)-Service\b|sc\.exe",
        "Windows",
        SERVICE,
    ),
    (r"(?:error|error occurred) forwarding (?:port )?\d+", "kubelet", "forwarding a port"),
    (r"FailedScheduling|nodes are available", "scheduler", "placing a pod"),
    (r"violates PodSecurity", "API server", "admitting a pod by Pod Security"),
    (
        r"(?:maximum|minimum) [\w./-]+ usage per (?:Container|Pod) is",
        "API server",
        "admitting a pod within a LimitRange",
    ),
    (r"exceeded quota: |failed quota: ", "API server", "admitting an object within a ResourceQuota"),
    (r":(?:2379|4001)\b", "", ETCD),
    (rf"dial tcp {LOOPBACK}(?!{AGENTS})\d", "", OWN_PORT),
    (
        r"\b(?:listen|bind|exposing|expose)\b.{0,160}:(?:1024[89]|1025\d|6443|6444|9345|10010|8472|4789|9100|9182)\b",
        "",
        LISTENING,
    ),
    (r"\.sock\b|listen unix|bind unix|\\\\?pipe\\", "", SOCKET),
    (
        r"https?://[^/\s\"]+/apis?/|:6443\b|[Aa]pi-?[Ss]erver|[Uu]nable to connect to the server|Error from server\b|"
        r"the server (?:could not find|is currently unable|was unable|has (?:asked|received))|\b(?:9345|7443|6444)/",
        "",
        API,
    ),
    (
        r"(?:dial|read|write) udp \S+:53\b|lookup \S+ on \S+:53|lookup \S+: no such host|(?i:resolve-dnsname)|"
        r"nslookup|DnsClient",
        "",
        DNS,
    ),
    (
        r"Cannot find path '|Could not find a part of the path '|Cannot bind (?:argument to )?parameter|"
        r"A parameter cannot be found that matches|Cannot convert value |Unable to find package provider|"
        r"No match was found for the specified search criteria|No MSFT_\w+ objects found",
        "PowerShell",
        "running a cmdlet",
    ),
)
OPERATIONS = tuple((re.compile(pattern), who, doing) for pattern, who, doing in _DOING)
"""What a line speaks of: the program that does it (empty where several do), and what, in words. The first one that fits
is what it says of itself; rules look at all of them."""

OTHERWISE = tuple(
    (re.compile(pattern), who, doing)
    for pattern, who, doing in (
        (
            r"[Ee]rror response from daemon|[Dd]ocker daemon|Docker is configured|invalid volume spec",
            "Docker",
            "asking the Docker daemon",
        ),
        (
            r"(?i:googleapi): |AADSTS\d|api error |autorest|StatusCode[=:] ?\d|\bCode=\"\w+\" Message=",
            "",
            "asking the cloud's API",
        ),
        (
            r"[Kk]ubelet (?:stopped|never) post\w+ node status|NodeStatusUnknown|\bNotReady\b",
            "node controller",
            "watching a Node",
        ),
        (r"10248/healthz|\[kubelet-check\]", "kubeadm", "waiting for kubelet to be healthy"),
        (r"nodeRegistration\.\w+", "kubeadm", "reading its configuration"),
        (r"\bExited \(\d+\)|Creating \S+ \.\.\. error|container not started", "", "running a container"),
        (r"exec format error|not found in the container", "containerd", PROCESS),
        (r"[Cc]hannel from agent is full|konnectivity", "konnectivity", "serving the tunnel to the nodes"),
        (r"tar contents corrupted", "kubectl", "copying files of a container"),
        (r"mount error\(\d+\)|mount failed", "", "mounting"),
        (r"Reconciler error|\breconcil", "", "reconciling an object"),
        (r"calico node token|calico", "calico", "preparing the node"),
        (r"\blisten (?:tcp|udp)\d? |[Ff]ailed to bind to address", "", "opening a port"),
        (r"dial (?:tcp|udp) |Connecting To |jsonrpc|\b(?:Get|Post|Head) \"?https?://", "", "connecting"),
        (
            r"specified module '[^']+' was not loaded|no valid module file was found",
            "PowerShell",
            "importing a module",
        ),
        (
            r"is not recognized as (?:the name|an internal)|Program '[^']+' failed to run|[Uu]nable to launch process",
            "",
            "starting a program",
        ),
        (
            r"exit(?:ed)?:? (?:with )?(?:status|code)|returned a non-zero code: |Exception code: ",
            "",
            "running a program",
        ),
        (r"\b[Cc]ertificate|x509: ", "", "checking a certificate"),
        (r"\b(?:open|read|write|stat|remove|rename|mkdir|unlink) (?:[A-Za-z]:\\|/)", "", "using a file"),
    )
)
"""What a line speaks of that has no word of OPERATIONS: no rule asks for it."""

OBJECTS = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"\b([\w-][\w.-]{0,100}\.csi\.(?:k8s\.io|azure\.com|aws\.com|vsphere\.vmware\.com))\b", "a volume of {}"),
        (r"for volume \\*\"([^\"\\]+)|unmounted volumes=\[([^\]]+)\]|volume ?ID\(?:? ?\"?([\w#.-]+)", "volume {}"),
        (r"calling webhook \"([^\"]+)", "webhook {}"),
        (r"(?:pull (?:and unpack )?image|PullImage|Image) \"([^\"]+)\"", "image {}"),
        (r"\b(\\\\\.\\pipe\\[\w.-]+)", "pipe {}"),
        (r"(?:unix |listen |bind: )?(\S{1,260}\.sock)\b", "socket {}"),
        (r"\b(?:(?:dial|listen) tcp |tcp:)(\S+:\d+)", "{}"),
        (r"(?:Get|Post|Put|Patch|Head) \"?(https?://[^/\"\s]+)", "{}"),
        (r"[Tt]he term '([^']+)' is not recognized|specified module '([^']+)'|Program '([^']+)' failed to run", "{}"),
        (r"\bpod[= ]\"([\w./-]+)\"|for pod \"([\w./-]+)\"|set ?up pod \"([\w.-]+)\"", "pod {}"),
        (r"plugin type=[\"']?([\w-]+)", "plugin {}"),
        (r"for sandbox ['\"]?([0-9a-f]{12,})|container ['\"]?([0-9a-f]{12,})", "container {}"),
        (r"node \"?([\w.-]+)\"? not found|nodes? \"([\w.-]+)\"", "node {}"),
        (r"open ([A-Za-z]:\\\S+?):? ", "file {}"),
        (r"HNS ?[Nn]etwork \"?([\w-]+)", "network {}"),
        (
            r"\b([a-z]\w{1,80}(?:\[[\w-]{1,80}\]|\.\w{1,80}){1,16}): "
            r"(?:Invalid|Required|Unsupported|Forbidden|Duplicate)",
            "field {}",
        ),
    )
)
"""What a line names, and how it is said."""

CODES = tuple(
    (re.compile(pattern), kind)
    for pattern, kind in (
        (r"(?<![0-9a-zA-Z])(0x(?:803[7bB]|[cC]037|8007|[cCdD]000)[0-9a-fA-F]{4})(?![0-9a-zA-Z])", "hresult"),
        (
            r"(?<![\w-])(2151[0-9]{6}|21470[0-9]{5}|214794[0-9]{4}|32212[0-9]{5}|34896[0-9]{5})(?!\w)|"
            r"(?<!\w)(-21\d{8}|-10737\d{5})(?!\w)",
            "hresult",
        ),
        (r"\berror \[(8[0-9a-f]{7})\]", "hex"),
        (r"\((0x[0-9a-fA-F]{1,4})\)", "windows"),
        (
            r"Windows System Error (\d+)|(?:FAILED|%%|[Ss]ystem error|winapi error #) ?(\d+)\b|"
            r"(?<![\w.])error (\d{3,5})\b",
            "windows",
        ),
        (
            r"x509: [^\"\n]{4,120}|tls: [^\"\n]{4,120}|certificate has expired|invalid certificate[^\"\n]{0,120}|"
            r"[Cc]ertificate (?:is not|does(?:n't| not)|has been|was) [^\"\n]{4,120}",
            "x509",
        ),
        (
            r"(?:i/o timeout|no such host|connection refused|actively refused it|"
            r"connection reset by peer|no route to host|"
            r"forcibly closed by the remote host|TLS handshake timeout|failed to respond|connection timed out|"
            r"Client\.Timeout|unreachable network|network is unreachable|wsarecv|broken pipe|"
            r"connection (?:attempt )?timed out|receive error|connection dropped)",
            "net",
        ),
        (
            r"(?:unexpected status(?: code)?|status(?: code)?|code|"
            r"HTTP(?:/[\d.]+)?|Error)[^\w]{1,4}(?:from \S+ request to \S+: )?([45]\d\d)\b|"
            r"\b([45]\d\d) (?:Forbidden|Unauthorized|Not Found|Bad Gateway|Service Unavailable|"
            r"Too Many)",
            "http",
        ),
        (
            r"exit (?:status|code)[ :]*(-?\d+|0x[0-9a-fA-F]+)|[Ee]xit [Cc]ode:? +(-?\d+)|"
            r"exited with (?:code )?(-?\d+)|returned a non-zero code: (-?\d+)",
            "exit",
        ),
        (
            r"(?:ENOENT|EACCES|EPERM|EEXIST|EBUSY|no such file or directory|permission denied|"
            r"file exists|device or resource busy)",
            "errno",
        ),
        (r"(?:code = |StatusCode\.)(?!Unknown|Internal\b|OK)([A-Z]\w+)", "grpc"),
        (r"(context deadline exceeded|DeadlineExceeded|context canceled)", "grpc"),
    )
)
"""The forms of codes, those that say most first; what stands in brackets is the code."""
