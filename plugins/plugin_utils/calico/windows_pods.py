# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The DaemonSets for Windows nodes that no operator makes: Calico's where manifests have installed it, kube-proxy's.

Both run in HostProcess pods of the host's network, and are told the API server's own address: before kube-proxy runs,
no Service leads there, and what Linux nodes use (kubespray's nginx at 127.0.0.1) is not on Windows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

from ..facts import calico as facts
from ..facts.node_labels import OS_LABEL
from ..facts.version import Line
from .view import View, Wanted

CNI_FOLDERS = {"cni-bin-dir": "/host/opt/cni/bin", "cni-net-dir": "/host/etc/cni/net.d"}
"""Volume -> where the image's programs expect it. Source: operator pkg/render/windows.go, cniContainer."""
CONTENT = "winkube.node/configuration"
"""The annotation of a pod that changes with its ConfigMap."""


def calico_node(view: View, wanted: Wanted, release: Line) -> dict[str, Any]:
    """Calico's DaemonSet, of the release that the Linux nodes run.

    Field by field what the operator renders, without Typha, which is optional, and without the container that takes an
    older Calico for Windows off the machine, since that removes a service kube-proxy, too. The CNI configuration is
    the image's own, filled in from the variables.
    Sources: operator release-v1.42 pkg/render/windows.go; calico v3.32.1 cni-plugin/pkg/install.
    """
    repository, _colon, tag = view.linux_image.rpartition(":")
    run = facts.programs(release)
    node, cni = (f"{repository.removesuffix(old)}{new}:{tag}" for old, new in (facts.NODE_IMAGE, facts.CNI_IMAGE))
    _where, vni = view.felix_value("vxlanVNI", "FELIX_VXLANVNI")
    shared = _variables(
        CNI_PLUGIN_TYPE="Calico",
        CALICO_NETWORKING_BACKEND="vxlan",
        DATASTORE_TYPE="kubernetes",
        VXLAN_VNI=str(vni or facts.LEAST_VNI),
        KUBERNETES_SERVICE_HOST=wanted.host,
        KUBERNETES_SERVICE_PORT=wanted.port,
    )
    of_cni = _variables(
        SLEEP="false",
        CNI_BIN_DIR=CNI_FOLDERS["cni-bin-dir"],
        CNI_CONF_NAME="10-calico.conflist",
        CNI_NET_DIR=_without_drive(wanted.conf_dir or facts.CNI_CONF_DIR),
        KUBERNETES_DNS_SERVERS=wanted.dns,
        KUBERNETES_SERVICE_CIDRS=",".join(wanted.services),
    )
    of_node = _variables(
        WAIT_FOR_DATASTORE="true",
        CLUSTER_TYPE="k8s,windows",
        CALICO_MANAGE_CNI="true",
        CALICO_DISABLE_FILE_LOGGING="false",
        KUBE_NETWORK=f"{facts.NETWORK}.*",
        FELIX_DEFAULTENDPOINTTOHOSTACTION="ACCEPT",
        FELIX_HEALTHENABLED="true",
        FELIX_IPV6SUPPORT="false",
        IP="autodetect",
        IP_AUTODETECTION_METHOD="kubernetes-internal-ip",
        IP6="none",
    )
    named = [_from_field("NODENAME", "spec.nodeName"), _from_field("NAMESPACE", "metadata.namespace")]
    mounts = [
        {"name": "var-run-calico", "mountPath": "/var/run/calico"},
        {"name": "var-lib-calico", "mountPath": "/var/lib/calico"},
        {"name": "cni-log-dir", "mountPath": "/var/log/calico/cni"},
        {"name": "cni-net-dir", "mountPath": CNI_FOLDERS["cni-net-dir"]},
    ]
    folder = f"{facts.MOUNT}/CalicoWindows/"

    def container(name: str, script: str) -> dict[str, Any]:
        return {
            "name": name,
            "image": node,
            "args": [f"{folder}{script}"],
            "workingDir": folder,
            "env": [*shared, *of_node, *named],
            "volumeMounts": mounts,
        }

    felix = container("felix", "felix-service.ps1")
    felix |= {
        "livenessProbe": {**_probe(run.alive), "initialDelaySeconds": 10, "failureThreshold": 6},
        "readinessProbe": _probe(run.ready),
        "lifecycle": {"preStop": {"exec": {"command": list(run.stop)}}},
    }
    install = {
        "name": "install-cni",
        "image": cni,
        "command": list(run.install),
        "env": [*shared, *of_cni, _from_field("KUBERNETES_NODE_NAME", "spec.nodeName")],
        "volumeMounts": [{"name": name, "mountPath": path} for name, path in CNI_FOLDERS.items()],
    }
    volumes = {
        "var-run-calico": "/var/run/calico",
        "var-lib-calico": "/var/lib/calico",
        "cni-log-dir": "/var/log/calico/cni",
        "cni-bin-dir": _without_drive(wanted.bin_dir or facts.CNI_BIN_DIR),
        "cni-net-dir": _without_drive(wanted.conf_dir or facts.CNI_CONF_DIR),
    }
    pod = {
        **_host_process(facts.ACCOUNT),
        "initContainers": [install],
        "containers": [felix, container("node", "node-service.ps1")],
        "volumes": [
            {"name": name, "hostPath": {"path": path, "type": "DirectoryOrCreate"}} for name, path in volumes.items()
        ],
    }
    return _daemon_set(facts.DAEMON_SET, view.home, pod)


def proxy_config(wanted: Wanted) -> dict[str, Any]:
    """The ConfigMap of kube-proxy on Windows nodes: its kubeconfig alone, since its image's script passes the rest.

    kubeadm's ConfigMap kube-proxy is the Linux nodes': kubespray writes https://127.0.0.1 there.
    Source: kubespray 46dbdd3 roles/kubernetes/kubeadm/tasks/main.yml; sig-windows-tools 401ee6fc
    hostprocess/calico/kube-proxy/start.ps1, which puts the pod's folder in front of /var.
    """
    host = f"[{wanted.host}]" if ":" in wanted.host else wanted.host
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": facts.PROXY, "namespace": "kube-system"},
        "data": {"kubeconfig.conf": _KUBECONFIG.format(server=f"https://{host}:{wanted.port}")},
    }


_KUBECONFIG = """\
apiVersion: v1
kind: Config
clusters:
  - name: default
    cluster:
      certificate-authority: /var/run/secrets/kubernetes.io/serviceaccount/ca.crt
      server: {server}
contexts:
  - name: default
    context: {{cluster: default, namespace: default, user: default}}
current-context: default
users:
  - name: default
    user:
      tokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token
"""
"""Unquoted paths: the pod's folder, which comes in front of them, has backslashes."""


def kube_proxy(image: str, config: dict[str, Any]) -> dict[str, Any]:
    """kube-proxy; its image waits for Calico's network and takes the source VIP from its endpoint. The account is
    kubeadm's.

    Source: kubernetes-sigs/sig-windows-tools hostprocess/calico/kube-proxy (kube-proxy.yml, start.ps1).
    """
    folder = f"{facts.MOUNT}/kube-proxy/"
    container = {
        "name": "kube-proxy",
        "image": image,
        "args": [f"{folder}start.ps1"],
        "workingDir": folder,
        "env": [_from_field("NODENAME", "spec.nodeName"), _from_field("POD_IP", "status.podIP")],
        "volumeMounts": [{"name": "kube-proxy", "mountPath": "/var/lib/kube-proxy"}],
    }
    pod = {
        **_host_process("kube-proxy"),
        "containers": [container],
        "volumes": [{"name": "kube-proxy", "configMap": {"name": facts.PROXY}}],
    }
    body = _daemon_set(facts.PROXY, "kube-system", pod)
    digest = hashlib.sha256(config["data"]["kubeconfig.conf"].encode()).hexdigest()
    body["spec"]["template"]["metadata"]["annotations"] = {CONTENT: digest}
    return body


def find_difference(found: Any, wanted: Any, path: str = "") -> Iterator[str]:
    """Where an object differs from what is wanted of it, as paths. What the API server has filled in does not count;
    the elements of a list are compared in their order."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        for key, value in wanted.items():
            yield from find_difference(found.get(key), value, f"{path}.{key}" if path else str(key))
    elif isinstance(wanted, list) and isinstance(found, list) and len(found) == len(wanted):
        for one, other in zip(found, wanted, strict=True):
            yield from find_difference(one, other, f"{path}.{_called(other)}")
    elif found != wanted:
        yield path


def _called(element: Any) -> str:
    return str(element.get("name", "")) if isinstance(element, dict) else str(element)


def _daemon_set(name: str, namespace: str, pod: dict[str, Any]) -> dict[str, Any]:
    labels = {"k8s-app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": namespace, "labels": dict(labels)},
        "spec": {
            "selector": {"matchLabels": dict(labels)},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
            "template": {"metadata": {"labels": dict(labels)}, "spec": pod},
        },
    }


def _host_process(account: str) -> dict[str, Any]:
    return {
        "serviceAccountName": account,
        "hostNetwork": True,
        "securityContext": {"windowsOptions": {"hostProcess": True, "runAsUserName": "NT AUTHORITY\\system"}},
        "nodeSelector": {OS_LABEL: "windows"},
        "tolerations": [{"operator": "Exists"}],
        "priorityClassName": "system-node-critical",
    }


def _variables(**values: str) -> list[dict[str, Any]]:
    return [{"name": name, "value": value} for name, value in values.items()]


def _from_field(name: str, path: str) -> dict[str, Any]:
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def _probe(command: Sequence[str]) -> dict[str, Any]:
    return {"exec": {"command": list(command)}, "periodSeconds": 10, "timeoutSeconds": 10}


def _without_drive(path: str) -> str:
    """A folder of C: as a hostPath and Calico's programs name it."""
    text = path.replace("\\", "/")
    return text[2:] if text[:2].lower() == "c:" else text
