"""What a message of one program must not claim of another's line, and what the same words mean where it speaks itself.

The lines are written by hand, with the format strings of the programs that are named; none is from a public thread.
"""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.words.meanings import meanings
from ansible_collections.winkube.node.plugins.plugin_utils.words.places import NO_CAUSE

CONNECTED = "dial tcp 10.0.0.4:6443: connectex: A connection attempt failed because the connected party did not respond"
INFO = 'Get "https://10.0.0.4:6443/api/v1/namespaces/kube-public/configmaps/cluster-info?timeout=10s"'

OTHERS = (
    ("Redis", "ERR unknown command `CLIENT|SETINFO`, with args beginning with: `LIB-NAME`"),
    ("kube-proxy, at work", 'I0512 12:00:01.1 6044 server.go:120] "WinDSR feature gate is enabled"'),
    ("a backup", "Error: C: is not NTFS formatted"),
    (
        "a container that is removed",
        'E0512 12:00:01.1 2312 remote_runtime.go:407] "RemoveContainer from runtime service failed" '
        'err="failed to delete container state dir: unlinkat C:\\\\state\\\\1a: The directory is not empty."',
    ),
    ("kubectl get", 'Error from server (NotFound): secrets "db" not found'),
    ("kubeadm", 'failed to get config map: configmaps "kubeadm-config" not found'),
    ("Helm", 'Error: UPGRADE FAILED: secrets "sh.helm.release.v1.web.v3" not found'),
    ("an operator", '{"level":"error","msg":"Reconciler error","error":"Secret \\"webhook-cert\\" not found"}'),
    (
        "etcdctl",
        "Error:  client: etcd cluster is unavailable or misconfigured; error #0: dial tcp 10.0.0.4:2379: refused",
    ),
    (
        "the API server",
        "grpc: failed to connect to {127.0.0.1:2379}: dial tcp 127.0.0.1:2379: connect: connection refused",
    ),
    ("a pod's state", "konnectivity-agent-abc 0/1 CrashLoopBackOff: back-off 5m0s restarting failed container: error"),
    ("a cloud", "Error: googleapi: Error 404: The resource network default not found"),
    ("Docker", "Error response from daemon: checkpoint: platform does not support checkpointing"),
    ("Velero", "Error: error validating backup store: unknown backend type: s3x"),
    ("Prometheus", 'level=error msg="invalid configuration: remote_write url is required" component=prometheus'),
    (
        "SPIRE",
        "transport: Error while dialing: open \\\\.\\pipe\\spire-agent: The system cannot find the file.",
    ),
    ("a decoder", "failed to decode secret: encoding/hex: invalid byte: U+002D '-'"),
    (
        "Helm",
        "a resource that already exists in the cluster and is not managed by this release",
    ),
    ("a download", "failed to download https://dl.k8s.io/v1.30.0/kubelet.exe: HTTP status code: 404"),
    ("a CSI sidecar", 'E0512 12:00:01.1 1 main.go:57] "CSI driver probe failed" err="context deadline exceeded"'),
    ("a balancer", "Azure Load Balancer health probe for port 80 timed out, backend marked down"),
    ("Java", "# There is insufficient memory for the Java Runtime Environment to continue."),
    ("a debugger", "unable to recognize file format of C:\\data\\dump.bin"),
    (
        "an attach",
        'AttachVolume.Attach failed for volume "pvc-1" : rpc error: instance not found',
    ),
    ("AWS' own IPAM", "IPAM pool ipam-pool-0a1 not found in region eu-west-1"),
    ("k3d", "FATA[0000] cluster k3s-default does not exist"),
    (
        "the API server",
        "Error from server: Internal error occurred: jsonpatch add operation does not apply",
    ),
    (
        "Cilium",
        'plugin type="cilium-cni" failed (add): unable to connect to Cilium daemon: dial unix '
        "/var/run/cilium/cilium.sock: connect: no such file or directory",
    ),
    ("an ingress", "ERROR Port 8443 of the ingress is not reachable from outside"),
    ("a command line", 'Error: The argument "--foo" is invalid'),
    ("ssh", "kex_exchange_identification: SSH tunnel closed by remote host"),
    ("Terraform", "Error: state store is locked by another operation"),
    ("keepalived", "keepalived: error: no valid interface found for VIP"),
    ("Promtail", "promtail: error loading config file: yaml: line 4: mapping values are not allowed in this context"),
    ("docker inspect", '"State": {"Status": "exited", "OOMKilled": false, "ExitCode": 137}'),
    ("a container that was killed, whoever did it", "Last State: Terminated  Reason: Error  Exit Code: 137"),
    ("etcd, to a watcher that was away", "etcdserver: mvcc: required revision has been compacted"),
    (
        "kubelet, of a file",
        'failed to run Kubelet: could not init cloud provider "azure": unable to read its configuration file',
    ),
    ("Azure CNI, of an adapter", "2026/05/12 10:00:00 [cni-net] Failed to find master interface: eth1 not found."),
    (
        "a pull that somebody called off",
        'failed to pull and unpack image "r.example/a:1": failed to copy: context canceled',
    ),
    ("a slow pull", 'Failed to pull image "r.example/a:1": rpc error: code = DeadlineExceeded desc = context deadline'),
    ("IPAM of any kind", 'plugin type="win-overlay" failed (add): IPAM plugin return is missing IP config'),
    ("a missing binding", "Get-NetAdapterBinding : No MSFT_NetAdapterBindingSettingData objects found"),
    (
        "flannel's plugin",
        "failed to hot attach endpoint: hnsCall failed in Win32: The switch-port was not found. (0x803b0007)",
    ),
    ("Calico, of a pod's annotation", "ingress bandwidth must be specified when ingress burst is specified"),
    (
        "kubelet without a .dockercfg",
        "E0512 12:00:01.1 4 kubelet.go:9] couldn't find valid .dockercfg after checking in [/]",
    ),
    (
        "azure-cns, releasing",
        "ReleaseIPConfigHandlerHelper remove endpoint state failed : odd, release IP config info x",
    ),
    ("the value of a flag", 'E0512 12:00:01.1 4 main.go:5] invalid argument "x" for "--v" flag: odd'),
    ("a panic of a missing file", "panic: open C:\\k\\config: The system cannot find the file specified."),
    ("hcsshim", "failed to add endpoint to guest: network namespace not found"),
    ("azure-cns", "failed to get PNP ID: Backend Network adapter not found"),
    ("kubelet, cleaning up", "Warning: Unmount skipped because path does not exist: C:\\k\\pods\\1a\\volumes\\data"),
    ("a kubelet that knows no such pod", "the server could not find the requested resource ( pods/log web-1)"),
    ("kubeadm, asking", "won't proceed; the user didn't answer (Y|y) in order to continue"),
    ("kubelet, reading a pod's own file", "invalid environment variable format at line 3: missing '='"),
    ("Calico, converting a Node", "failed to parse PublicKey as IPv4 Wireguard public key"),
    ("Calico, converting a policy", "Value is not a valid GlobalNetworkPolicy resource value"),
    ("containerd's client", "failed to find container: Multiple IDs found with provided prefix: 1a"),
    ("AppArmor", "Cannot enforce AppArmor: AppArmor is not enabled on the host"),
)

MEANT = (
    ('The Deployment "web" is invalid: spec.template.spec.containers[0].image: Required value', "pod.invalid"),
    ('level=error msg="collector mssql: performance counter instance not found"', "host.counters"),
    ('Error: unknown command "proxy" for "kubelet"', "start.unknown-flag"),
    ("unable to run proxy: WinOverlay feature gate not enabled", "start.kube-proxy-gate"),
    ('Error: secret "db" not found', "volume.object-missing"),
    ('Warning  Failed  3s (x5 over 40s)  kubelet  Error: configmap "app" not found', "volume.object-missing"),
    (
        "E0512 12:00:01.1 6044 network.go:102] failed to retrieve network config: client: etcd cluster is "
        "unavailable or "
        "misconfigured; error #0: dial tcp 127.0.0.1:2379: connection refused",
        "flannel.etcd",
    ),
    (
        "dial tcp 10.0.0.1:443: connectex: Only one usage of each socket address is normally permitted.",
        "hns.ports-exhausted",
    ),
    ("listen tcp :9182: bind: Only one usage of each socket address is normally permitted.", "start.port-in-use"),
    ("failed to listen: listen tcp :8080: bind: address already in use", "start.port-in-use"),
    ("E0512 12:00:01.1 6044 main.go:289] Error fetching backend: unknown backend type: gw", "flannel.net-conf-backend"),
    ('error: host must be a URL or a host:port pair: "https://:6443"', "start.kubeconfig"),
    ("error: invalid configuration: [context was not found for specified context: prod]", "start.kubeconfig"),
    (
        'Deployment in version "v1" cannot be handled as a Deployment: strict decoding error: unknown field "spec.x"',
        "pod.invalid",
    ),
    (
        f"I0512 12:00:01.1 4411 token.go:217] [discovery] Failed to request cluster-info: {INFO}: {CONNECTED}",
        "cluster.unreachable",
    ),
    (f"[discovery] Failed to request cluster-info: {INFO}: x509: certificate has expired", "cluster.certificate-time"),
    ('helm: exec: "git": executable file not found in %PATH%', "start.program-missing"),
    (
        'exec failed: unable to start container process: exec: "bash": executable file not found in $PATH',
        "container.command",
    ),
    ("[SC] StartService FAILED 2: The system cannot find the file specified.", "start.program-missing"),
    ("Start-Service : Cannot find any service with service name 'containerd'.", "start.service-state"),
    (
        "Authorization error (user=kube-apiserver-kubelet-client, verb=get, resource=nodes, subresource=proxy)",
        "kubelet.request-denied",
    ),
    ("The connection to the server 10.0.0.4:6443 was refused - did you specify the right host?", "cluster.unreachable"),
    (f'panic: Get "https://10.0.0.4:6443/version?timeout=32s": {CONNECTED}', "cluster.unreachable"),
    ("panic: runtime error: index out of range [3] with length 3", "start.panic"),
    ("State: Terminated  Reason: OOMKilled  Exit Code: 137", "container.memory"),
    ("RangeStart 10.1.2.3 not in network 10.2.0.0/24", "cni.unreadable"),
    (
        "failed to start daemon: error initializing graphdriver: windowsfilter: Access is denied.",
        "container.access-denied",
    ),
    ('reflector.go:9] failed to list *v1.Node: User "system:node:b" cannot list resource "nodes"', "cluster.denied"),
    ("nltest /sc_query: I_NetLogonControl: Status = 1355 0x54b ERROR_NO_SUCH_DOMAIN", "container.gmsa-domain"),
    (
        "hcnCreateEndpoint failed in Win32: The network does not have a subnet for this endpoint. (0x803b0005)",
        "hns.endpoint-refused",
    ),
    (
        'plugin type="sdnbridge" failed (add): failed during hnsCallRawResponse: hnsCall failed in Win32: The '
        "parameter is incorrect. (0x57)",
        "hns.endpoint-refused",
    ),
    ("container 1a encountered an error during CreateContainer: odd (0xc0370108)", "container.utility-vm"),
    ("hcsshim::CreateComputeSystem 1a: Not enough memory resources are available (0x8)", "host.no-memory"),
    (
        'E0512 12:00:01.1 44 run.go:74] "command failed" err="failed complete: strict decoding error: unknown field"',
        "start.config",
    ),
    (
        "failed to create shim task: failed to create user process token: failed to logon user: Access is denied.",
        "container.host-process-account",
    ),
    (
        "failed to create containerd task: failed to create user process token: failed to logon user: The user name or "
        "password is incorrect.",
        "container.user",
    ),
    ('plugin type="calico" failed (add): Get "https://10.96.0.1:443/api/v1/nodes/win1": EOF', "cluster.unreachable"),
    ("State: Terminated  Reason: Error  Exit Code: 3221225477", "container.crashed"),
    (
        "Set-Service : Service 'kubelet' cannot be configured due to the following error: Access is denied",
        "host.not-elevated",
    ),
    ("Get-HnsNetwork : Access is denied", "host.not-elevated"),
    ("The B service depends on the Windows Process service which failed to start: odd", "start.dependency"),
    ('choosing image instance: no image found in image index for architecture "amd64", OS "linux"', "image.platform"),
    ("denied: requested access to the resource is denied", "image.registry-denied"),
    (
        "failed to start service utility VM: failed to connect to the guest: context deadline exceeded",
        "container.utility-vm",
    ),
    ('"Eviction manager: attempting to reclaim" resourceName="ephemeral-storage"', "node.pressure"),
    ("0/0 nodes: no nodes available to schedule pods", "pod.no-node"),
    (
        'W0512 12:00:01.1 6044 server.go:469] Failed to retrieve node info: nodes "win1" not found',
        "kube-proxy.hostname-override",
    ),
    ("Unable to connect to the server: getting credentials: exec: executable aws not found", "start.kubeconfig"),
    ("failure loading certificate: the certificate is not valid yet: 2026-05-12", "cluster.certificate-time"),
    ("panic: freepages: failed to get all reachable pages (page 7: multiple references)", "start.database"),
    ("error reading CNI config: IPAM config missing 'ipam' key", "cni.unreadable"),
    ("no IP addresses available in range set: 10.244.3.2-10.244.3.254", "cni.addresses-used-up"),
    ("[cni] timed out locking store", "cni.azure-lock"),
    ("LoadBalancerMode DSR requires feature gate LoadBalancerModeDSR to be enabled", "start.config"),
    (
        'AttachVolume.Attach failed for volume "pvc-1" : Request forbidden: The maximum allowed number of disk '
        "devices (26) to attach to a single instance has been exceeded.",
        "volume.attach",
    ),
    ("The trust relationship between this workstation and the primary domain failed.", "container.gmsa-domain"),
    (
        "Got permission denied while trying to connect to the Docker daemon socket: open //./pipe/docker_engine: "
        "Access is "
        "denied.",
        "host.not-elevated",
    ),
)


def _definite(line: str) -> list[str]:
    return [each["id"] for each in meanings(line, "win1") if not each["cause"].startswith(NO_CAUSE)][:1]


@pytest.mark.parametrize(("who", "line"), OTHERS)
def test_what_another_program_says_is_no_cause_of_a_node(who: str, line: str) -> None:
    assert {who: _definite(line)} in ({who: []}, {who: ["not-known"]})


@pytest.mark.parametrize(("line", "cause"), MEANT)
def test_the_same_words_mean_their_cause_where_it_is_known_who_says_them(line: str, cause: str) -> None:
    assert _definite(line) == [cause]


def test_what_a_healthy_node_says_as_well_while_it_starts_stands_behind_what_it_does_not_say() -> None:
    early = (
        'Warning  FailedMount  2m  kubelet  MountVolume.SetUp failed for volume "a" : failed to sync configmap cache'
    )
    late = "Warning  Failed  1m  kubelet  hcs::CreateComputeSystem 1a: odd (0xc0370101)"
    assert _definite(early) == ["volume.object-missing"]
    assert _definite(f"{early}\n{late}") == ["image.mismatch"]
