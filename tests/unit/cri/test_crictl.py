"""crictl.exe and crictl.yaml: brought to the node where somebody says where from."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from ansible_collections.winkube.node.plugins.plugin_utils.components.containerd import component, containerd, crictl
from ansible_collections.winkube.node.plugins.plugin_utils.engine.plan import make_plan
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused, Resource
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources.programs import Programs, Source

from tests.unit.components.nodes import LAYOUT, bare, given, lines

ROLES = Path(__file__).resolve().parents[3] / "roles"
BIN = r"C:\Program Files\containerd\bin"
URL = "https://example.com/crictl-v1.37.0-windows-amd64.tar.gz"


def asked(url: str, checksum: str = "sha256:" + "a" * 64) -> tuple[Resource, ...]:
    options = {
        "version": "2.3.7",
        "crictl_source": {"url": url, "version": "1.37.0", "checksum": checksum},
        "source": {"proxy": ""},
        "allow_unverified": [],
    }
    return component.crictl_files(given("containerd", options, bare(containerd.reads(LAYOUT))))


@pytest.mark.row("CT-16", "CT-21")
def test_the_program_and_its_file_beside_containerd() -> None:
    program, file = asked(URL)
    assert isinstance(program, Programs)
    assert program.files == (("crictl.exe", rf"{BIN}\crictl.exe"),)
    assert program.source == Source(URL, "a" * 64, "1.37.0")
    assert file.label == rf"{BIN}\crictl.yaml"
    assert yaml.safe_load(crictl.config(LAYOUT)) == {
        "runtime-endpoint": "npipe:////./pipe/containerd-containerd",
        "image-endpoint": "npipe:////./pipe/containerd-containerd",
        "timeout": 10,
    }
    (alone, _file) = asked("https://example.com/crictl.exe")
    assert isinstance(alone, Programs) and alone.files == (("", rf"{BIN}\crictl.exe"),)


@pytest.mark.row("CT-21")
def test_it_is_optional_and_wants_a_checksum() -> None:
    assert asked("") == ()
    role = yaml.safe_load((ROLES / "containerd" / "defaults" / "main.yml").read_text(encoding="utf-8"))
    assert (role["winkube_crictl_url"], role["winkube_crictl_checksum"]) == ("", "")
    with pytest.raises(Refused, match=r"crictl: the source .* has no checksum"):
        asked(URL, checksum="")


@pytest.mark.row("CT-21")
def test_nothing_restarts_for_it() -> None:
    wanted = asked(URL)
    plan = make_plan("containerd", wanted, bare(containerd.reads(LAYOUT)))
    assert plan.batch is not None
    done = lines(plan.batch.ops)
    assert any(line.startswith("unpack ") for line in done) and rf"write {BIN}\crictl.yaml" in done
    assert not any("sc.exe" in line for line in done)
