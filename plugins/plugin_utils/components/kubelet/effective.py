# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The configuration that a kubelet on Windows really runs with, and why it would end on it.

config.yaml, then the drop-ins as the kubelet reads and merges them, then the flags of its command line. Sources:
kubernetes v1.30.14 to v1.37.2 cmd/kubelet/app/server.go (loadConfigFile, mergeKubeletConfigurations,
kubeletConfigFlagPrecedence), pkg/kubelet/kubeletconfig/configfiles/configfiles.go, util/codec/codec.go.
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ...cluster.records import ClusterConfiguration, KubeletDocument
from ...engine import windows_path
from ...facts import feature_gates, kubelet_config
from ...facts.flags import PRE_RELEASE, line_for
from ...facts.version import Line, Version
from ...foreign.files import ForeignError
from ...foreign.spelling import meant
from ...foreign.values import load_yaml
from ..flag_check import CommandLine
from .duration import go_duration, nanoseconds
from .validation import broken_rules, is_on, is_zero

KUBEADMS = "ConfigMap kube-system/kubelet-config"


@dataclass(frozen=True, slots=True)
class Part:
    """A text with a KubeletConfiguration. `place` names it in messages: a file of the node, or a ConfigMap."""

    place: str
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class Fault:
    """Why the kubelet would end. `kind`: the whole file, a value of a wrong type, a field that Windows refuses, a
    feature gate, or a value that the validation refuses. `key` is the dotted path, empty for a file."""

    kind: Literal["file", "type", "field", "gate", "value"]
    place: str
    key: str
    why: str

    @property
    def sentence(self) -> str:
        """Place, key and reason."""
        return f"{self.place}: {f'{self.key}: ' if self.key else ''}{self.why}"


@dataclass(frozen=True, slots=True)
class Effective:
    """`values`: every field that has a value, defaults included, by dotted path; maps and lists are values.
    `places`: where a path was set last (of gates each has its own); a default has none. `set_by` has all places that
    set it, in the order of the kubelet. `faults`: why it would not start. `ignored`: sentences for fields that it
    does not know and drops in silence."""

    values: Mapping[str, Any]
    places: Mapping[str, str]
    set_by: Mapping[str, tuple[tuple[str, Any], ...]]
    faults: tuple[Fault, ...]
    ignored: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """The values as a KubeletConfiguration, nested."""
        made: dict[str, Any] = {"kind": kubelet_config.KIND, "apiVersion": kubelet_config.API_VERSION}
        for path, value in self.values.items():
            *above, last = path.split(".")
            at = made
            for name in above:
                at = at.setdefault(name, {})
            if not (isinstance(value, dict) and not value and isinstance(at.get(last), dict)):
                at[last] = value
        return made

    @property
    def gates(self) -> Mapping[str, bool]:
        """The feature gates that are set."""
        found = self.values.get("featureGates") or {}
        return {str(name): bool(value) for name, value in found.items()}


def effective(
    base: Part | None,
    drop_ins: Sequence[Part] | None,
    line: CommandLine,
    version: Version,
) -> Effective:
    """What a kubelet of `version` runs with. `base`: config.yaml, None without --config; `drop_ins`: the files of
    --config-dir, in any order, None without that folder; `line`: its parsed arguments."""
    work = _Work(line_for(version.line, PRE_RELEASE), version)
    work.load(base)
    if drop_ins is not None:
        work.merge(sorted((part for part in drop_ins if part.place.endswith(".conf")), key=_walked))
    work.override(line)
    work.defaults()
    work.validate()
    return Effective(
        dict(work.values),
        dict(work.places),
        {path: tuple(found) for path, found in work.set_by.items()},
        tuple(dict.fromkeys(work.faults)),
        tuple(work.ignored),
    )


def adapt(document: KubeletDocument, cluster: ClusterConfiguration, drive: str, version: Version) -> dict[str, Any]:
    """The cluster's KubeletConfiguration as kubeadm of this release writes it on Windows, where its own program lies
    on `drive` (`C:`): what it does not know is gone, its defaults are there, absolute paths have the drive. Some
    defaults are made of what `cluster` says.

    Sources: kubernetes v1.37.2 cmd/kubeadm/app/componentconfigs/kubelet.go (Default), kubelet_windows.go (Mutate,
    mutatePaths; not in v1.22.17).
    """
    line = line_for(version.line, PRE_RELEASE)
    known = kubelet_config.fields(line)
    kept = {key: value for key, value in document.items() if key in known or key in {"kind", "apiVersion"}}
    made = _default(kept, cluster)
    if line >= _MUTATES:
        made["resolvConf"] = ""
        for found, key in ((made, "staticPodPath"), (made["authentication"]["x509"], "clientCAFile")):
            if (found.get(key) or "").startswith("/"):
                found[key] = drive + found[key].replace("/", "\\")
    return made


def _default(document: KubeletDocument, cluster: ClusterConfiguration) -> dict[str, Any]:
    """kubeadm's defaults for what is absent or empty; it turns rotateCertificates on in any case."""
    certificates = cluster.certificates_dir or "/etc/kubernetes/pki"
    given = {name: dict(document.get(name) or {}) for name in ("authentication", "authorization")}
    parts = {name: dict(given["authentication"].get(name) or {}) for name in ("anonymous", "webhook", "x509")}
    parts["anonymous"].setdefault("enabled", False)
    parts["webhook"].setdefault("enabled", True)
    parts["x509"]["clientCAFile"] = parts["x509"].get("clientCAFile") or f"{certificates}/ca.crt".replace("/", "\\")
    made = {
        **document,
        "authentication": {**given["authentication"], **parts},
        "authorization": {**given["authorization"], "mode": given["authorization"].get("mode") or "Webhook"},
        "rotateCertificates": True,
    }
    for key, value in (
        ("staticPodPath", "/etc/kubernetes/manifests"),
        ("clusterDomain", cluster.dns_domain or "cluster.local"),
        ("healthzBindAddress", "127.0.0.1"),
        ("cgroupDriver", "systemd"),
    ):
        made[key] = made.get(key) or value
    if made.get("clusterDNS") is None:
        made["clusterDNS"] = [_tenth(cluster.service_subnet)]
    if made.get("healthzPort") is None:
        made["healthzPort"] = 10248
    return made


def _tenth(ranges: str) -> str:
    """The tenth address of a range of Services, which kubeadm gives to DNS; 10.96.0.10 where none is known. Source:
    cmd/kubeadm/app/constants/constants.go, GetDNSIP."""
    try:
        return str(ipaddress.ip_network(ranges.split(",")[0].strip(), strict=False)[10])
    except (ValueError, IndexError):
        return "10.96.0.10"


_MUTATES = Line(1, 23)
"""Source: cmd/kubeadm/app/componentconfigs/kubelet_windows.go is in v1.24.17 and not in v1.22.17; 1.23 is
unverified."""


def list_removable(found: Effective) -> tuple[Fault, ...]:
    """Faults that go when the key is taken out of where it stands: what Windows refuses, and gates."""
    return tuple(fault for fault in found.faults if fault.kind in {"field", "gate"} and fault.place)


@dataclass(frozen=True, slots=True)
class Override:
    """A key of our drop-in `ours`, where it has the value `own`, that another place sets to another value after it."""

    place: str
    key: str
    value: Any
    ours: str
    own: Any

    @property
    def sentence(self) -> str:
        """Both places and values."""
        return (
            f"{self.place}: {self.key}: {_shown(self.value)} overrides {_shown(self.own)} of {self.ours}; it was not "
            "changed. Take it out there, or set the option that gives ours to the same."
        )

    @property
    def seen(self) -> str:
        """What the other place says."""
        return f"{self.key}: {_shown(self.value)}"

    @property
    def wanted(self) -> str:
        """What ours says."""
        return f"{_shown(self.own)} of {self.ours}"


def find_overriding(found: Effective, ours: str) -> tuple[Override, ...]:
    """What another place sets otherwise after our drop-in."""
    said = []
    for path, given in found.set_by.items():
        mine = [index for index, (place, _value) in enumerate(given) if place == ours]
        if not mine or mine[-1] == len(given) - 1:
            continue
        place, value = given[-1]
        if value != given[mine[-1]][1]:
            said.append(Override(place, path, value, ours, given[mine[-1]][1]))
    return tuple(said)


def _walked(part: Part) -> tuple[str, ...]:
    """filepath.WalkDir goes through a folder's entries, files and folders alike, sorted by their bytes."""
    return tuple(part.place.replace("/", "\\").split("\\"))


def _shown(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


_BY_GATE = (
    ("crashLoopBackOff.maxContainerRestartPeriod", "KubeletCrashLoopBackOffMax", "5m0s"),
    ("imagePullCredentialsVerificationPolicy", "KubeletEnsureSecretPulledImages", "NeverVerifyPreloadedImages"),
)
"""Defaults that a gate brings. Source: kubernetes v1.37.2 pkg/kubelet/apis/config/v1beta1/defaults.go."""


class _WrongTypeError(Exception):
    """A value of a wrong type; the text says what is wanted."""


class _Work:
    """One computation: flat values by dotted path."""

    def __init__(self, line: Line, version: Version) -> None:
        self.line, self.version = line, version
        self.fields = kubelet_config.fields(line)
        self.folded = {path.casefold(): path for path in self.fields}
        self.values: dict[str, Any] = {}
        self.places: dict[str, str] = {}
        self.set_by: dict[str, list[tuple[str, Any]]] = {}
        self.faults: list[Fault] = []
        self.ignored: list[str] = []
        self.from_file = False

    # -- the three sources ---------------------------------------------------------------------------------------

    def load(self, base: Part | None) -> None:
        """config.yaml, with what the kubelet puts in before it looks at drop-ins."""
        if base is None:
            self.values |= {path: value for path, value in kubelet_config.WITHOUT_A_FILE.items() if path in self.fields}
            return
        self.from_file = True
        document = self._parse(base)
        if document is not None:
            self._merge(document, base.place, "", exact=True, nulls=True)
        if self.line >= kubelet_config.GATES_BEFORE_DROP_INS:
            self._check_gates()
        self._resolve_paths(base.place)
        if not isinstance(self.values.get("evictionHard"), dict):
            self.values["evictionHard"] = dict(kubelet_config.EVICTION_HARD)
        elif self.values.get("mergeDefaultEvictionSettings") is True:
            self.values["evictionHard"] = {**kubelet_config.EVICTION_HARD, **self.values["evictionHard"]}

    def merge(self, drop_ins: Sequence[Part]) -> None:
        """All drop-ins. What is empty in config.yaml is lost on the way: it is written as JSON without it."""
        self.defaults()
        for path in [path for path, value in self.values.items() if value == [] or value == {}]:
            if path not in kubelet_config.OPTIONAL_OBJECTS:
                del self.values[path]
        for part in drop_ins:
            document = self._parse(part)
            if document is not None:
                nulls = self.line >= kubelet_config.PATCHES_VERSIONED
                self._merge(document, part.place, "", exact=False, nulls=nulls)

    def override(self, line: CommandLine) -> None:
        """Flags of the command line. Of gates each counts for itself, other maps and lists are replaced."""
        overriding = kubelet_config.flags(self.line)
        fresh: dict[str, Any] = {}
        for flag in line.given:
            path = overriding.get(flag.name)
            if path is None:
                continue
            try:
                value = _of_flag(flag.value, self.fields[path], path)
            except _WrongTypeError as refused:
                self.faults.append(Fault("type", flag.place, "", f"{flag.text}: {refused}"))
                continue
            before = fresh.get(path)
            if isinstance(before, dict) and isinstance(value, dict):
                value = {**before, **value}
            elif isinstance(before, list) and isinstance(value, list):
                value = [*before, *value]
            fresh[path] = value
            if path == "featureGates":
                value = {**(self.values.get(path) or {}), **value}
                for name in fresh[path]:
                    self._note(f"{path}.{name}", flag.place, fresh[path][name])
            else:
                self._note(path, flag.place, value)
            self.values[path] = value

    # -- reading -------------------------------------------------------------------------------------------------

    def _parse(self, part: Part) -> Mapping[str, Any] | None:
        def refuse(why: str) -> None:
            self.faults.append(Fault("file", part.place, "", why))

        if not part.text.strip():
            refuse("it is empty, and the kubelet ends on an empty file; delete it.")
            return None
        try:
            document = load_yaml(part.text)
        except ForeignError as error:
            refuse(f"not YAML{f' in line {error.line}' if error.line else ''}; the kubelet ends on it.")
            return None
        if not isinstance(document, dict):
            refuse("not a mapping; the kubelet ends on it.")
            return None
        kind, version = document.get("kind"), document.get("apiVersion")
        if kind != kubelet_config.KIND or version != kubelet_config.API_VERSION:
            missing = [name for name, value in (("apiVersion", version), ("kind", kind)) if not value]
            what = f"has no {' and no '.join(missing)}" if missing else f"is a {kind} of {version}"
            refuse(
                f"the file {what}, and the kubelet ends on it: it needs apiVersion: {kubelet_config.API_VERSION} and "
                f"kind: {kubelet_config.KIND}."
            )
            return None
        return {key: value for key, value in document.items() if key not in {"kind", "apiVersion"}}

    def _merge(self, document: Mapping[Any, Any], place: str, above: str, *, exact: bool, nulls: bool) -> None:
        for name, value in document.items():
            given = f"{above}{name}"
            path = given if given in self.fields else ("" if exact else self.folded.get(given.casefold(), ""))
            if not path:
                self._ignore(given, place)
                continue
            if path == "resolvConf" and not exact and self.line < kubelet_config.PATCHES_VERSIONED:
                self.ignored.append(
                    f"{place}: {path}: a kubelet {self.line} ignores it in a drop-in (its own form has another name "
                    "for it); give it as an argument."
                )
                continue
            kind = self.fields[path]
            if value is None:
                if nulls:
                    self._delete(path, place)
            elif kind == "object":
                self._merge_object(path, value, place, exact=exact, nulls=nulls)
            elif kind.endswith("-by-name") and isinstance(value, Mapping):
                self._merge_map(path, value, place, kind, nulls=nulls)
            else:
                self._set(path, value, place, kind)

    def _merge_object(self, path: str, value: Any, place: str, *, exact: bool, nulls: bool) -> None:
        if not isinstance(value, Mapping):
            self.faults.append(Fault("type", place, path, f"{_shown(value)} is not a mapping; the kubelet ends on it."))
            return
        if path in kubelet_config.OPTIONAL_OBJECTS:
            self.values[path] = {}
            self._note(path, place, dict(value))
        self._merge(value, place, f"{path}.", exact=exact, nulls=nulls)

    def _merge_map(self, path: str, value: Mapping[Any, Any], place: str, kind: str, *, nulls: bool) -> None:
        found = dict(self.values.get(path) or {})
        for name, item in value.items():
            if item is None:
                if nulls and found.pop(str(name), None) is not None:
                    self._forget(f"{path}.{name}", place)
                continue
            if kind == "bools-by-name" and not isinstance(item, bool):
                said = f"{_shown(item)} is not true or false; the kubelet ends on it."
                self.faults.append(Fault("type", place, f"{path}.{name}", said))
                continue
            if kind == "strings-by-name" and not isinstance(item, str) and path != "reservedMemory.limits":
                said = f"{_shown(item)} is not a text: put it in quotes; the kubelet ends on it."
                self.faults.append(Fault("type", place, f"{path}.{name}", said))
                continue
            found[str(name)] = item
            self._note(f"{path}.{name}", place, item)
        self.values[path] = found
        self.places[path] = place

    def _set(self, path: str, value: Any, place: str, kind: str) -> None:
        try:
            self.values[path] = _checked(value, kind)
        except _WrongTypeError as refused:
            self.faults.append(Fault("type", place, path, f"{refused}; the kubelet ends on it."))
            return
        self._note(path, place, self.values[path])

    def _delete(self, path: str, place: str) -> None:
        for key in [key for key in self.values if key == path or key.startswith(f"{path}.")]:
            del self.values[key]
            self._forget(key, place)
        for key in [key for key in self.places if key.startswith(f"{path}.")]:
            self._forget(key, place)

    def _forget(self, path: str, place: str) -> None:
        self.places.pop(path, None)
        self.set_by.setdefault(path, []).append((place, None))

    def _note(self, path: str, place: str, value: Any) -> None:
        self.places[path] = place
        self.set_by.setdefault(path, []).append((place, value))

    def _ignore(self, given: str, place: str) -> None:
        later = next((kind for path, kind in kubelet_config.fields(PRE_RELEASE).items() if path == given), None)
        if later is not None:
            said = f"a kubelet {self.version} does not know it, and ignores it in silence."
        else:
            near = meant(given, self.fields)
            hint = f" (is {near} meant?)" if near else ""
            said = f"no field of KubeletConfiguration; the kubelet ignores it in silence{hint}."
        self.ignored.append(f"{place}: {given}: {said}")

    def _resolve_paths(self, place: str) -> None:
        """Relative to the file's folder. A leading slash is relative for old kubelets."""
        folder = windows_path.parent(place) if ":" in place[:2] else ""
        for path in kubelet_config.PATHS:
            value = self.values.get(path)
            if not isinstance(value, str) or not value or not folder:
                continue
            rooted = value[:1] in {"\\", "/"} and self.line >= kubelet_config.ROOTED
            if value[1:3] not in {":\\", ":/"} and not rooted:
                self.values[path] = windows_path.join(folder, value.replace("/", "\\").lstrip("\\"))

    # -- defaults and validation ---------------------------------------------------------------------------------

    def defaults(self) -> None:
        """Put in what is absent, where the line has the field."""
        values = self.values
        report = "nodeStatusReportFrequency"
        if is_zero(values.get(report)):
            given = values.get("nodeStatusUpdateFrequency")
            values[report] = "5m0s" if is_zero(given) else given
        if values.get("serializeImagePulls") is None:
            parallel = values.get("maxParallelImagePulls")
            values["serializeImagePulls"] = not isinstance(parallel, int) or parallel < 2
        for path in self.fields:
            wanted = kubelet_config.default(path, self.line)
            if wanted is None:
                continue
            zero = is_zero(values.get(path)) if path in kubelet_config.WHEN_ZERO else values.get(path) is None
            if zero:
                values[path] = list(wanted) if isinstance(wanted, list) else wanted
        if isinstance(values.get("podPidsLimit"), int) and values["podPidsLimit"] < 0:
            values["podPidsLimit"] = -1
        for path, gate, wanted in _BY_GATE:
            if path in self.fields and not values.get(path) and is_on(gate, values, self.version):
                values[path] = wanted

    def validate(self) -> None:
        """Every rule that the kubelet of this line has, as far as Windows and its settings can break it."""
        self._check_gates()
        for path, since in kubelet_config.REFUSED_ON_WINDOWS.items():
            value = self.values.get(path)
            set_ = value is not None and (path != "defaultPodSysctls" or bool(value))
            if self.line >= since and set_:
                said = f"a kubelet {self.version} ends on it on Windows, whatever its value ({path} is for Linux)."
                self.faults.append(Fault("field", self._place(path), path, said))
        for path, said in broken_rules(self.values, self.line, self.version):
            self.faults.append(Fault("value", self._place(path), path, said))

    def _check_gates(self) -> None:
        for name, value in sorted((self.values.get("featureGates") or {}).items()):
            if isinstance(value, bool) and (said := feature_gates.problem("kubelet", name, value, self.version)):
                key = f"featureGates.{name}"
                self.faults.append(Fault("gate", self.places.get(key, ""), key, said))

    def _place(self, path: str) -> str:
        below = [place for key, place in self.places.items() if key.startswith(f"{path}.")]
        return self.places.get(path) or (below[-1] if below else "the kubelet's default")


def _checked(value: Any, kind: str) -> Any:
    """The value as the kubelet takes it. _WrongTypeError for one of another type."""
    if kind == "bool" and isinstance(value, bool):
        return value
    if kind == "int" and isinstance(value, int) and not isinstance(value, bool):
        return value
    if kind == "float" and isinstance(value, int | float) and not isinstance(value, bool):
        return value
    if kind == "string" and isinstance(value, str):
        return value
    if kind in {"duration", "log-duration"} and isinstance(value, str):
        if (found := nanoseconds(value)) is not None:
            return go_duration(found)
        raise _WrongTypeError(f"{value!r} is not a duration such as 10s or 1m30s")
    if kind == "log-duration" and isinstance(value, int) and not isinstance(value, bool):
        return go_duration(value)
    if kind == "quantity" and isinstance(value, str | int):
        return str(value)
    items = {"strings": str, "ints": int, "objects": dict}
    if kind in items and isinstance(value, list) and all(isinstance(item, items[kind]) for item in value):
        return value
    if kind.endswith("-by-name"):
        raise _WrongTypeError(f"{_shown(value)} is not a mapping")
    words = {
        "bool": "true or false",
        "int": "a whole number",
        "float": "a number",
        "string": "a text (put it in quotes)",
        "duration": "a duration such as 10s",
        "strings": "a list of texts",
        "ints": "a list of whole numbers",
        "objects": "a list of mappings",
    }
    raise _WrongTypeError(f"{_shown(value)} is not {words.get(kind, kind)}")


_WORDS = {"1": True, "t": True, "true": True, "0": False, "f": False, "false": False}


def _of_flag(text: str, kind: str, path: str) -> Any:
    """The value of a flag. _WrongTypeError if it cannot be one."""
    if kind == "bool":
        if text.lower() in _WORDS:
            return _WORDS[text.lower()]
        raise _WrongTypeError(f"{text!r} is not true or false")
    if kind in {"int", "float"}:
        try:
            return int(text) if kind == "int" else float(text)
        except ValueError:
            raise _WrongTypeError(f"{text!r} is not a number") from None
    if kind in {"duration", "log-duration"}:
        return _checked(text, kind)
    if kind == "strings":
        return [part for part in text.strip('"').split(",") if part]
    if kind.endswith("-by-name"):
        sign = "<" if path in {"evictionHard", "evictionSoft"} else "="
        found = dict(part.strip().split(sign, 1) for part in text.split(",") if sign in part)
        if kind != "bools-by-name":
            return found
        return {name.strip(): _WORDS.get(value.strip().lower(), value) for name, value in found.items()}
    if path == "registerWithTaints":
        return [_taint(part) for part in text.split(",") if part]
    if kind == "objects":
        return []
    return text


def _taint(text: str) -> dict[str, str]:
    rest, _colon, effect = text.rpartition(":")
    key, _equals, value = rest.partition("=")
    return {"key": key, "value": value, "effect": effect} if value else {"key": key, "effect": effect}
