# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sentences that one place of one program prints: they name their cause by themselves (message.py)."""

from __future__ import annotations

from .message import ANY, Message, Rule
from .message_places import ANY_IMAGE, ANY_VOLUME, PULL, WEBHOOK

_KUBELET = "kubernetes/kubernetes pkg/kubelet/"
_GMSA = "kubernetes-sigs/windows-gmsa admission-webhook/webhook.go"
_SERVICES = "learn.microsoft.com Service Control Manager, event "
_CCG = "learn.microsoft.com gMSA troubleshooting, events of Microsoft-Windows-Containers-CCG"

MESSAGES: tuple[Message | Rule, ...] = (
    # The Node and its pods
    Message(
        "node.device", r"Allocate failed due to .{0,400}, which is unexpected", _KUBELET + "cm/devicemanager/manager.go"
    ),
    Message(
        "node.absent",
        r"error (?:getting|updating) node\b.{0,120}nodes? \"[^\"]+\" not found|"
        r"CSINode.{0,200}caused by: nodes? \"[^\"]+\" not found",
        _KUBELET + "kubelet_node_status.go; kubernetes/kubernetes pkg/volume/csi/nodeinfomanager",
        early=True,
    ),
    Message(
        "node.pressure",
        r"attempting to reclaim\W+(?:resourceName=|memory|ephemeral|nodefs|imagefs)|"
        r"[Nn]ode ha[ds] conditions?: \[?\w*Pressure",
        _KUBELET + "eviction/eviction_manager.go, helpers.go",
    ),
    Message(
        "pod.not-admitted",
        r"Node didn't have enough resource: |Predicate \w+ failed|PodOSNotSupported|PodOSSelectorNodeLabelDoesNotMatch|"
        "cannot be allocated with Topology locality|SMT Alignment Error",
        _KUBELET + "lifecycle/predicate.go",
    ),
    Message("pod.hook", r"lifecycle hook .{0,600} failed - error: ", _KUBELET + "lifecycle/handlers.go", over=ANY),
    Message(
        "pod.not-running",
        r"cannot (?:exec into|attach) a container in a completed pod|"
        r"previous terminated container \S+ in pod \S+ not found",
        "kubernetes/kubectl pkg/cmd/exec/exec.go, attach/attach.go",
    ),
    Message(
        "pod.not-running",
        r"unable to retrieve container logs for \w+://",
        _KUBELET + "kuberuntime/kuberuntime_container.go",
    ),
    Message(
        "kubelet.certificate-late",
        "certificate request was not signed",
        "kubernetes/client-go util/certificate/certificate_manager.go",
    ),
    Message(
        "kubelet.request-denied",
        r"(?:Forbidden|Authorization error) \(user=\S+, verb=\w+, resource=nodes, subresource",
        _KUBELET + "server/server.go",
    ),
    Message("start.socket-left", r"\bremove \S*kubelet\.sock: ", _KUBELET + "cm/devicemanager/plugin"),
    # The cluster
    Message(
        "gmsa.no-crd",
        'no matches for kind "GMSACredentialSpec"',
        "kubernetes/apimachinery pkg/api/meta/errors.go",
        over=("cluster.api-missing",),
    ),
    Message(
        "cluster.extension-api",
        "couldn't get resource list for ",
        "kubernetes/client-go discovery/cached/memory/memcache.go",
        over=("cluster.overloaded",),
    ),
    Message(
        "cluster.api-missing",
        'no matches for kind "|ensure CRDs are installed first',
        "kubernetes/apimachinery pkg/api/meta/errors.go",
        over=("pod.invalid",),
    ),
    Message(
        "cluster.webhook-unreachable",
        r"admission plugin \"(?:Mutating|Validating)AdmissionWebhook\" failed to complete",
        "kubernetes/apiserver pkg/admission/metrics; pkg/endpoints/handlers/create.go",
    ),
    Message(
        "join.anonymous",
        r"configmaps \"cluster-info\" is forbidden: User \"system:anonymous\"|"
        r"configmaps/cluster-info\b.{0,40}\b401 Unauthorized|"
        r"(?:request|reading)(?: the)? cluster-info\b.{0,200}(?:Unauthorized|forbidden: User \"system:anonymous)",
        "kubernetes/kubernetes v1.37.2 cmd/kubeadm/app/discovery/token/token.go, file/file.go",
        over=("cluster.denied",),
    ),
    Message(
        "join.bindings",
        r"is forbidden: User \"system:bootstrap:\w+\" cannot (?:create|get|list|watch) ",
        "kubernetes/kubernetes v1.37.2 cmd/kubeadm/app/phases/bootstraptoken/node/tlsbootstrap.go; "
        "kubernetes/apiserver pkg/endpoints/handlers/responsewriters/errors.go",
    ),
    Message(
        "join.not-kubeadm",
        r"unable to fetch the kubeadm-config ConfigMap.{0,200}configmaps \"kube\w+-config\S*\" not found|"
        r"could not download the kubelet configuration.{0,200}configmaps \"kubelet-config\S*\" not found",
        "kubernetes/kubernetes v1.37.2 cmd/kubeadm/app/cmd/join.go, componentconfigs/kubelet.go",
    ),
    Message(
        "join.no-credentials",
        "could not find authentication credentials for the TLS bootstrap process",
        "kubernetes/kubernetes v1.37.2 cmd/kubeadm/app/discovery/discovery.go",
    ),
    Message(
        "cluster.tls-version",
        r"tls: client offered only unsupported versions|tls: protocol version not supported|"
        "tls: server selected unsupported protocol version",
        "golang/go src/crypto/tls/handshake_server.go, handshake_client.go, alert.go",
    ),
    Message(
        "cluster.own-address",
        r"dial tcp (?:127\.\d+\.\d+\.\d+|\[::1\]):(?:6443|8443): connect(?:ex)?: (?:connection refused|No connection)|"
        r"connection to the server (?:localhost|127\.\d+\.\d+\.\d+|\[::1\]):(?:6443|8443) was refused",
        "kubernetes-sigs/kubespray roles/kubernetes/node/templates/loadbalancer/nginx.conf.j2 (commit 46dbdd3); "
        "kubernetes/kubectl pkg/cmd/util/helpers.go",
        over=("cluster.unreachable",),
    ),
    Rule(
        "cluster.denied",
        (
            r"is forbidden: User \"system:(?:node|serviceaccount|anonymous|bootstrap)\S* cannot ",
            r"the server does not allow access to the requested resource|You must be logged in to the server",
        ),
        "kubernetes/apiserver pkg/endpoints/handlers/responsewriters; kubernetes/apimachinery pkg/api/errors/errors.go",
        never=(WEBHOOK,),
    ),
    Message(
        "cluster.unreachable",
        r"[Tt]he connection to the server (?!localhost|127\.|\[::1\])\S+ was refused - did you|"
        "unable to establish connection from agents to kubernetes api server|"
        "unable to resolve kubernetes api server|CHECK_API_SERVER_CONNECTIVITY",
        "Azure/AgentBaker parts/windows/windowscsehelper.ps1",
    ),
    # Networks of pods
    Message(
        "calico.encapsulation",
        r"encapsulation \S+ is not supported by Calico for Windows",
        "tigera/operator pkg/controller/installation/windows_controller.go",
    ),
    Message(
        "flannel.node-name",
        r"error retrieving pod spec for '[^']*'.{0,20}: pods \"[^\"]*\" not found",
        "flannel-io/flannel pkg/subnet/kube/kube.go",
    ),
    Message(
        "cni.eks-address",
        "failed to assign an IP address to container|Insufficient(?:CidrBlocks|FreeAddressesInSubnet)",
        "aws/amazon-vpc-cni-k8s cmd/routed-eni-cni-plugin/cni.go",
    ),
    Message(
        "hns.management-address-stale",
        "waiting for interface matching the management IP",
        "projectcalico/calico cni-plugin/pkg/dataplane/windows/dataplane_windows.go",
    ),
    Message(
        "flannel.net-conf-vxlan",
        r"VNI is \d+ but it is required",
        "flannel-io/flannel pkg/backend/vxlan/vxlan_network_windows.go",
    ),
    Message(
        "node.no-pod-cidr",
        "no remaining CIDRs left to allocate",
        "kubernetes/kubernetes pkg/controller/nodeipam/ipam/cidrset/cidr_set.go",
    ),
    # Containers
    Message(
        "container.no-hyper-v",
        r"CreateComputeSystem\b.{0,200}request is not supported.{0,400}HvPartition\"?:true",
        "microsoft/hcsshim: a machine with isolation, where Windows has no hypervisor",
    ),
    Message(
        "container.runtime-class",
        r"RuntimeHandler \S+ not supported",
        "kubernetes/kubernetes v1.23 pkg/kubelet/dockershim/docker_sandbox.go",
    ),
    Message(
        "container.memory", r"Unhandled [Ee]xception.{0,20}OutOfMemoryException", "learn.microsoft.com .NET exceptions"
    ),
    Message(
        "container.no-shim",
        r"containerd-shim-\S+?\"?: .{0,40}(?:cannot find|not found|does not exist)|"
        r"runtime \S*runhcs\S* binary not installed",
        "containerd/containerd core/runtime/v2/shim_manager.go",
    ),
    Message(
        "container.host-process-mixed",
        "if pod contains any hostProcess containers|if the pod sandbox is a job container running on host|"
        "hostProcess value must be identical",
        "kubernetes/kubernetes pkg/apis/core/validation/validation.go; "
        "microsoft/hcsshim cmd/containerd-shim-runhcs-v1/pod.go",
    ),
    Message(
        "container.no-hyper-v",
        "does not have required virtualization capabilities",
        "learn.microsoft.com Install-WindowsFeature Hyper-V",
    ),
    Message(
        "container.utility-vm",
        r"(?:failed to (?:start|create)|starting|creating) .{0,20}(?:utility VM|UVM|uvm)\b.{0,300}(?:deadline exceeded|"
        "could not be established|timed out)",
        "microsoft/hcsshim internal/uvm/start.go",
    ),
    Message("gmsa.spec-invalid", "failed to parse the credential spec", _CCG),
    Message("gmsa.plugin-missing", "failed to instantiate the plug-?in", _CCG),
    Message("container.gmsa-domain", r"fetch gmsa credentials .{0,200}directory service is not available", _CCG),
    Message("gmsa.spec-missing", r"cred(?:ential)? ?spec \S+ does not exist", _GMSA),
    Message("gmsa.not-allowed", r"is not authorized (?:to )?\S+ gMSA cred", _GMSA),
    # Images
    Message(
        "image.damaged",
        "content digest sha256:[0-9a-f]{12,}: not found",
        "containerd/containerd plugins/content/local/store.go",
    ),
    Rule(
        "image.registry-http",
        ("server gave HTTP response to HTTPS client|first record does not look like a TLS handshake",),
        "Go net/http transport.go",
        doing=(ANY_IMAGE,),
    ),
    Rule(
        "image.registry-certificate",
        ("SSL certificate problem|unable to get local issuer certificate",),
        "curl, of a registry's address",
        doing=(PULL,),
    ),
    Message(
        "image.form",
        r"media type \S+ is no longer supported|no processor for media-type|\bctr: no signatures",
        "containerd/containerd core/remotes/docker/converter.go; docker/libtrust jsonsign.go",
    ),
    # Volumes
    Message(
        "volume.not-on-windows", "only cifs mount is supported now", "kubernetes/mount-utils mount_windows.go, Mount"
    ),
    Message(
        "volume.not-on-windows",
        "no volume plugin matched",
        "kubernetes/kubernetes pkg/volume/plugins.go, FindPluginBySpec",
    ),
    Message(
        "volume.expand",
        r"resize volume \S+ by resizer \S+ failed|"
        "only dynamically provisioned pvc can be resized",
        "kubernetes-csi/external-resizer; kubernetes/kubernetes plugin/pkg/admission/storage/persistentvolume/resize",
    ),
    Message(
        "volume.share-lost",
        r"network name is no longer available\W.{0,300}[ (\"']\\{1,2}[\w.-]+\\\w|"
        r"[ (\"']\\{1,2}[\w.-]+\\\w.{0,300}network name is no longer available",
        "learn.microsoft.com ERROR_NETNAME_DELETED (64), of a UNC path",
    ),
    Message(
        "volume.leftover", "requested access path is already in use", "learn.microsoft.com Add-PartitionAccessPath"
    ),
    Message("volume.share-letter", r"A drive with the name '\w' already exists", "learn.microsoft.com New-PSDrive"),
    Message(
        "volume.driver-absent",
        r"failed to get secretproviderclass .{0,300}not found",
        "kubernetes-sigs/secrets-store-csi-driver pkg/secrets-store/nodeserver.go",
    ),
    Message(
        "volume.object-missing", "failed to sync (?:secret|configmap) cache", _KUBELET + "util/manager", early=True
    ),
    Message(
        "volume.disk-not-found",
        r"Cannot find Lun for disk|WaitForAttach failed within timeout",
        "kubernetes/kubernetes pkg/volume/azuredd/attacher.go; kubernetes/legacy-cloud-providers azure",
    ),
    Message(
        "volume.attach",
        "not in the same zone as the VM|maximum number of data disks allowed to be attached|"
        "maximum allowed number of disk devices|AttachmentLimitExceeded",
        "the APIs of Azure Compute, OpenStack Nova (TooManyDiskDevices) and EC2, attaching a disk",
    ),
    Message(
        "volume.path-missing",
        r"kubernetes\.io~.{0,300}bind source path does not exist",
        "moby/moby volume/mounts/windows_parser.go",
    ),
    Message(
        "volume.folder-denied",
        r"\bmkdir \S*[\\/]pods[\\/]\S+[\\/]volumes\S*: Access is denied",
        _KUBELET + "kubelet_pods.go",
    ),
    Message(
        "volume.driver-denied",
        r"azure\.BearerAuthorizer#WithAuthorization: Failed to refresh the Token",
        "Azure/go-autorest autorest/authorization.go",
    ),
    Message(
        "volume.driver-backend",
        r"keyvault\.\w+#\w+: Failure sending request.{0,80}(?:context deadline exceeded|dial tcp|i/o timeout)",
        "Azure/azure-sdk-for-go services/keyvault",
    ),
    # The machine
    Message("hns.stopped", "Host Network Service service terminated", _SERVICES + "7031"),
    Message("host.no-adapter", "Waiting for interface named 'vEthernet", "projectcalico/calico node/windows-packaging"),
    Message(
        "kube-proxy.source-vip",
        r"null array\..{0,400}sourceVip",
        "kubernetes-sigs/sig-windows-tools hostprocess/flannel/kube-proxy/start.ps1",
    ),
    Message("cni.antrea-ovs", r"ovs-vswitchd\.pid\b", "antrea-io/antrea pkg/ovs/ovsctl"),
    Message(
        "start.instance",
        "failed to get external ID from cloud provider",
        "kubernetes/kubernetes v1.10 pkg/kubelet/kubelet_node_status.go",
    ),
    Message(
        "host.not-elevated",
        r"containerd: (?:mkdir|open) \S*containerd\S*: Access is denied",
        "containerd/containerd cmd/containerd/command/main.go",
    ),
    Message(
        "hns.vmcompute-stopped",
        r"\(vmcompute\)' cannot be started|Cannot start service vmcompute",
        "learn.microsoft.com Start-Service (CouldNotStartService)",
    ),
    Message(
        "container.gmsa-domain",
        r"secure channel between the local computer and the domain \S+ is broken|"
        "trust relationship between this workstation and the primary domain failed|"
        r"I_NetLogonControl failed: Status = (?:1311|1355|1787|1789)\b",
        "learn.microsoft.com Test-ComputerSecureChannel; nltest /sc_verify",
    ),
    Message(
        "host.counters",
        r"\bReqQueryValueEx failed|perflib\.Query\w+\(",
        "grafana/perflib_exporter perflib/nametable.go",
    ),
    Message(
        "start.database",
        r"Page expected to be: \d+, but self identifies as|page \d+ already freed|freepages: failed to get|"
        r"bbolt\.\(\*\w+\)\.\w*[cC]heck\(",
        "etcd-io/bbolt page.go, freelist.go",
    ),
    Message(
        "start.containerd-config",
        r"containerd: .{0,80}(?:last key parsed|bare keys cannot contain)|"
        r"cannot be set when `?config_path`? is provided",
        "BurntSushi/toml parse.go, as containerd prints it",
    ),
    Message(
        "start.no-kubeconfig",
        r"open \S*serviceaccount[\\/]token: .{0,20}(?:cannot find|no such file)",
        "kubernetes/client-go rest/config.go InClusterConfig",
    ),
    Message(
        "start.unknown-flag",
        r"(?:^|\] )(?:Error: )?unknown command(?:: [\w.-]+$| \"[^\"]+\" for \")",
        "spf13/cobra args.go; kubernetes/kubernetes cmd/kube-proxy",
    ),
    Message(
        "start.kubeconfig",
        r"getting credentials: exec: executable \S+ (?:not found|failed)|error executing access token command",
        "kubernetes/client-go plugin/pkg/client/auth/exec/exec.go, auth/gcp/gcp.go",
    ),
    Message(
        "start.key-pair",
        "crypto/tls: failed to parse (?:certificate|key) PEM data|"
        "tls: (?:found a certificate rather than a key|failed to find any PEM data|"
        "private key (?:type )?does not match)",
        "Go crypto/tls tls.go X509KeyPair",
    ),
    Message(
        "start.program-missing",
        r"cannot execute '[\w-]+ --version': executable file not found",
        "kubernetes/kubernetes cmd/kubeadm/app/preflight/utils.go",
    ),
    Message(
        "start.panic",
        r"goroutine \d+ \[running\]:.{0,60}(?:runtime\.(?:throw|sigpanic|gopanic)|panic\()",
        "Go runtime/traceback.go",
    ),
    Message(
        "image.registry-denied",
        "^no basic auth credentials|^(?:unauthorized|denied): (?:access to the requested resource is not authorized|"
        "requested access to the resource is denied)",
        "distribution/distribution registry/api/errcode; moby/moby registry/auth.go",
    ),
    Message("start.account", r"was unable to log on as ", _SERVICES + "7038"),
    Message(
        "start.dependency",
        r"depends on the following service: .{0,80}might not be installed",
        _SERVICES + "7003",
    ),
    Message(
        "host.time",
        r"KRB_AP_ERR_SKEW|time (?:and/or date )?difference between the client and (?:the )?server|"
        r"clock skew .{0,60}too great",
        "learn.microsoft.com ERROR_TIME_SKEW (1398)",
    ),
    Rule(
        "host.cloud-denied",
        ("You are not authorized to perform this operation|does not have authorization to perform action",),
        "Amazon EC2 API error codes; Azure Resource Manager, AuthorizationFailed",
        never=(ANY_VOLUME,),
    ),
)
