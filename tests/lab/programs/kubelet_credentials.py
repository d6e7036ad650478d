"""kubelet.exe's credential providers, judged by kubernetes v1.37.1 pkg/credentialprovider/plugin/plugin.go.

What a kubelet wants of its credential providers before it starts.

Sources: kubernetes pkg/kubelet/kubelet.go (NewMainKubelet), pkg/credentialprovider/plugin/{plugin,config}.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from tests.lab.cluster.client import windows
from tests.lab.machine.errors import WinError
from tests.lab.programs.daemon import ExitError
from tests.lab.programs.flags import Flags

if TYPE_CHECKING:
    from tests.lab.machine.node import SimulatedNode

LOOKS_FOR_ENDINGS = 30
"""The first minor that finds NAME.exe for NAME."""


def register(node: SimulatedNode, minor: int, flags: Flags) -> None:
    """ExitError where the kubelet would end."""
    config, folder = (flags.text(f"image-credential-provider-{what}") for what in ("config", "bin-dir"))
    if not config or not folder:
        return
    failed = "failed to run Kubelet: failed to register CRI auth plugins: "
    where = windows(folder, "C:\\")
    if not node.drive.is_dir(where):
        raise ExitError(f"{failed}plugin binary directory {folder} did not exist")
    try:
        found = yaml.safe_load(node.drive.read(windows(config, "C:\\")).decode())
    except (WinError, yaml.YAMLError) as error:
        raise ExitError(f"{failed}unable to read credential provider configuration: {error}") from error
    known = ("v1alpha1", "v1beta1", "v1")[: 3 if minor >= 26 else 2 if minor >= 24 else 1]
    group, _slash, version = str(found.get("apiVersion")).partition("/")
    if found.get("kind") != "CredentialProviderConfig" or group != "kubelet.config.k8s.io" or version not in known:
        raise ExitError(f'{failed}no kind "{found.get("kind")}" is registered for version "{found.get("apiVersion")}"')
    providers = found.get("providers") or []
    if not providers:
        raise ExitError(f"{failed}failed to validate credential provider config: providers: Required value")
    for one in providers:
        _check(node, minor, where, one, failed, known)


def _check(
    node: SimulatedNode, minor: int, folder: str, one: dict[str, Any], failed: str, known: tuple[str, ...]
) -> None:
    for name in ("apiVersion", "matchImages", "defaultCacheDuration"):
        if not one.get(name):
            raise ExitError(f"{failed}failed to validate credential provider config: providers.{name}: Required value")
    if one["apiVersion"] not in [f"credentialprovider.kubelet.k8s.io/{version}" for version in known]:
        raise ExitError(f"{failed}providers.apiVersion: Unsupported value: {one['apiVersion']!r}")
    path = f"{folder}\\{one['name']}"
    endings = ("", ".exe") if minor >= LOOKS_FOR_ENDINGS else ("",)
    if not any(node.drive.is_file(f"{path}{ending}") for ending in endings):
        raise ExitError(f"{failed}plugin binary executable {path} did not exist")
