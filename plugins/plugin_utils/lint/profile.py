# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The cluster that the manifests are for. Many limits depend on it: more settings give more precise findings."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ..facts.rule_steps import says_yes
from ..facts.taint import Taint
from .model import Severity

OLDEST_MINOR = 22
NEWEST_MINOR = 37
RUNTIMES = ("containerd", "docker")
MODES = ("l2bridge", "overlay")
FAMILIES = ("IPv4", "IPv6")
UNKNOWN_PODS = ("skip", "windows")

# Windows builds by their common names. Sources: Kubernetes documentation, Guide for running Windows containers;
# Microsoft's pages on base images and on version compatibility of containers.
BUILD_NAMES: Mapping[str, int] = {
    "2016": 14393,
    "1709": 16299,
    "1803": 17134,
    "2019": 17763,
    "1809": 17763,
    "1903": 18362,
    "1909": 18363,
    "2004": 19041,
    "20h2": 19042,
    "2022": 20348,
    "23h2": 25398,
    "2025": 26100,
}
BUILD_TITLES: Mapping[int, str] = {
    14393: "Windows Server 2016",
    16299: "Windows Server 1709",
    17134: "Windows Server 1803",
    17763: "Windows Server 2019",
    18362: "Windows Server 1903",
    18363: "Windows Server 1909",
    19041: "Windows Server 2004",
    19042: "Windows Server 20H2",
    20348: "Windows Server 2022",
    25398: "Windows Server 23H2",
    26100: "Windows Server 2025",
}


class SettingError(Exception):
    """An invalid value of a setting; the text is a sentence."""


@dataclass(frozen=True, slots=True)
class Profile:
    """What is known about the cluster.

    `minor`: Kubernetes 1.<minor>. `builds`: the Windows builds of its nodes, empty if unknown. `taint`: what keeps
    other pods off the Windows nodes, None if nothing does or, without `taint_told`, if unknown. `dsr`: None if unknown.
    `ip_families`: the cluster's, empty if unknown. `host_network_gate`: whether the kubelet has WindowsHostNetwork on.
    `unknown_pods`: how to treat pods that do not name their system. `substitute`: whether `${NAME}` and `<name>` are
    filled in before the manifests are applied.
    """

    minor: int = NEWEST_MINOR
    runtime: str = "containerd"
    mode: str = "l2bridge"
    dsr: bool | None = None
    builds: tuple[int, ...] = ()
    taint: Taint | None = None
    taint_told: bool = False
    ip_families: tuple[str, ...] = ()
    host_network_gate: bool = False
    unknown_pods: str = "skip"
    substitute: bool = False
    # The user's severity of a rule or id; None switches it off.
    severities: Mapping[str, Severity | None] = field(default_factory=dict)


def build_title(build: int) -> str:
    return f"{BUILD_TITLES.get(build, 'Windows')} (build {build})"


def _minor(value: Any) -> int:
    # YAML turns an unquoted 1.30 into the number 1.3.
    match = re.fullmatch(r"v?1\.(\d+)(?:\.\d+)?", str(value))
    minor = int(match.group(1)) if match and isinstance(value, str) else -1
    if not OLDEST_MINOR <= minor <= NEWEST_MINOR:
        raise SettingError(
            f"is {value!r}; it has to be a quoted Kubernetes version from '1.{OLDEST_MINOR}' to '1.{NEWEST_MINOR}'"
        )
    return minor


def _build(value: Any) -> int:
    text = str(value).lower().removeprefix("10.0.").removeprefix("ltsc")
    if text in BUILD_NAMES:
        return BUILD_NAMES[text]
    if re.fullmatch(r"\d{5}", text):
        return int(text)
    raise SettingError(
        f"holds {value!r}; a build is a number such as 20348, 10.0.20348, or a name such as 2022, ltsc2019, 20H2"
    )


def _taint(value: Any) -> Taint | None:
    if value in ("", None, False, "none"):
        return None
    match = re.fullmatch(r"([^=:]+)=([^=:]*):(NoSchedule|PreferNoSchedule|NoExecute)", str(value))
    if match is None:
        raise SettingError(f"is {value!r}; a taint is key=value:NoSchedule, or 'none' if the Windows nodes carry none")
    return Taint(*match.groups())


def _choice(value: Any, allowed: tuple[str, ...]) -> str:
    for each in allowed:
        if str(value).lower() == each.lower():
            return each
    raise SettingError(f"is {value!r}; it has to be one of {', '.join(allowed)}")


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise SettingError(f"is {value!r}; it has to be true or false")
    return value


def _split_values(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [part for part in str(value).split(",") if part.strip()]


def _read_switched_off(value: Any) -> dict[str, Severity | None]:
    return dict.fromkeys(map(str, _split_values(value)))


def _severities(value: Any) -> dict[str, Severity | None]:
    """From `RULE=warning,RULE=info`, or from a mapping."""
    pairs = (
        value.items()
        if isinstance(value, Mapping)
        else (str(each).partition("=")[::2] for each in _split_values(value))
    )
    names = {severity.name.lower(): severity for severity in Severity}
    found: dict[str, Severity | None] = {}
    for rule, name in pairs:
        if str(name).lower() not in names:
            raise SettingError(f"says {name!r} for {rule}; a severity is error, warning or info")
        found[str(rule)] = names[str(name).lower()]
    return found


_READERS: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "profile": ("minor", _minor),
    "runtime": ("runtime", lambda value: _choice(value, RUNTIMES)),
    "mode": ("mode", lambda value: _choice(value, MODES)),
    "dsr": ("dsr", _flag),
    "builds": ("builds", lambda value: tuple(_build(part) for part in _split_values(value))),
    "taint": ("taint", _taint),
    "ip_families": ("ip_families", lambda value: tuple(_choice(part, FAMILIES) for part in _split_values(value))),
    "host_network_gate": ("host_network_gate", _flag),
    "disable": ("severities", _read_switched_off),
    "severity": ("severities", _severities),
    "substitute": ("substitute", _flag),
    "unknown_pods": ("unknown_pods", lambda value: _choice(value, UNKNOWN_PODS)),
}
SETTINGS = tuple(_READERS)


def apply_settings(profile: Profile, settings: Mapping[str, Any]) -> Profile:
    """The profile with these settings, named as the module's options. Raises SettingError."""
    changes: dict[str, Any] = {}
    earlier: dict[str, Severity | None] = {}
    for name, value in settings.items():
        if name not in _READERS:
            raise SettingError(f"{name}: unknown setting; known settings are {', '.join(SETTINGS)}")
        target, read = _READERS[name]
        try:
            changes[target] = read(value)
            if target == "severities":
                known = {**profile.severities, **earlier}
                earlier = known | changes[target]
                changes[target] = earlier
        except SettingError as error:
            raise SettingError(f"{name} {error}.") from None
    if "taint" in changes:
        changes["taint_told"] = True
    changed = replace(profile, **changes)
    if changed.runtime == "docker" and not says_yes("dockershim", changed.minor):
        raise SettingError(
            f"runtime is docker, but Kubernetes 1.{changed.minor} has no dockershim (removed in 1.24): set"
            f" runtime to containerd, or"
            " profile to the version of the cluster."
        )
    return changed
