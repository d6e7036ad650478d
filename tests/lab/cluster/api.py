"""The API server's requests: paths, verbs, selectors, subresources; no sockets, no time."""

from __future__ import annotations

import base64
import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.lab.cluster import custom, discovery
from tests.lab.cluster.access import Ask, User, allowed, encoded, forbidden, user_of
from tests.lab.cluster.kinds import BY_NAME, BY_PATH, SUBRESOURCES, Kind
from tests.lab.cluster.pki import Authority, BadCertificateError, identity_of_request
from tests.lab.cluster.store import ApiError, Object, Row, Store, copied, merged, strategic
from tests.lab.cluster.websocket import Channels

_RESOURCE = re.compile(
    r"/(?:api|apis/(?P<group>[^/]+))/(?P<version>v[0-9a-z]+)"
    r"(?:/namespaces/(?P<namespace>[^/]+))?/(?P<plural>[a-z]+)(?:/(?P<name>[^/]+)(?:/(?P<sub>[a-z]+))?)?"
)
_PATCHES = {
    "application/merge-patch+json": merged,
    "application/strategic-merge-patch+json": strategic,
}
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


_RBAC = "rbac.authorization.k8s.io"
COMPACTED = timedelta(minutes=5)
"""After that etcd has forgotten how it was. Source: kubernetes kube-apiserver --etcd-compaction-interval."""
_EXPIRED = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


@dataclass(frozen=True)
class Request:
    """certificate: the client's, PEM, when it has proved that it holds the key."""

    method: str
    path: str
    query: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    content_type: str = "application/json"
    token: str = ""
    certificate: bytes = b""
    words: tuple[str, ...] = ()
    """The query's `command`s: an exec's argument list."""
    outside: bool = False
    """Whether it came over the network, and not from a test or a node of the lab."""


@dataclass(frozen=True)
class Response:
    status: int
    body: bytes
    kind: str = "application/json"
    program: Callable[[Channels], bool] | None = None
    """What speaks over the WebSocket of an exec; False when the connection is lost under it."""

    @property
    def json(self) -> Object:
        found: Object = json.loads(self.body)
        return found


@dataclass(frozen=True)
class Call:
    """One request that was answered. `forbidden`: the user has no right to it; an admission plugin's 403 is none.
    `ask`: the right that it took; None for what is no resource."""

    user: str
    method: str
    path: str
    status: int
    outside: bool = False
    forbidden: bool = False
    ask: Ask | None = None


class AdmissionError(ApiError):
    """Pod Security, a quota or a webhook says no to what the user has a right to."""


@dataclass(frozen=True)
class Target:
    """The resource that a path names."""

    kind: Kind
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def _known(kind: Kind, body: Object) -> Object:
    """A custom object as its definition has it. 422 for what that refuses."""
    if kind not in custom.ALL:
        return body
    if why := custom.wrong(kind, body):
        name = (body.get("metadata") or {}).get("name")
        raise ApiError(422, "Invalid", f'{kind.name}.{kind.group} "{name}" is invalid: {why}')
    return custom.pruned(kind, body)


class Api:
    """Answers requests from the store. calls: all of them; refusals: those that authorisation refused."""

    def __init__(self, store: Store, ca: Authority, version: str, now: Callable[[], datetime]) -> None:
        self.store, self.ca, self.version, self.now = store, ca, version, now
        self.lock = threading.RLock()
        """Held for each request. A node's lock is taken before it, never after."""
        self.calls: list[Call] = []
        self.refusals: list[Call] = []
        self.proxied: dict[tuple[str, str], Object | Callable[[], Object]] = {}
        """(Node, what) -> what its kubelet says under `/<what>`: `configz`, left here by the kubelet itself. What is
        called may only touch a machine whose programs do not call this API, which is locked meanwhile."""
        self.trust: dict[str, tuple[bytes, bytes]] = {}
        """Node -> the CA by which its kubelet knows callers, and its serving certificate."""
        self.served: set[str] = set()
        """API groups of custom kinds (custom.py) whose definitions are installed."""
        self.anonymous = True
        """Whether a request without credentials gets as far as authorisation (--anonymous-auth)."""
        self.token_lag: int | None = 0
        """How many requests with a new bootstrap token are answered with 401, as the authenticator asks a cache of
        Secrets (kubernetes plugin/pkg/auth/authenticator/token/bootstrap/bootstrap.go). None: all of them."""
        self._presented: Counter[str] = Counter()
        self._lists: dict[tuple[str, str], tuple[datetime, Sequence[Row]]] = {}
        """Lists that were begun, by kind and resourceVersion: when, and what there was."""
        self.outage: str = ""
        """A sentence: every request is answered with 503 and this."""
        self.evicted: Callable[[Object], None] = lambda pod: None
        self.log: Callable[[Object], bytes] = lambda pod: b"simulated\n"
        self.admit: Callable[[Kind, str, Object], None] = lambda kind, namespace, body: None
        self.terminate: Callable[[Object], Object] = lambda namespace: namespace

    def _known(self, token: str) -> str:
        """The token, or one that nobody knows."""
        if not re.fullmatch(r"[a-z0-9]{6}\.[a-z0-9]{16}", token):
            return token
        self._presented[token] += 1
        return token if self.token_lag is not None and self._presented[token] > self.token_lag else "unknown"

    def answer(self, request: Request) -> Response:
        with self.lock:
            user, forbidden = User("", ()), False
            try:
                if self.outage:
                    raise ApiError(503, "ServiceUnavailable", self.outage)
                token = self._known(request.token)
                user = user_of(self.store, self.ca, request.certificate, token, self.now(), self.anonymous)
                response = self._answer(request, user)
            except ApiError as error:
                response = Response(error.status, json.dumps(error.body()).encode())
                forbidden = error.status == 403 and not isinstance(error, AdmissionError)
            call = Call(
                user.name,
                request.method,
                request.path,
                response.status,
                request.outside,
                forbidden,
                self._asked(request),
            )
            self.calls.append(call)
            if forbidden:
                self.refusals.append(call)
            return response

    def _asked(self, request: Request) -> Ask | None:
        try:
            target = self._target(request.path)
        except ApiError:
            return None
        return self._ask(request, target) if target is not None else None

    def _answer(self, request: Request, user: User) -> Response:
        # `/api/v1/namespaces/x` is the Namespace x itself, and so is `/api/v1/namespaces/x/status`.
        target = self._target(request.path)
        if target is None:
            return self._plain(request, user)
        ask = self._ask(request, target)
        self._check(user, ask)
        if target.subresource == "exec" and int(self.version.split(".")[1]) >= 35:
            # Source: kubernetes/kubernetes#134577, gate AuthorizePodWebsocketUpgradeCreatePermission
            self._check(user, replace(ask, verb="create"))
        if target.subresource not in {"", "status"}:
            return self._subresource(request, user, target)
        return Response(*_json(*self._object(request, user, target)))

    def _target(self, path: str) -> Target | None:
        own = re.fullmatch(r"/api/v1/namespaces/([^/]+)(?:/(status|finalize))?", path)
        if own:
            return Target(BY_NAME["Namespace"], "", own[1], own[2] or "")
        match = _RESOURCE.fullmatch(path)
        if match is None:
            return None
        place = (match["group"] or "", match["version"], match["plural"])
        kind = BY_PATH.get(place) or (custom.BY_PATH.get(place) if place[0] in self.served else None)
        if kind is None:
            if (match["group"] or "") == "authorization.k8s.io":
                return None
            raise _no_resource()
        sub = match["sub"] or ""
        if (sub and sub not in SUBRESOURCES.get(kind.plural, set())) or (match["namespace"] and not kind.namespaced):
            raise _no_resource()
        return Target(kind, match["namespace"] or "", match["name"] or "", sub)

    def _ask(self, request: Request, target: Target) -> Ask:
        verb = _VERBS.get(request.method, "get")
        if verb == "get" and not target.name:
            verb = "watch" if request.query.get("watch") in {"1", "true"} else "list"
        elif verb == "delete" and not target.name:
            verb = "deletecollection"
        kind = target.kind
        return Ask(verb, kind.group, kind.plural, target.subresource, target.namespace, target.name)

    def _check(self, user: User, ask: Ask) -> None:
        if not allowed(self.store, user, ask):
            raise forbidden(user, ask)

    # -- objects -------------------------------------------------------------------------------------------------

    def _object(self, request: Request, user: User, target: Target) -> tuple[int, Object]:
        kind, namespace, name = target.kind, target.namespace, target.name
        if request.method == "GET" and name:
            return 200, self.store.get(kind, namespace, name)
        if request.method == "GET":
            return 200, self._list(request, kind, namespace)
        if request.method == "POST" and not name:
            if kind.namespaced and not namespace:
                raise ApiError(
                    405, "MethodNotAllowed", "the server does not allow this method on the requested resource"
                )
            body = _known(kind, admitted(kind, _body(request), user))
            if kind.name in {"ClusterRoleBinding", "RoleBinding"}:
                self._may_bind(user, kind, namespace, body)
            try:
                self.admit(kind, namespace, body)
            except ApiError as error:
                raise AdmissionError(error.status, error.reason, error.message) from error
            return 201, self.store.create(kind, namespace, body)
        if request.method in {"PUT", "PATCH"} and name:
            return 200, self._change(request, target)
        if request.method == "DELETE" and name:
            return 200, self._delete(request, kind, namespace, name)
        raise ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")

    def _may_bind(self, user: User, kind: Kind, namespace: str, body: Object) -> None:
        """Nobody gives rights away that he has not, but by the verb bind. Of who has them all, system:masters are
        known. Source: kubernetes pkg/registry/rbac/clusterrolebinding/policybased/storage.go."""
        role = body.get("roleRef") or {}
        resource = f"{str(role.get('kind') or '').lower()}s"
        ask = Ask("bind", _RBAC, resource, namespace=namespace, name=str(role.get("name") or ""))
        if not allowed(self.store, user, ask):
            name = (body.get("metadata") or {}).get("name")
            said = f'{kind.plural}.{_RBAC} "{name}" is forbidden: user "{user.name}" (groups={sorted(user.groups)}) is '
            raise ApiError(403, "Forbidden", said + "attempting to grant RBAC permissions not currently held")

    def _list(self, request: Request, kind: Kind, namespace: str) -> Object:
        if request.query.get("watch") in {"1", "true"}:
            raise ApiError(501, "NotImplemented", "the lab's API server (simulated) has no watches: list again")
        labels, fields = request.query.get("labelSelector", ""), request.query.get("fieldSelector", "")
        rows, version, limit = self._rows(request, kind, namespace)
        fitting = [row for row in rows if _labels_fit(row[1], labels) and _fields_fit(row[1], fields)]
        metadata: Object = {"resourceVersion": version}
        if 0 < limit < len(fitting):
            fitting, left = fitting[:limit], len(fitting) - limit
            start = f"/{_place(fitting[-1][0], namespace)}\0"
            metadata["continue"] = _token(version, start)
            if "continue" not in request.query:
                kept = {key: found for key, found in self._lists.items() if self.now() - found[0] <= COMPACTED}
                self._lists = kept | {(kind.key, version): (self.now(), self.store.rows(kind))}
            metadata |= {} if labels or fields else {"remainingItemCount": left}
        items = [copied(item) for _key, item in fitting]
        return {"kind": f"{kind.name}List", "apiVersion": kind.api_version, "metadata": metadata, "items": items}

    def _rows(self, request: Request, kind: Kind, namespace: str) -> tuple[Sequence[Row], str, int]:
        """What the list is of: all, or what is left of one that was begun, as it was then; its resourceVersion; and how
        many are wanted. tests/real/test_lists.py asks a real server the same. Source: k8s.io/apiserver v0.37.2
        pkg/storage/continue.go, pkg/storage/interfaces.go, pkg/storage/etcd3/store.go and errors.go."""
        given = request.query.get("limit", "") or "0"
        if not re.fullmatch(r"-?\d+", given):
            raise ApiError(400, "BadRequest", f'strconv.ParseInt: parsing "{given}": invalid syntax')
        limit, token = int(given), request.query.get("continue", "")
        if not token:
            return self.store.rows(kind, namespace), self.store.version, limit
        if request.query.get("resourceVersion", "") not in {"", "0"}:
            raise ApiError(400, "BadRequest", "specifying resource version is not allowed when using continue")
        version, start = _decode(token)
        shown = self.store.version if version == -1 else str(version)
        rows = self.store.rows(kind)
        if shown != self.store.version:
            began, rows = self._lists.get((kind.key, shown), (datetime.min.replace(tzinfo=UTC), ()))
            if self.now() - began > COMPACTED:
                raise ApiError(410, "Expired", _EXPIRED, metadata={"continue": _token(-1, start)})
        rows = [row for row in rows if not namespace or row[0][0] == namespace]
        return [row for row in rows if _place(row[0], namespace) >= start], shown, limit

    def _change(self, request: Request, target: Target) -> Object:
        kind, namespace, name = target.kind, target.namespace, target.name
        old = self.store.get(kind, namespace, name)
        if request.method == "PUT":
            new = _body(request)
        else:
            apply = _PATCHES.get(request.content_type.partition(";")[0].strip())
            if apply is None or (apply is strategic and kind in custom.ALL):
                said = f"the body of the request was in an unknown format: {request.content_type}"
                raise ApiError(415, "UnsupportedMediaType", said)
            new = apply(old, _body(request))
        if target.subresource == "status":
            # Of the metadata, labels and annotations come along: flannel writes its annotations so.
            metadata = {**old["metadata"], **{k: v for k, v in (new.get("metadata") or {}).items() if k != "name"}}
            new = {**old, "metadata": metadata, "status": new.get("status") or {}}
        elif kind.name in {"Node", "Pod", "CertificateSigningRequest"}:
            new = {**new, "status": old.get("status") or {}}
        return self.store.replace(kind, namespace, name, _known(kind, new))

    def _delete(self, request: Request, kind: Kind, namespace: str, name: str) -> Object:
        found = self.store.get(kind, namespace, name)
        uid, wanted = found["metadata"]["uid"], (_body(request).get("preconditions") or {}).get("uid")
        if wanted and wanted != uid:  # Source: kubernetes apiserver pkg/storage/interfaces.go, Preconditions.Check
            said = f"Precondition failed: UID in precondition: {wanted}, UID in object meta: {uid}"
            raise ApiError(409, "Conflict", f'Operation cannot be fulfilled on {kind.plural} "{name}": {said}')
        if kind.name == "Pod" and found.get("spec", {}).get("nodeName"):
            self.evicted(found)
            return found
        if kind.name == "Namespace":
            return self.terminate(found)
        self.store.delete(kind, namespace, name)
        details = {"name": name, "kind": kind.plural, "uid": found["metadata"]["uid"]}
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}

    # -- subresources --------------------------------------------------------------------------------------------

    def _subresource(self, request: Request, user: User, target: Target) -> Response:
        kind, namespace, name = target.kind, target.namespace, target.name
        found = self.store.get(kind, namespace, name)
        if target.subresource == "approval" and request.method in {"PUT", "PATCH"}:
            return Response(*_json(200, self._approve(request, kind, found)))
        if target.subresource == "approval" and request.method == "GET":
            return Response(*_json(200, found))
        if target.subresource == "eviction" and request.method == "POST":
            self._evict(found)
            return Response(*_json(201, {"kind": "Status", "apiVersion": "v1", "status": "Success", "code": 201}))
        if target.subresource == "token" and request.method == "POST":
            token = discovery.account_token(namespace, name, found["metadata"]["uid"])
            secret = {
                "metadata": {"name": f"{name}-request", "annotations": {discovery.ACCOUNT_ANNOTATION: name}},
                "type": "kubernetes.io/service-account-token",
                "data": {"token": encoded(token)},
            }
            if self.store.find(BY_NAME["Secret"], namespace, f"{name}-request") is None:
                self.store.create(BY_NAME["Secret"], namespace, secret)
            answer = {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "status": {"token": token}}
            return Response(*_json(201, answer))
        if target.subresource == "exec" and request.method == "GET":
            return self._exec(request, found)
        if target.subresource == "log":
            return Response(200, self._log(request, found), "text/plain")
        raise ApiError(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")

    def _log(self, request: Request, pod: Object) -> bytes:
        """The last `tailLines` of it. 400 while no container has run. Source: kubernetes
        pkg/registry/core/pod/strategy.go (LogLocation), pkg/kubelet/kubelet_pods.go (validateContainerLogStatus)."""
        name = str(pod["metadata"]["name"])
        if (pod.get("status") or {}).get("phase") == "Pending":
            container = request.query.get("container") or pod["spec"]["containers"][0]["name"]
            said = f'container "{container}" in pod "{name}" is waiting to start: ContainerCreating'
            raise ApiError(400, "BadRequest", said)
        lines = self.log(pod).splitlines(keepends=True)
        return b"".join(lines[-int(request.query.get("tailLines") or len(lines) or 1) :])

    def _exec(self, request: Request, pod: Object) -> Response:
        """101: the program may be run; flows.py knows what it answers."""
        name, namespace = pod["metadata"]["name"], pod["metadata"]["namespace"]
        if not request.words:
            raise ApiError(400, "BadRequest", "you must specify at least 1 command for the container")
        containers = [item["name"] for item in pod["spec"].get("containers") or []]
        container = request.query.get("container") or (containers[0] if containers else "")
        if container not in containers:
            raise ApiError(400, "BadRequest", f"container {container} is not valid for pod {name}")
        if (pod.get("status") or {}).get("phase") != "Running":
            said = f'unable to upgrade connection: container not found ("{container}")'
            raise ApiError(500, "InternalError", said)
        found = {"namespace": namespace, "pod": name, "argv": list(request.words)}
        return Response(101, json.dumps(found).encode())

    def _approve(self, request: Request, kind: Kind, found: Object) -> Object:
        """Only the conditions of a CSR's status are taken over, and an approval or denial stays."""
        apply = _PATCHES.get(request.content_type.partition(";")[0].strip(), strategic)
        body = _body(request)
        new = body if request.method == "PUT" else apply(found, body)
        conditions = list((new.get("status") or {}).get("conditions") or [])
        before = {item["type"] for item in (found.get("status") or {}).get("conditions") or []}
        after = {str(item.get("type")) for item in conditions}
        if before - after or {"Approved", "Denied"} <= after:
            said = f'{kind.name}.certificates.k8s.io "{found["metadata"]["name"]}" is invalid: status.conditions'
            raise ApiError(422, "Invalid", f"{said}: Forbidden: Approved and Denied conditions are mutually exclusive")
        for item in conditions:
            item.setdefault("status", "True")
            item.setdefault("lastUpdateTime", self.store.stamp())
        status = {**(found.get("status") or {}), "conditions": conditions}
        return self.store.replace(kind, "", found["metadata"]["name"], {**found, "status": status})

    def _evict(self, pod: Object) -> None:
        """429 while a PodDisruptionBudget that selects the pod allows no disruption. Source: kubernetes
        pkg/registry/core/pod/storage/eviction.go, checkAndDecrement."""
        labels = pod["metadata"].get("labels") or {}
        for budget in self.store.list(BY_NAME["PodDisruptionBudget"], pod["metadata"]["namespace"]):
            wanted = ((budget.get("spec") or {}).get("selector") or {}).get("matchLabels") or {}
            selected = wanted and all(labels.get(key) == value for key, value in wanted.items())
            if selected and not (budget.get("status") or {}).get("disruptionsAllowed", 0):
                said = "Cannot evict pod as it would violate the pod's disruption budget."
                name = budget["metadata"]["name"]
                why = f"The disruption budget {name} needs 1 healthy pods and has 1 currently"
                raise ApiError(429, "TooManyRequests", said, [{"reason": "DisruptionBudget", "message": why}])
        self.evicted(pod)

    # -- everything else -----------------------------------------------------------------------------------------

    def _plain(self, request: Request, user: User) -> Response:
        path = request.path.rstrip("/") or "/"
        if path == "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews" and request.method == "POST":
            body = _body(request)
            wanted = (body.get("spec") or {}).get("resourceAttributes") or {}
            keys = ("verb", "group", "resource", "subresource", "namespace", "name")
            ask = Ask(**{key: str(wanted.get(key) or "") for key in keys})
            body["status"] = {"allowed": user.name != "system:anonymous" and allowed(self.store, user, ask)}
            return Response(*_json(201, body))
        review_of = re.fullmatch(
            r"/apis/authorization.k8s.io/v1/(?:namespaces/[^/]+/local|)(?P<kind>subjectaccessreviews)", path
        )
        if review_of:
            kind = f"{'local' if '/namespaces/' in path else ''}{review_of['kind']}"
            body, review = _body(request), Ask("create", "authorization.k8s.io", kind)
            self._check(user, review)
            wanted = body["spec"]["resourceAttributes"]
            keys = ("verb", "group", "resource", "subresource", "namespace", "name")
            whose = User(str(body["spec"].get("user") or ""), tuple(body["spec"].get("groups") or ()))
            ask = Ask(**{key: str(wanted.get(key) or "") for key in keys})
            body["status"] = {"allowed": allowed(self.store, whose, ask)}
            return Response(*_json(201, body))
        proxied = re.fullmatch(r"/api/v1/nodes/([^/]+)/proxy/(.+)", path)
        if proxied:
            self._check(user, Ask("get", resource="nodes", subresource="proxy", name=proxied[1]))
            if (proxied[1], proxied[2]) not in self.proxied:
                raise _no_resource()
            said = self.proxied[proxied[1], proxied[2]]
            return Response(*_json(200, said() if callable(said) else said))
        self._check(user, Ask("get", path=path))
        if path in {"/healthz", "/livez", "/readyz"}:
            return Response(200, b"ok", "text/plain")
        found = discovery.document(path, self.version) or discovery.custom_group(path, self.served)
        if found is None:
            raise _no_resource()
        return Response(*_json(200, found))


def admitted(kind: Kind, body: Object, user: User) -> Object:
    """What the API server adds to, or refuses of, a new object. ApiError."""
    if body.get("kind") not in {None, kind.name}:
        said = f"{body.get('kind')} in version {body.get('apiVersion')!r} cannot be handled as a {kind.name}"
        raise ApiError(400, "BadRequest", said)
    if kind.name == "Secret" and body.get("stringData"):
        given = {key: encoded(str(value)) for key, value in body.pop("stringData").items()}
        body["data"] = {**(body.get("data") or {}), **given}
    if kind.name == "Secret":
        body.setdefault("type", "Opaque")
    if kind.name == "CertificateSigningRequest":
        return _admitted_request(body, user)
    if kind.name == "Node" and user.name.startswith("system:node:"):
        own, name = user.name.removeprefix("system:node:"), (body.get("metadata") or {}).get("name")
        if own != name:
            said = f'nodes "{name}" is forbidden: node "{own}" is not allowed to modify node "{name}"'
            raise ApiError(403, "Forbidden", said)
    if kind.name in {"Node", "Pod"}:
        body.setdefault("spec", {})
        body.setdefault("status", {})
    return body


def _admitted_request(body: Object, user: User) -> Object:
    import base64

    spec = body.get("spec") or {}
    try:
        identity_of_request(base64.b64decode(str(spec.get("request") or "")))
    except (BadCertificateError, ValueError) as error:
        said = f"CertificateSigningRequest is invalid: spec.request: Invalid value: {error}"
        raise ApiError(422, "Invalid", said) from error
    if not spec.get("signerName"):
        raise ApiError(422, "Invalid", "CertificateSigningRequest is invalid: spec.signerName: Required value")
    return {**body, "spec": {**spec, "username": user.name, "groups": list(user.groups)}, "status": {}}


def _json(status: int, found: Object) -> tuple[int, bytes]:
    return status, json.dumps(found).encode()


def _no_resource() -> ApiError:
    return ApiError(404, "NotFound", "the server could not find the requested resource")


def _body(request: Request) -> Object:
    try:
        found: Any = json.loads(request.body or b"{}")
    except ValueError as error:
        raise ApiError(400, "BadRequest", f"the object provided is unrecognized: {error}") from error
    if not isinstance(found, dict):
        raise ApiError(400, "BadRequest", "the object provided is unrecognized: it is no JSON object")
    return found


def _place(key: tuple[str, str], namespace: str) -> str:
    """Of an object in its collection, as etcd sorts them."""
    return key[1] if namespace or not key[0] else "/".join(key)


def _token(version: str | int, start: str) -> str:
    said = json.dumps({"v": "meta.k8s.io/v1", "rv": int(version), "start": start}, separators=(",", ":"))
    return base64.urlsafe_b64encode(said.encode()).decode().rstrip("=")


def _decode(token: str) -> tuple[int, str]:
    wrong = "invalid continue token: continue key is not valid"
    try:
        said = json.loads(base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True))
    except ValueError as error:
        raise ApiError(400, "BadRequest", f"{wrong}: {error}") from error
    if said.get("v") != "meta.k8s.io/v1":
        raise ApiError(400, "BadRequest", f"{wrong}: server does not recognize this encoded version {said.get('v')}")
    if not said.get("rv") or not said.get("start"):
        what = "encoded start key empty" if said.get("rv") else "incorrect encoded start resourceVersion"
        raise ApiError(400, "BadRequest", f"{wrong}: {what} (version meta.k8s.io/v1)")
    return said["rv"], said["start"].lstrip("/")


def _labels_fit(item: Object, selector: str) -> bool:
    labels = item["metadata"].get("labels") or {}
    for part in (one.strip() for one in selector.split(",")):
        if "!=" in part:
            name, _, value = part.partition("!=")
            fits = labels.get(name) != value
        elif "=" in part:
            name, _, value = part.partition("=")
            fits = labels.get(name) == value.lstrip("=")
        else:
            fits = part == "" or (part[1:] not in labels if part.startswith("!") else part in labels)
        if not fits:
            return False
    return True


def _fields_fit(item: Object, selector: str) -> bool:
    for part in (one.strip() for one in selector.split(",") if one.strip()):
        name, sign, value = part.partition("!=" if "!=" in part else "=")
        found: Any = item
        for step in name.split("."):
            found = found.get(step) if isinstance(found, dict) else None
        if (str(found or "") == value.lstrip("=")) != (sign == "="):
            return False
    return True
