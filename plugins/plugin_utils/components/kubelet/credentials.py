# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Credential providers: programs that the kubelet asks for a registry's credentials, such as those of ECR, ACR and GAR.

The kubelet does not start if a provider is missing or their file is invalid, and it asks none for an image that matches
no pattern. So all of this is checked before anything is sent.

Sources: kubernetes v1.24.17, v1.26.15, v1.29.15, v1.30.14, v1.32.13, v1.34.4, v1.37.1
pkg/credentialprovider/plugin/{plugin,config}.go; kubelet v0.24.17 to v0.37.1 config/v1*/types.go.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...engine import security, windows_path
from ...engine.reading import Query
from ...engine.resource import Refused, Resource
from ...engine.resources.directory import Directory
from ...engine.resources.file import File, is_same_json
from ...engine.resources.programs import Programs, Source
from ...facts import feature_gates
from ...facts.version import Line, Version
from ..layout import Layout
from .duration import duration
from .options import CredentialProvider

OPTION = "credential_providers"
SINCE = Line(1, 24)
"""The first minor release with the kubelet's feature on; in 1.22 and 1.23 it is alpha."""
STABLE = Line(1, 26)
"""The first minor release with v1 of both APIs; earlier ones have v1beta1."""
CACHE_TYPE = Line(1, 34)
"""The first minor release whose tokenAttributes have cacheType, and require it."""
TOKEN_GATE = "KubeletServiceAccountTokenForCredentialProviders"
API = "credentialprovider.kubelet.k8s.io"
VERSIONS = ("v1", "v1beta1", "v1alpha1")
CACHE_TYPES = ("ServiceAccount", "Token")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_HOST = re.compile(r"[^/:\s]+(?::\d+)?")
_ATTRIBUTES = {
    "serviceAccountTokenAudience": str,
    "requireServiceAccount": bool,
    "cacheType": str,
    "requiredServiceAccountAnnotationKeys": list,
    "optionalServiceAccountAnnotationKeys": list,
}


@dataclass(frozen=True, slots=True)
class Provider:
    """One program, and where it comes from."""

    option: CredentialProvider
    source: Source

    @property
    def name(self) -> str:
        return self.option.name


def folder(layout: Layout) -> str:
    """The folder of the programs, with nothing else in it."""
    return windows_path.join(layout.root, "credential-providers")


def program(layout: Layout, name: str) -> str:
    """The path of a provider's program."""
    return windows_path.join(folder(layout), file_name(name))


def file_name(name: str) -> str:
    """The program's file name, with its ending also in the kubelet's file: up to 1.29 the kubelet looks for exactly
    this name."""
    return name if name.casefold().endswith(".exe") else f"{name}.exe"


def config_file(layout: Layout) -> str:
    """The path of the CredentialProviderConfig."""
    return windows_path.join(layout.kubernetes_dir, "credential-providers.json")


def text(wanted: Sequence[Provider], version: Version) -> str:
    """The kubelet's file as JSON, which is YAML as well."""
    newest = "v1" if version.line >= STABLE else "v1beta1"
    found = {
        "kind": "CredentialProviderConfig",
        "apiVersion": f"kubelet.config.k8s.io/{newest}",
        "providers": [_entry(one.option, newest) for one in wanted],
    }
    return json.dumps(found, indent=2) + "\n"


def _entry(one: CredentialProvider, newest: str) -> dict[str, Any]:
    found: dict[str, Any] = {
        "name": file_name(one.name),
        "matchImages": list(one.match_images),
        "defaultCacheDuration": one.cache_duration,
        "apiVersion": f"{API}/{one.api_version or newest}",
    }
    if one.args:
        found["args"] = list(one.args)
    if one.env:
        found["env"] = [{"name": str(name), "value": str(value)} for name, value in sorted(one.env.items())]
    if one.token_attributes:
        found["tokenAttributes"] = dict(one.token_attributes)
    return found


def build_resources(layout: Layout, wanted: Sequence[Provider], version: Version, mark: str) -> tuple[Resource, ...]:
    """Folder, programs, file. Nothing without providers."""
    if not wanted:
        return ()
    return (
        Directory(folder(layout), sddl=security.ADMINS_WRITE),
        *(_program(layout, one.name, one.source, mark) for one in wanted),
        File(config_file(layout), text(wanted, version).encode(), backup=layout.backup(mark), equal=is_same_json),
    )


def uses(layout: Layout, wanted: Sequence[Provider]) -> tuple[str, ...]:
    """What a running kubelet must be restarted for: it reads its file once, but starts the program for each
    question."""
    return (config_file(layout),) if wanted else ()


def reads(layout: Layout) -> tuple[Query, ...]:
    """Everything that `build_resources` reads for the layout's providers."""
    resources: tuple[Resource, ...] = (
        Directory(folder(layout), sddl=security.ADMINS_WRITE),
        *(_program(layout, name, Source("", None, ""), "") for name in layout.credential_providers),
        File(config_file(layout), b"", backup=""),
    )
    return tuple(query for resource in resources for query in resource.reads()) if layout.credential_providers else ()


def _program(layout: Layout, name: str, source: Source, mark: str) -> Programs:
    return Programs(f"credential-provider-{name}", source, (("", program(layout, name)),), layout.state_dir, mark[:8])


def check(wanted: Sequence[Provider], version: Version, gates: Mapping[str, bool]) -> None:
    """Refused with one sentence for each reason why a kubelet of this release would end, or why no image would ever
    match."""
    if not wanted:
        return
    line = version.line
    if line < SINCE:
        raise Refused(
            f"{OPTION}: a kubelet {version} asks no credential providers (from {SINCE} on it does); use "
            "imagePullSecrets, or credentials in winkube_registries."
        )
    names = [file_name(one.name).casefold() for one in wanted]
    problems = [
        f"{OPTION}: {name} appears twice; keep one." for name in sorted({n for n in names if names.count(n) > 1})
    ]
    problems += [sentence for one in wanted for sentence in _problems(one.option, line, gates)]
    if problems:
        raise Refused(*problems)


def _problems(one: CredentialProvider, line: Line, gates: Mapping[str, bool]) -> list[str]:
    where = f"{OPTION}, {one.name}"
    found = []
    if not _NAME.fullmatch(one.name):
        found.append(f"{OPTION}: '{one.name}' is not a program's name, such as ecr-credential-provider.")
    if one.api_version and (one.api_version not in VERSIONS or (one.api_version == "v1" and line < STABLE)):
        known = VERSIONS if line >= STABLE else VERSIONS[1:]
        found.append(f"{where}: api_version {one.api_version}: a kubelet {line} knows {', '.join(known)}.")
    if not one.match_images:
        found.append(f"{where}: match_images is empty; give at least one pattern, such as *.dkr.ecr.*.amazonaws.com.")
    found += [f"{where}: match_images {image!r}: {why}" for image in one.match_images if (why := _pattern(image))]
    seconds = duration(one.cache_duration)
    if seconds is None or seconds < 0:
        found.append(f"{where}: cache_duration '{one.cache_duration}' is not a duration such as 12h, 30m or 0s.")
    if one.token_attributes:
        found += [f"{where}: token_attributes: {why}" for why in _token_problems(one, line, gates)]
    return found


def _pattern(image: str) -> str:
    """Why no image can match this pattern. `*` matches within one part of the host between dots; a path is a literal
    prefix; a port has only digits. Source: kubernetes v1.37.1 pkg/credentialprovider/keyring.go, ParseSchemelessURL,
    URLsMatch."""
    host, _slash, path = image.partition("/")
    if "://" in image:
        return "leave out the scheme."
    if not _HOST.fullmatch(host) or re.search(r"\s", image):
        return "this is not a host with a numeric port and the start of a path, such as registry.example.com:5000/team."
    if "*" in path:
        return "a * in a path stands for itself; write only the start of the path."
    if ":" in path or "@" in path:
        return "tags and digests are not looked at; leave them out."
    return ""


def _token_problems(one: CredentialProvider, line: Line, gates: Mapping[str, bool]) -> list[str]:
    given, found = one.token_attributes, []
    gate = feature_gates.gate("kubelet", TOKEN_GATE, line)
    if gate is None and line < CACHE_TYPE:
        return [f"a kubelet {line} hands no tokens to providers (from {CACHE_TYPE} on it does)."]
    if not gates.get(TOKEN_GATE, gate.default if gate else True):
        return [f"the kubelet refuses them while its feature gate {TOKEN_GATE} is off."]
    known = {name: kind for name, kind in _ATTRIBUTES.items() if name != "cacheType" or line >= CACHE_TYPE}
    found += [f"{name} is not one of {', '.join(known)}." for name in sorted(given) if name not in known]
    found += [
        f"{name} should be {kind.__name__}, not {given[name]!r}."
        for name, kind in known.items()
        if name in given and not isinstance(given[name], kind)
    ]
    if not given.get("serviceAccountTokenAudience"):
        found.append("serviceAccountTokenAudience is missing: for whom the token is.")
    if "requireServiceAccount" not in given:
        found.append("requireServiceAccount is missing: true or false.")
    elif given["requireServiceAccount"] is False and given.get("requiredServiceAccountAnnotationKeys"):
        found.append("requiredServiceAccountAnnotationKeys want requireServiceAccount: true.")
    if "cacheType" in known and given.get("cacheType") not in CACHE_TYPES:
        found.append(f"cacheType has to be one of {', '.join(CACHE_TYPES)}.")
    if one.api_version not in ("", "v1"):
        found.append(f"only {API}/v1 has them.")
    return found
