# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The API's answers, decoded and compared with the request: half an answer, or a proxy's page, never means "none"."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from ..engine.gate import Unexpected
from ..engine.printable import make_sentence
from . import objects
from .error import ClusterError, passes

Object = dict[str, Any]
"""A JSON object as the API returns it."""

DEEPEST = 100
"""The deepest nesting of an API object that is accepted."""
LONGEST_MESSAGE = 2048
"""Characters of a refusal's own words that are shown."""
_BULK_OF_NODES = ("images", "volumesInUse", "volumesAttached")
_SHOWN = 80
_SHOWN_KEYS = 8
_RESOURCE = re.compile(
    r"/(?:api/[^/]+|apis/[^/]+/[^/]+)(?:/namespaces/[^/]+)?/(?P<plural>[a-z]+)(?:/(?P<name>[^/]+)(?:/(?P<sub>.+))?)?"
)
_OF_KUBELET = {"proxy/configz": "kubeletconfig", "proxy/stats/summary": "pods"}
"""The top-level keys of a kubelet's answers. Source: kubernetes pkg/kubelet/server/server.go,
staging/src/k8s.io/kubelet/pkg/apis/stats/v1alpha1/types.go."""
_NO_GROUP = b"404 page not found"
"""The answer for a path without an API group. Source: Go net/http, NotFound; kubernetes apiserver pkg/server/mux."""


class Answer(NamedTuple):
    """`after_s`: the seconds after which the server wants to be asked again; `location`: the target of a redirect."""

    status: int
    data: bytes
    after_s: float = 0.0
    content_type: str = ""
    location: str = ""


IN_CLEAR = "The server in the kubeconfig begins with http: over that no credentials are sent. Name it with https."
UNKNOWN_USER = "The credentials in the kubeconfig (winkube_cluster) are wrong or have expired."


class StrangeAnswerError(ClusterError):
    """An answer of another kind than requested: something in between has answered, or it is incomplete."""


def check_answer(method: str, where: str, path: str, answer: Answer, *, missing: bool = False) -> Object | None:
    """The object of the kind that `method` and `path` request; None if it does not exist and `missing` allows that.

    ClusterError for a refusal, StrangeAnswerError for anything else.
    """
    if answer.status == 404 and _is_absent(answer.data):
        if missing:
            return None
    elif 200 <= answer.status < 300:
        said = decode_object(answer.data)
        plain, _mark, query = path.partition("?")
        wanted = "JSON"
        if said is not None:
            wanted = _find_mismatch(method, plain, said, pieces="limit=" in query)
        elif deep := _find_deep(answer.data):
            wanted = f"JSON of at most {DEEPEST} levels ({deep} is nested deeper)"
        if said is None or wanted:
            raise _strange(method, where, path, answer, wanted or "JSON")
        return _check_fields(method, where, plain, said)
    raise refusal(method, where, path, answer)


def _check_fields(method: str, where: str, path: str, said: Object) -> Object:
    """The answer behind the gate. ClusterError for a field that is not of its kind."""
    match = _RESOURCE.fullmatch(path)
    plural = match["plural"] if match is not None else path
    of_other = match is not None and ((match["sub"] or "").startswith("proxy/") or said.get("kind") == "Status")
    if of_other or (match is None and path not in objects.KINDS):
        return said
    try:
        return objects.check(plural, said)
    except Unexpected as error:
        field = f"{error.path} is not {error.expected}" if plural == "secrets" else str(error)
        raise refuse_field(method, where, field) from None


def refuse_field(method: str, where: str, field: str) -> ClusterError:
    """The error for a field that is not of its kind; `field` is a clause."""
    return ClusterError(f"{method} {where}: the API's answer is not used, since in it {field}.")


def refusal(method: str, where: str, path: str, answer: Answer) -> ClusterError:
    """The error for an answer that is not a success."""
    said = decode_object(answer.data) or {}
    if 300 <= answer.status < 400 or (answer.status == 404 and not _is_absent(answer.data)):
        return _strange(method, where, path, answer, "the API's own answer")
    message = make_sentence(said.get("message") or "", LONGEST_MESSAGE).strip().rstrip(".")
    message = message or read_first_line(answer.data) or "no reason was given"
    hint = f" {UNKNOWN_USER}" if answer.status == 401 else ""
    if answer.status in {401, 403} and where.startswith("http:"):
        hint = f" {IN_CLEAR}"
    return ClusterError(
        f"{method} {where} was answered with {answer.status}: {message}.{hint}",
        answer.status,
        passing=passes(path, answer.status, message),
        after_s=answer.after_s,
        causes=_causes(said),
    )


def _causes(status: Object) -> frozenset[str]:
    details = status.get("details")
    causes = details.get("causes") if isinstance(details, dict) else None
    listed = causes if isinstance(causes, list) else []
    return frozenset(str(each.get("reason")) for each in listed if isinstance(each, dict))


def text(method: str, where: str, path: str, answer: Answer) -> str:
    """An answer that is text, such as a pod's log, but not a page for a browser."""
    if not 200 <= answer.status < 300:
        raise refusal(method, where, path, answer)
    if answer.content_type.startswith("text/html"):
        raise _strange(method, where, path, answer, "plain text")
    return answer.data.decode("utf-8", errors="replace")


def decode_object(data: bytes | str) -> Object | None:
    """The JSON object in `data`; None for anything else, including one nested too deeply."""
    try:
        said = json.loads(data, object_hook=_drop_bulk)
    except (ValueError, RecursionError):
        return None
    return said if isinstance(said, dict) and _is_flat(said) else None


def _drop_bulk(found: dict[str, Any]) -> dict[str, Any]:
    """Leaves out, while the text is read, what is most of a Node's text and nobody here reads: the memory for a list of
    thousands would be several times as large."""
    found.pop("managedFields", None)
    if "nodeInfo" in found:
        for name in _BULK_OF_NODES:
            found.pop(name, None)
    return found


def read_first_line(data: bytes) -> str:
    """The first non-empty line of a text, shortened, with only printable characters."""
    lines = (line.strip() for line in data[:4096].decode("utf-8", errors="replace").splitlines())
    line = "".join(each if each.isprintable() else "?" for each in next(filter(None, lines), ""))
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}..."


def _is_flat(said: Object) -> bool:
    level: list[Any] = [said]
    for _level in range(DEEPEST):
        level = [
            child
            for each in level
            for child in (each.values() if isinstance(each, dict) else each)
            if isinstance(child, dict | list)
        ]
        if not level:
            return True
    return False


def _find_deep(data: bytes) -> str:
    """Where JSON is nested too deeply, by its first keys; empty if it is not, or is not JSON."""
    try:
        said = json.loads(data, object_hook=_drop_bulk)
    except RecursionError:
        return "something"
    except ValueError:
        return ""
    level: list[tuple[str, Any]] = [("", said)] if isinstance(said, dict | list) else []
    for depth in range(DEEPEST):
        level = [
            (f"{path}.{key}".lstrip(".") if depth < _SHOWN_KEYS else path, child)
            for path, each in level
            for key, child in (each.items() if isinstance(each, dict) else enumerate(each))
            if isinstance(child, dict | list)
        ]
    return make_sentence(level[0][0], _SHOWN) if level else ""


def _is_absent(data: bytes) -> bool:
    """Whether a 404 is the API server's: its Status, or that of a server which does not know the API group."""
    said = decode_object(data)
    return data.strip() == _NO_GROUP if said is None else said.get("kind") == "Status"


def _find_mismatch(method: str, path: str, said: Object, *, pieces: bool) -> str:
    """What the answer should be; empty if it is of the requested kind. `pieces`: a list may be a piece."""
    kind = str(said.get("kind") or "")
    match = _RESOURCE.fullmatch(path)
    if match is None:
        return "" if path != "/version" or "gitVersion" in said else "the server's version"
    plural, name, sub = match["plural"], match["name"], match["sub"] or ""
    if sub.startswith("proxy/"):
        top = _OF_KUBELET.get(sub)
        return "" if top is None or isinstance(said.get(top), dict | list) else f"an object with {top}"
    done = kind == "Status" and said.get("status") == "Success"
    if sub == "eviction":
        return "" if done else "a Status of success"
    if method == "DELETE":
        return "" if done or plural_of(kind) == plural else f"an object of {plural}"
    if method == "GET" and not name:
        return "" if _is_list(said, plural, pieces=pieces) else f"a {'' if pieces else 'whole '}list of {plural}"
    if plural_of(kind) != plural:
        return f"an object of {plural}"
    named = (said.get("metadata") or {}).get("name") if isinstance(said.get("metadata") or {}, dict) else None
    return "" if not name or named == unquote(name) else f"the object {unquote(name)} of {plural}"


def _is_list(said: Object, plural: str, *, pieces: bool) -> bool:
    kind, items = str(said.get("kind") or ""), said.get("items", False)
    metadata = said.get("metadata") or {}
    goes_on = metadata.get("continue") or "" if isinstance(metadata, dict) else None
    fits = kind.endswith("List") and plural_of(kind.removesuffix("List")) == plural
    fits &= isinstance(goes_on, str) if pieces else goes_on == ""
    return fits and (items is None or (isinstance(items, list) and all(isinstance(i, dict) for i in items)))


def plural_of(kind: str) -> str:
    """The plural in paths. Source: kubernetes apimachinery pkg/api/meta/restmapper.go, UnsafeGuessKindToResource."""
    name = kind.lower()
    if name.endswith("s"):
        return f"{name}es"
    return f"{name[:-1]}ies" if name.endswith("y") else f"{name}s"


def _find_host(location: str) -> str:
    try:
        return make_sentence(urlsplit(location).hostname or "", _SHOWN)
    except ValueError:
        return ""


def _strange(method: str, where: str, path: str, answer: Answer, wanted: str) -> StrangeAnswerError:
    if 300 <= answer.status < 400:
        host = _find_host(answer.location) or "an unknown address"
        came = f"a redirect to {host}"
    else:
        line = read_first_line(answer.data)
        if "/secrets" in path and not line.startswith("<"):
            line = "(not shown: it may hold a secret)" if line else ""
        came = f"{answer.content_type or 'no content type'}, which begins: {line}" if line else "nothing"
    return StrangeAnswerError(
        f"{method} {where} was answered with {answer.status}, but not with {wanted}: {came}. Something between the "
        "controller and the API server may have spoken (a proxy, a page to log in), or the answer was cut.",
        answer.status,
        passing=True,
        after_s=answer.after_s,
    )
