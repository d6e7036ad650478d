"""The kinds of objects that the API server knows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """group: "" for the core; plural as in paths."""

    group: str
    version: str
    plural: str
    name: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def key(self) -> str:
        return f"{self.group}/{self.plural}"


_RBAC = "rbac.authorization.k8s.io"
ALL = (
    Kind("", "v1", "namespaces", "Namespace", False),
    Kind("", "v1", "nodes", "Node", False),
    Kind("", "v1", "secrets", "Secret"),
    Kind("", "v1", "configmaps", "ConfigMap"),
    Kind("", "v1", "serviceaccounts", "ServiceAccount"),
    Kind("", "v1", "pods", "Pod"),
    Kind("", "v1", "services", "Service"),
    Kind("", "v1", "endpoints", "Endpoints"),
    Kind("", "v1", "events", "Event"),
    Kind("apps", "v1", "daemonsets", "DaemonSet"),
    Kind("apps", "v1", "deployments", "Deployment"),
    Kind("apps", "v1", "replicasets", "ReplicaSet"),
    Kind("apps", "v1", "statefulsets", "StatefulSet"),
    Kind("batch", "v1", "jobs", "Job"),
    Kind("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget"),
    Kind("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy"),
    Kind("networking.k8s.io", "v1", "servicecidrs", "ServiceCIDR", False),
    Kind("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice"),
    Kind("coordination.k8s.io", "v1", "leases", "Lease"),
    Kind("certificates.k8s.io", "v1", "certificatesigningrequests", "CertificateSigningRequest", False),
    Kind("node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", False),
    Kind("admissionregistration.k8s.io", "v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", False),
    Kind(
        "admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", False
    ),
    Kind("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", False),
    Kind(
        "admissionregistration.k8s.io",
        "v1",
        "validatingadmissionpolicybindings",
        "ValidatingAdmissionPolicyBinding",
        False,
    ),
    Kind("apiregistration.k8s.io", "v1", "apiservices", "APIService", False),
    Kind(_RBAC, "v1", "clusterroles", "ClusterRole", False),
    Kind(_RBAC, "v1", "clusterrolebindings", "ClusterRoleBinding", False),
    Kind(_RBAC, "v1", "roles", "Role"),
    Kind(_RBAC, "v1", "rolebindings", "RoleBinding"),
)
BY_PATH = {(kind.group, kind.version, kind.plural): kind for kind in ALL}
BY_NAME = {kind.name: kind for kind in ALL}
SUBRESOURCES = {
    "nodes": {"status"},
    "pods": {"status", "eviction", "log", "exec"},
    "namespaces": {"status", "finalize"},
    "serviceaccounts": {"token"},
    "certificatesigningrequests": {"status", "approval"},
    "daemonsets": {"status"},
    "deployments": {"status"},
    "services": {"status"},
}
