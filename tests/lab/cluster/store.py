"""What the API server keeps: objects with their versions, and how a patch changes one."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar, cast

from tests.lab.cluster.kinds import BY_NAME, Kind

Object = dict[str, Any]
_MERGE_KEYS = {
    "conditions": "type",
    "addresses": "type",
    "ownerReferences": "uid",
    "secrets": "name",
    "containers": "name",
}
"""Lists that a strategic patch merges element by element. Source: kubernetes api core/v1 types (patchMergeKey)."""


class ApiError(Exception):
    """An answer that is no success: status, reason and a sentence, as in a Status object."""

    def __init__(
        self, status: int, reason: str, message: str, causes: Sequence[Object] = (), metadata: Object | None = None
    ) -> None:
        self.status, self.reason, self.message, self.causes = status, reason, message, list(causes)
        self.metadata: Object = metadata or {}
        super().__init__(f"{status} {reason}: {message}")

    def body(self) -> Object:
        return {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata,
            "status": "Failure",
            "message": self.message,
            "reason": self.reason,
            "code": self.status,
            **({"details": {"causes": self.causes}} if self.causes else {}),
        }


def shown(kind: Kind) -> str:
    """`nodes`, `daemonsets.apps`: as sentences of the API name a resource."""
    return f"{kind.plural}.{kind.group}" if kind.group else kind.plural


Row = tuple[tuple[str, str], Object]
"""(namespace, name) and the object."""
T = TypeVar("T")


def copied(value: T) -> T:
    """A copy of JSON, in a fraction of the time that copy.deepcopy takes: each list of thousands of Nodes is one."""
    made: object = value
    if isinstance(value, dict):
        made = {name: copied(each) for name, each in value.items()}
    elif isinstance(value, list):
        made = [copied(each) for each in value]
    return cast(T, made)


class Store:
    """Objects by kind, namespace and name. Whatever is handed out is a copy.

    changed: called with (what, kind, object) after `ADDED`, `MODIFIED`, `DELETED`.
    """

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._version = 100
        self._objects: dict[str, dict[tuple[str, str], Object]] = {}
        self.changed: Callable[[str, Kind, Object], None] = lambda what, kind, found: None
        self.deleted: list[Object] = []
        """As they were last; for tests."""

    def stamp(self) -> str:
        return self._now().strftime("%Y-%m-%dT%H:%M:%SZ")

    @property
    def version(self) -> str:
        return str(self._version)

    # -- reading -------------------------------------------------------------------------------------------------

    def find(self, kind: Kind, namespace: str, name: str) -> Object | None:
        found = self._objects.get(kind.key, {}).get((namespace, name))
        return copied(found) if found is not None else None

    def get(self, kind: Kind, namespace: str, name: str) -> Object:
        found = self.find(kind, namespace, name)
        if found is None:
            raise ApiError(404, "NotFound", f'{shown(kind)} "{name}" not found')
        return found

    def list(self, kind: Kind, namespace: str = "") -> list[Object]:
        """All of a kind, or those of one namespace, in the order of etcd's keys: kube-system/a before kube/a."""
        return [copied(found) for _key, found in self.rows(kind, namespace)]

    def rows(self, kind: Kind, namespace: str = "") -> Sequence[Row]:
        """As `list`, with the keys, and no copies: for reading alone. An object that changes becomes another one."""
        held = self._objects.get(kind.key, {})
        return [(key, held[key]) for key in sorted(held, key="/".join) if not namespace or key[0] == namespace]

    # -- writing -------------------------------------------------------------------------------------------------

    def create(self, kind: Kind, namespace: str, body: Object) -> Object:
        made = copied(body)
        metadata = made.setdefault("metadata", {})
        if not metadata.get("name"):
            prefix = metadata.get("generateName")
            if not prefix:
                raise ApiError(422, "Invalid", f"{kind.name} is invalid: metadata.name: Required value")
            metadata["name"] = f"{prefix}{uuid.uuid4().hex[:5]}"
        name = str(metadata["name"])
        if kind.namespaced:
            given = metadata.setdefault("namespace", namespace)
            if given != namespace:
                said = "the namespace of the provided object does not match the namespace sent on the request"
                raise ApiError(400, "BadRequest", said)
            if self.find(BY_NAME["Namespace"], "", namespace) is None:
                raise ApiError(404, "NotFound", f'namespaces "{namespace}" not found')
        held = self._objects.setdefault(kind.key, {})
        if (namespace, name) in held:
            raise ApiError(409, "AlreadyExists", f'{shown(kind)} "{name}" already exists')
        made |= {"apiVersion": kind.api_version, "kind": kind.name}
        metadata |= {"uid": str(uuid.uuid4()), "creationTimestamp": self.stamp(), "resourceVersion": self._next()}
        held[namespace, name] = made
        self.changed("ADDED", kind, copied(made))
        return copied(made)

    def replace(self, kind: Kind, namespace: str, name: str, body: Object) -> Object:
        """The whole object; 409 when it names an older resourceVersion."""
        old = self.get(kind, namespace, name)
        new = copied(body)
        metadata = new.setdefault("metadata", {})
        wanted = metadata.get("resourceVersion")
        if wanted and wanted != old["metadata"]["resourceVersion"]:
            raise ApiError(
                409,
                "Conflict",
                f'Operation cannot be fulfilled on {shown(kind)} "{name}": the object has been modified; please '
                "apply your changes to the latest version and try again",
            )
        if metadata.get("name", name) != name:
            raise ApiError(400, "BadRequest", "the name of the object does not match the name on the URL")
        kept = {key: old["metadata"][key] for key in ("name", "uid", "creationTimestamp")}
        if kind.namespaced:
            kept["namespace"] = namespace
        new |= {"apiVersion": kind.api_version, "kind": kind.name, "metadata": {**metadata, **kept}}
        if _without_version(new) == _without_version(old):
            return old
        new["metadata"]["resourceVersion"] = self._next()
        self._objects[kind.key][namespace, name] = new
        self.changed("MODIFIED", kind, copied(new))
        return copied(new)

    def delete(self, kind: Kind, namespace: str, name: str) -> Object:
        found = self.get(kind, namespace, name)
        del self._objects[kind.key][namespace, name]
        self.deleted.append(found)
        self._next()
        self.changed("DELETED", kind, found)
        return found

    def _next(self) -> str:
        self._version += 1
        return str(self._version)


def _without_version(found: Object) -> Object:
    metadata = {key: value for key, value in found["metadata"].items() if key != "resourceVersion"}
    return {**found, "metadata": metadata}


def merged(old: Any, patch: Any) -> Any:
    """A JSON merge patch (RFC 7386)."""
    if not isinstance(patch, dict):
        return copied(patch)
    result = copied(old) if isinstance(old, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        else:
            result[key] = merged(result.get(key), value)
    return result


def strategic(old: Any, patch: Any) -> Any:
    """A strategic merge patch: as a merge patch, and lists of _MERGE_KEYS by their key (`$patch: delete` removes,
    `$patch: replace` takes the rest of the list for the whole)."""
    if not isinstance(patch, dict):
        return copied(patch)
    result = copied(old) if isinstance(old, dict) else {}
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, list) and key in _MERGE_KEYS:
            result[key] = _by_key(result.get(key) or [], value, _MERGE_KEYS[key])
        elif not key.startswith("$"):
            result[key] = strategic(result.get(key), value)
    return result


def _by_key(old: list[Any], patch: list[Any], key: str) -> list[Any]:
    rest = [item for item in patch if item.get("$patch") != "replace"]
    if len(rest) < len(patch):
        return copied(rest)
    result = copied(old)
    for item in patch:
        index = next((i for i, found in enumerate(result) if found.get(key) == item.get(key)), None)
        if item.get("$patch") == "delete":
            if index is not None:
                del result[index]
        elif index is None:
            result.append(copied(item))
        else:
            result[index] = strategic(result[index], item)
    return result
