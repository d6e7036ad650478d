"""Options as they are meant: plain values, and releases without the v of their tags."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleActionFail
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template
from ansible_collections.winkube.node.plugins.plugin_utils.task.argument_spec import (
    check_arguments,
    normalize,
)

ROLES = Path(__file__).resolve().parents[3] / "roles"


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ({"version": "v1.37.1"}, {"version": "1.37.1"}),
        ({"kubernetes_version": " v1.37.1 "}, {"kubernetes_version": "1.37.1"}),
        ({"flannel_version": "v1.2.0-flannel1"}, {"flannel_version": "1.2.0-flannel1"}),
        ({"items": [{"name": "kubelet", "version": "v1.30.0"}]}, {"items": [{"name": "kubelet", "version": "1.30.0"}]}),
        ({"source": {"version": "v2", "url": "https://x/v2"}}, {"source": {"version": "2", "url": "https://x/v2"}}),
        ({"version": "vault", "name": "v1"}, {"version": "vault", "name": "v1"}),
        ({"labels": {"version": "v1"}}, {"labels": {"version": "v1"}}),
    ],
)
def test_a_release_is_meant_where_the_tag_is_written(given: dict[str, Any], wanted: dict[str, Any]) -> None:
    release = {"version": {"type": "str"}, "name": {"type": "str"}, "url": {"type": "str"}}
    spec = release | {"items": {"type": "list", "options": release}, "source": {"type": "dict", "options": release}}
    assert normalize(given, spec) == wanted


def test_an_option_that_is_not_there_is_a_sentence() -> None:
    """A typo in a key of winkube_cluster was answered with "cluster.kubeconfg. Supported parameters ..." alone."""
    with pytest.raises(AnsibleActionFail) as raised:
        check_arguments("win_k8s_join", {"node_name": "win1", "version": "1.37.1", "cluster": {"kubeconfg": "x"}})
    assert "Unsupported parameters for (winkube.node.win_k8s_join) module: cluster.kubeconfg." in str(raised.value)


def _defaults() -> dict[str, Any]:
    found: dict[str, Any] = {"inventory_hostname": "win1"}
    for path in ROLES.glob("*/defaults/main.yml"):
        found |= yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


DEFAULTS = _defaults()
ADDRESSES = sorted(
    name
    for name, default in DEFAULTS.items()
    if name.endswith(("_url", "_checksum")) and re.search(r"winkube_\w+_version\b", str(default))
)


def _filled(name: str, releases: dict[str, str]) -> str:
    trusted = {key: trust_as_template(each) if isinstance(each, str) else each for key, each in DEFAULTS.items()}
    return str(Templar(DataLoader(), variables=trusted | releases).template(trusted[name]))


@pytest.mark.parametrize("name", ADDRESSES)
def test_a_tag_gives_the_address_that_its_release_gives(name: str) -> None:
    releases = {key: str(each) or "1.37.1" for key, each in DEFAULTS.items() if key.endswith("_version")}
    tags = {key: f"v{release}" for key, release in releases.items()}
    assert re.search(r"\d\.\d", address := _filled(name, releases)), "the release is in the address"
    assert _filled(name, tags) == address
