"""Who asks, and whether it may: certificates, tokens, RBAC and what the node authorizer allows."""

from __future__ import annotations

import base64
import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from tests.lab.cluster.kinds import BY_NAME
from tests.lab.cluster.pki import Authority, BadCertificateError
from tests.lab.cluster.store import ApiError, Store

_TOKEN = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})")


@dataclass(frozen=True)
class User:
    name: str
    groups: tuple[str, ...] = ()


ANONYMOUS = User("system:anonymous", ("system:unauthenticated",))


@dataclass(frozen=True)
class Ask:
    """What a request wants, in RBAC's words. path: for what is no resource (`/healthz`)."""

    verb: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    path: str = ""

    @property
    def target(self) -> str:
        return f"{self.resource}/{self.subresource}" if self.subresource else self.resource


def plain(secret: dict[str, Any], key: str) -> str:
    """A value of a Secret, decoded; "" if it is not there."""
    return base64.b64decode(str((secret.get("data") or {}).get(key) or "")).decode(errors="replace")


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def expired(secret: dict[str, Any], now: datetime) -> bool:
    """Whether a bootstrap token's Secret is past its `expiration` (one that cannot be read counts as past)."""
    said = plain(secret, "expiration")
    if not said:
        return False
    try:
        end = datetime.fromisoformat(said.replace("Z", "+00:00"))
    except ValueError:
        return True
    return (end if end.tzinfo else end.replace(tzinfo=UTC)) <= now


def bootstrap_secret(store: Store, token_id: str) -> dict[str, Any] | None:
    return store.find(BY_NAME["Secret"], "kube-system", f"bootstrap-token-{token_id}")


def user_of(store: Store, ca: Authority, certificate: bytes, token: str, now: datetime, anonymous: bool = True) -> User:
    """ApiError 401 for credentials that are given and wrong, and for none where `anonymous` is off."""
    if certificate:
        try:
            found = ca.verify(certificate, now)
        except BadCertificateError as error:
            raise _unauthorized() from error
        return User(found.name, (*found.groups, "system:authenticated"))
    if not token:
        if not anonymous:
            raise _unauthorized()
        return ANONYMOUS
    user = _bootstrap_user(store, token, now) or _service_account(store, token)
    if user is None:
        raise _unauthorized()
    return user


def _unauthorized() -> ApiError:
    return ApiError(401, "Unauthorized", "Unauthorized")


def _bootstrap_user(store: Store, token: str, now: datetime) -> User | None:
    match = _TOKEN.fullmatch(token)
    secret = bootstrap_secret(store, match[1]) if match else None
    if match is None or secret is None or secret.get("type") != "bootstrap.kubernetes.io/token":
        return None
    right = hmac.compare_digest(plain(secret, "token-secret"), match[2]) and plain(secret, "token-id") == match[1]
    if not right or expired(secret, now) or plain(secret, "usage-bootstrap-authentication") != "true":
        return None
    extra = [group for group in plain(secret, "auth-extra-groups").split(",") if group]
    return User(f"system:bootstrap:{match[1]}", ("system:bootstrappers", *extra, "system:authenticated"))


def _service_account(store: Store, token: str) -> User | None:
    for secret in store.list(BY_NAME["Secret"]):
        if secret.get("type") != "kubernetes.io/service-account-token" or plain(secret, "token") != token:
            continue
        namespace = str(secret["metadata"]["namespace"])
        name = str(secret["metadata"].get("annotations", {}).get("kubernetes.io/service-account.name"))
        if store.find(BY_NAME["ServiceAccount"], namespace, name) is None:
            return None
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
        return User(f"system:serviceaccount:{namespace}:{name}", groups)
    return None


# -- authorisation -------------------------------------------------------------------------------------------------


def allowed(store: Store, user: User, ask: Ask) -> bool:
    """RBAC over the roles and bindings in the store, and a node's own rights."""
    if "system:masters" in user.groups or _node_may(store, user, ask) or _everyone_may(user, ask):
        return True
    rules = [
        rule
        for binding in store.list(BY_NAME["ClusterRoleBinding"])
        if _bound(binding, user)
        for rule in _rules(store, binding["roleRef"], "")
    ]
    if ask.namespace:
        rules += [
            rule
            for binding in store.list(BY_NAME["RoleBinding"], ask.namespace)
            if _bound(binding, user)
            for rule in _rules(store, binding["roleRef"], ask.namespace)
        ]
    return any(_permits(rule, ask) for rule in rules)


def _everyone_may(user: User, ask: Ask) -> bool:
    """Source: the ClusterRoles system:public-info-viewer, system:discovery and system:basic-user."""
    if ask.path in {"/healthz", "/livez", "/readyz", "/version"}:
        return True
    if "system:authenticated" not in user.groups:
        return False
    own = ask.group == "authorization.k8s.io" and ask.resource.startswith("selfsubject")
    return ask.path.startswith(("/api", "/apis")) or own


def _node_may(store: Store, user: User, ask: Ask) -> bool:
    """The node authorizer with NodeRestriction, as far as a kubelet needs it."""
    if "system:nodes" not in user.groups or not user.name.startswith("system:node:"):
        return False
    own = user.name.removeprefix("system:node:")
    if ask.resource == "nodes":
        return ask.verb in {"get", "list", "watch"} or (
            ask.verb in {"create", "update", "patch"} and ask.name in {"", own}
        )
    if ask.resource == "leases":
        return ask.namespace == "kube-node-lease" and ask.name in {"", own}
    if ask.resource in {"services", "runtimeclasses"}:
        return ask.verb in {"get", "list", "watch"}
    if ask.resource in {"configmaps", "secrets", "serviceaccounts"}:
        return any(_needs(pod, ask) for pod in store.list(BY_NAME["Pod"]) if pod["spec"].get("nodeName") == own)
    if ask.resource == "pods":
        return ask.verb in {"get", "list", "watch", "create", "delete", "patch", "update"}
    if ask.resource == "events":
        return ask.verb in {"create", "patch", "update"}
    return ask.resource == "certificatesigningrequests" and ask.verb in {"get", "create", "list", "watch"}


def _needs(pod: dict[str, Any], ask: Ask) -> bool:
    """Whether a pod mounts this ConfigMap, or runs under this account, whose token its kubelet asks for.

    Source: kubernetes plugin/pkg/auth/authorizer/node/graph.go, AddPod; node_authorizer.go, authorizeCreateToken.
    """
    spec = pod["spec"]
    if ask.namespace != pod["metadata"]["namespace"]:
        return False
    if ask.resource == "serviceaccounts":
        own = str(spec.get("serviceAccountName") or "default")
        return (ask.verb, ask.subresource, ask.name) == ("create", "token", own)
    mounted = [(volume.get("configMap") or {}).get("name") for volume in spec.get("volumes") or ()]
    return ask.resource == "configmaps" and ask.verb == "get" and bool(ask.name) and ask.name in mounted


def _bound(binding: dict[str, Any], user: User) -> bool:
    for subject in binding.get("subjects") or []:
        name = str(subject.get("name"))
        if subject.get("kind") == "Group" and name in user.groups:
            return True
        if subject.get("kind") == "User" and name == user.name:
            return True
        account = f"system:serviceaccount:{subject.get('namespace')}:{name}"
        if subject.get("kind") == "ServiceAccount" and account == user.name:
            return True
    return False


def _rules(store: Store, reference: dict[str, Any], namespace: str) -> Iterable[dict[str, Any]]:
    kind = BY_NAME["Role" if reference.get("kind") == "Role" else "ClusterRole"]
    found = store.find(kind, namespace if kind.namespaced else "", str(reference.get("name")))
    return list((found or {}).get("rules") or [])


def _permits(rule: dict[str, Any], ask: Ask) -> bool:
    verbs = rule.get("verbs") or []
    if "*" not in verbs and ask.verb not in verbs:
        return False
    if ask.path:
        urls = rule.get("nonResourceURLs") or []
        return any(url in {"*", ask.path} or (url.endswith("*") and ask.path.startswith(url[:-1])) for url in urls)
    groups, resources, names = (rule.get(key) or [] for key in ("apiGroups", "resources", "resourceNames"))
    fits = "*" in resources or ask.target in resources or (ask.subresource and f"*/{ask.subresource}" in resources)
    return bool(("*" in groups or ask.group in groups) and fits and (not names or ask.name in names))


def forbidden(user: User, ask: Ask) -> ApiError:
    """403 in the API's own words. Source: apiserver pkg/endpoints/handlers/responsewriters/errors.go."""
    if ask.path:
        return ApiError(403, "Forbidden", f'forbidden: User "{user.name}" cannot {ask.verb} path "{ask.path}"')
    shown = f"{ask.resource}.{ask.group}" if ask.group else ask.resource
    named = f'{shown} "{ask.name}"' if ask.name else shown
    where = f'in the namespace "{ask.namespace}"' if ask.namespace else "at the cluster scope"
    said = (
        f'{named} is forbidden: User "{user.name}" cannot {ask.verb} resource "{ask.target}" in API group '
        f'"{ask.group}" {where}'
    )
    return ApiError(403, "Forbidden", said)
