"""Real containerd reads our config.toml, and does with wrong ones what our check says it does.

The expectations about places are written out here and are not taken from the tables: the binary is their judge.
"""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import jinja2
import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.containerd.containerd_config import (
    Containerd,
    check,
    problems,
    template_variables,
)
from ansible_collections.winkube.node.plugins.plugin_utils.facts import containerd as facts
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Version

from tests.real import build
from tests.real.conftest import RealContainerd
from tests.unit.components.nodes import wanted_containerd

TEMPLATE = Path(__file__).parents[2] / "roles" / "containerd" / "templates" / "config.toml.j2"
PIPE = r"\\.\pipe\winkube-test"
CERTS = r"C:\ProgramData\containerd\certs.d"

MAJOR_1 = [build.DEBIAN, *(version for version in build.CONTAINERD_VERSIONS if version.startswith("1."))]
MAJOR_2 = [version for version in build.CONTAINERD_VERSIONS if version.startswith("2.")]
CONFIG_4 = [version for version in MAJOR_2 if version.startswith(("2.3.", "2.4."))]
# Which containerd reads which older file of ours: the one we write for the other version.
OLDER = [
    *((version, "1.7.35", 2) for version in MAJOR_2),
    *((version, "2.1.9", 3) for version in MAJOR_2 if version not in ("2.0.14", "2.1.9")),
    ("2.4.2", "2.3.7", 4),
]


def wanted_of(containerd: RealContainerd) -> Containerd:
    registries = [{"host": "docker.io", "mirrors": [{"url": "https://mirror.example.com"}]}]
    image = "mcr.microsoft.com/oss/v2/kubernetes/pause:3.10.2"
    places: dict[str, Any] = {"containerd_pipe": "winkube-test", "certs_dir": CERTS, "cni_bin_dir": r"C:\k\cni"}
    told = wanted_containerd(containerd.version, image, log_level="debug", registries=registries, **places)
    wanted = replace(told, root=r"D:\ctd\root", state=r"D:\ctd\state")
    assert problems(wanted) == []
    return wanted


def render(wanted: Containerd) -> str:
    jinja = jinja2.Environment(trim_blocks=True, keep_trailing_newline=True, undefined=jinja2.StrictUndefined)
    return jinja.from_string(TEMPLATE.read_text()).render(template_variables(wanted))


def written(tmp_path: Path, text: str) -> Path:
    file = tmp_path / "config.toml"
    file.write_text(text)
    return file


@pytest.fixture
def rendered(containerd: RealContainerd, tmp_path: Path) -> Path:
    file = written(tmp_path, render(wanted_of(containerd)))
    assert check(file.read_text(), wanted_of(containerd)) == []
    return file


def cri(dump: dict[str, Any]) -> dict[str, Any]:
    """The settings of CRI in the dump of any version, under the names of config version 2."""
    plugins = dump["plugins"]
    if dump["version"] == 2:
        one: dict[str, Any] = plugins["io.containerd.grpc.v1.cri"]
        return one
    images, runtime = plugins["io.containerd.cri.v1.images"], plugins["io.containerd.cri.v1.runtime"]
    return {
        "sandbox_image": images["pinned_images"]["sandbox"],
        "registry": images["registry"],
        "cni": runtime["cni"],
        "containerd": {**runtime["containerd"], "snapshotter": images["snapshotter"]},
        "disable_tcp_service": plugins["io.containerd.grpc.v1.cri"]["disable_tcp_service"],
    }


def pipe(dump: dict[str, Any]) -> dict[str, Any]:
    table: dict[str, Any] = dump["plugins"]["io.containerd.server.v1.grpc"] if dump["version"] == 4 else dump["grpc"]
    return table


@pytest.mark.row("CT-03", "CT-04")
def test_pipe_and_gid(containerd: RealContainerd, rendered: Path) -> None:
    dump = containerd.dump(rendered)
    assert pipe(dump)["address"] == PIPE
    assert pipe(dump)["gid"] == 0


@pytest.mark.row("CT-07", "CT-51")
def test_our_version_is_the_newest_that_this_containerd_writes_itself(
    containerd: RealContainerd, rendered: Path
) -> None:
    done = containerd.run(rendered)
    assert tomllib.loads(done.stdout)["version"] == tomllib.loads(rendered.read_text())["version"]
    assert "migrated" not in done.stderr
    assert "deprecated" not in done.stderr
    assert "Ignoring unknown key" not in done.stderr


@pytest.mark.row("CT-20", "CT-48")
def test_pause_image_and_cni_folders(containerd: RealContainerd, rendered: Path) -> None:
    found = cri(containerd.dump(rendered))
    assert found["sandbox_image"] == "mcr.microsoft.com/oss/v2/kubernetes/pause:3.10.2"
    assert found["cni"].get("bin_dirs") or [found["cni"]["bin_dir"]] == [r"C:\k\cni"]
    assert found["cni"]["conf_dir"] == r"C:\k\cni\config"
    assert found["containerd"]["snapshotter"] == "windows"
    assert found["containerd"]["default_runtime_name"] == "runhcs-wcow-process"
    assert found["registry"]["config_path"] == CERTS


@pytest.mark.row("CT-45")
def test_log_level_and_folders(containerd: RealContainerd, rendered: Path) -> None:
    dump = containerd.dump(rendered)
    assert dump["debug"]["level"] == "debug"
    assert (dump["root"], dump["state"]) == (r"D:\ctd\root", r"D:\ctd\state")


def test_tcp_stays_off(containerd: RealContainerd, rendered: Path) -> None:
    dump = containerd.dump(rendered)
    tcp = (
        dump["plugins"]
        .get("io.containerd.server.v1.grpc-tcp", {})
        .get("address", dump.get("grpc", {}).get("tcp_address"))
    )
    assert tcp == ""
    assert cri(dump)["disable_tcp_service"] is True


@pytest.mark.parametrize("containerd", MAJOR_2, indirect=True)
def test_the_shims_pipe_stands_beside_the_pipe(containerd: RealContainerd, rendered: Path) -> None:
    """Before version 4 an empty address means just that."""
    dump = containerd.dump(rendered)
    shims = dump["plugins"]["io.containerd.server.v1.ttrpc"] if dump["version"] == 4 else dump["ttrpc"]
    assert shims["address"] == (f"{PIPE}.ttrpc" if dump["version"] == 4 else "")


@pytest.mark.row("CT-51")
@pytest.mark.parametrize(("containerd", "written_for", "version"), OLDER, indirect=["containerd"])
def test_files_of_an_older_version_are_migrated_and_mean_the_same(
    containerd: RealContainerd, written_for: str, version: int, tmp_path: Path
) -> None:
    wanted = wanted_of(containerd)
    file = written(tmp_path, render(replace(wanted, options=replace(wanted.options, version=written_for))))
    assert tomllib.loads(file.read_text())["version"] == version
    assert check(file.read_text(), wanted) == []
    dump = containerd.dump(file, "migrate")
    assert pipe(dump)["address"] == PIPE
    assert cri(dump)["sandbox_image"] == wanted.sandbox_image
    assert cri(dump)["cni"]["conf_dir"] == wanted.layout.cni_conf_dir


# --- what our check says about wrong files is what containerd does ----------------------------------------------------


@pytest.mark.row("CT-03")
def test_single_backslashes_in_double_quotes_are_refused(containerd: RealContainerd, tmp_path: Path) -> None:
    text = 'version = 2\n[grpc]\n  address = "\\\\.\\pipe\\containerd-containerd"\n'
    assert check(text, wanted_of(containerd))[0].startswith("line 3, column ")
    done = containerd.run(written(tmp_path, text))
    assert done.returncode != 0
    assert "escape" in done.stderr


@pytest.mark.row("CT-07")
@pytest.mark.parametrize("containerd", MAJOR_1, indirect=True)
def test_without_version_the_table_of_cri_is_ignored_in_1(containerd: RealContainerd, tmp_path: Path) -> None:
    text = '[plugins."io.containerd.grpc.v1.cri"]\n  sandbox_image = "ours:1"\n'
    assert check(text, wanted_of(containerd))[0].startswith("There is no `version` line")
    assert "ours:1" not in containerd.run(written(tmp_path, text)).stdout
    assert "ours:1" in containerd.run(written(tmp_path, "version = 2\n" + text)).stdout


@pytest.mark.row("CT-07")
def test_a_plugin_name_of_version_1(containerd: RealContainerd, tmp_path: Path) -> None:
    text = 'version = 2\n[plugins.cri]\n  sandbox_image = "ours:1"\n'
    (sentence,) = [line for line in check(text, wanted_of(containerd)) if "[plugins.cri]" in line]
    done = containerd.run(written(tmp_path, text))
    if "would not start" in sentence:
        assert done.returncode != 0
        assert 'invalid plugin key URI "cri"' in done.stderr
    else:
        assert cri(tomllib.loads(done.stdout))["sandbox_image"] != "ours:1"


@pytest.mark.row("CT-51")
def test_a_version_that_is_too_new_is_refused(containerd: RealContainerd, tmp_path: Path) -> None:
    newest = facts.release_line(Version.parse(containerd.version)).config_version
    text = f"version = {newest + 1}\n"
    assert f"reads at most version {newest}" in check(text, wanted_of(containerd))[0]
    done = containerd.run(written(tmp_path, text))
    # 1.6.20 does not look at the number yet and reads the file as version 2; later releases refuse it.
    assert (done.returncode != 0) == (Version.parse(containerd.version) > Version.parse("1.6.20"))


@pytest.mark.parametrize("containerd", CONFIG_4, indirect=True)
def test_grpc_is_not_read_in_a_file_of_version_4(containerd: RealContainerd, tmp_path: Path) -> None:
    text = f"version = 4\n[grpc]\n  address = '{PIPE}'\n"
    assert [line for line in check(text, wanted_of(containerd)) if "does not read [grpc] address" in line]
    dump = containerd.dump(written(tmp_path, text))
    assert dump["plugins"]["io.containerd.server.v1.grpc"]["address"] != PIPE


@pytest.mark.parametrize("containerd", MAJOR_2, indirect=True)
def test_the_place_of_version_2_is_not_read_in_a_file_of_the_newest(containerd: RealContainerd, tmp_path: Path) -> None:
    newest = facts.release_line(Version.parse(containerd.version)).config_version
    text = f'version = {newest}\n[plugins."io.containerd.grpc.v1.cri"]\n  sandbox_image = "ours:1"\n'
    assert [line for line in check(text, wanted_of(containerd)) if "sandbox_image in a file of version" in line]
    assert cri(containerd.dump(written(tmp_path, text)))["sandbox_image"] != "ours:1"


@pytest.mark.parametrize("key", ["bin_dir", "bin_dirs"])
@pytest.mark.parametrize("containerd", MAJOR_2, indirect=True)
def test_which_of_bin_dir_and_bin_dirs_is_read(containerd: RealContainerd, key: str, tmp_path: Path) -> None:
    newest = facts.release_line(Version.parse(containerd.version)).config_version
    value = "['C:\\k\\cni']" if key == "bin_dirs" else "'C:\\k\\cni'"
    table = '[plugins."io.containerd.cri.v1.runtime".cni]'
    text = f"version = {newest}\n{table}\n{key} = {value}\n"
    ignored = [line for line in check(text, wanted_of(containerd)) if f"cni] {key} in a file" in line]
    found = cri(containerd.dump(written(tmp_path, text)))["cni"]
    read = (found.get("bin_dirs") if key == "bin_dirs" else found.get("bin_dir")) in (["C:\\k\\cni"], "C:\\k\\cni")
    assert read == (not ignored)


@pytest.mark.parametrize("said", [True, False])
def test_drop_ins_are_read_only_if_the_file_names_them(containerd: RealContainerd, said: bool, tmp_path: Path) -> None:
    """And in 2.x they change single keys, in 1.x they wipe out the rest of the plugin's table."""
    line = facts.release_line(Version.parse(containerd.version))
    one = line.places[2].sandbox_image[:-1]
    table = ".".join(part if "." not in part else f'"{part}"' for part in one)
    drop_in = tmp_path / "conf.d" / "x.toml"
    drop_in.parent.mkdir()
    drop_in.write_text(f"version = 2\n[{table}]\n  enable_selinux = true\n")
    imports = f"imports = ['{containerd.path(drop_in.parent / '*.toml')}']\n" if said else ""
    text = f"version = 2\n{imports}[{table}]\n  sandbox_image = 'ours:1'\n"
    done = containerd.run(written(tmp_path, text))
    assert done.returncode == 0
    assert ("enable_selinux = true" in done.stdout) == said
    assert ("ours:1" in done.stdout) == (line.drop_ins_merge or not said)
