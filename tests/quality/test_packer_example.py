"""examples/packer as far as it can be checked without a machine: form, the plugins' options, the files it names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import hcl2
import pytest
import yaml

from tests.quality.sanity import ROOT

FOLDER = ROOT / "examples" / "packer"
TEMPLATE = FOLDER / "windows-node.pkr.hcl"
TEXT = TEMPLATE.read_text(encoding="utf-8")
# Source: hashicorp/packer-plugin-qemu v1.1.4 builder/qemu/config.hcl2spec.go (those that are used, and some besides).
QEMU = frozenset(
    {
        "accelerator",
        "boot_command",
        "boot_wait",
        "cd_content",
        "cd_files",
        "cd_label",
        "communicator",
        "cores",
        "cpus",
        "disk_additional_size",
        "disk_cache",
        "disk_interface",
        "disk_size",
        "efi_boot",
        "efi_drop_efivars",
        "efi_firmware_code",
        "efi_firmware_vars",
        "format",
        "headless",
        "iso_checksum",
        "iso_url",
        "iso_urls",
        "machine_type",
        "memory",
        "net_bridge",
        "net_device",
        "output_directory",
        "qemuargs",
        "shutdown_command",
        "shutdown_timeout",
        "ssh_password",
        "ssh_private_key_file",
        "ssh_timeout",
        "ssh_username",
        "vm_name",
        "vtpm",
    }
)
# Source: hashicorp/packer-plugin-ansible v1.1.6 provisioner/ansible/provisioner.hcl2spec.go.
ANSIBLE = frozenset(
    {
        "ansible_env_vars",
        "ansible_proxy_key_type",
        "ansible_ssh_extra_args",
        "ansible_winrm_use_http",
        "collections_path",
        "command",
        "empty_groups",
        "extra_arguments",
        "galaxy_command",
        "galaxy_file",
        "groups",
        "host_alias",
        "inventory_directory",
        "inventory_file",
        "inventory_file_template",
        "keep_inventory_file",
        "local_port",
        "playbook_file",
        "roles_path",
        "sftp_command",
        "skip_version_check",
        "use_proxy",
        "use_sftp",
        "user",
    }
)
# Source: developer.hashicorp.com, Packer, file provisioner.
FILE = frozenset({"content", "destination", "direction", "generated", "source", "sources"})
DISKS = {"ide", "sata", "scsi", "sd", "virtio", "virtio-scsi"}


def plain(value: Any) -> Any:
    """Without the marks of the parser: quotes around names and texts, and where a block is."""
    if isinstance(value, dict):
        return {plain(key): plain(each) for key, each in value.items() if not str(key).startswith("__")}
    if isinstance(value, list):
        return [plain(each) for each in value]
    return value.strip('"') if isinstance(value, str) else value


@pytest.fixture(scope="module")
def template() -> dict[str, Any]:
    found: dict[str, Any] = plain(hcl2.loads(TEXT))
    return found


def provisioners(template: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    (build,) = template["build"]
    return [each[kind] for each in build["provisioner"] if kind in each]


def test_every_option_is_one_of_its_plugin(template: dict[str, Any]) -> None:
    (source,) = template["source"]
    assert source["qemu"]["node"].keys() <= QEMU
    (ansible,) = provisioners(template, "ansible")
    assert ansible.keys() <= ANSIBLE
    files = provisioners(template, "file")
    assert len(files) == 2 and all(each.keys() <= FILE for each in files)
    assert source["qemu"]["node"]["disk_interface"] in DISKS
    assert source["qemu"]["node"]["communicator"] == "ssh" and ansible["use_proxy"] is False
    assert ansible["groups"] == ["windows_nodes"]
    (wanted,) = template["packer"]
    plugins = {"qemu": "github.com/hashicorp/qemu", "ansible": "github.com/hashicorp/ansible"}
    assert {name: each["source"] for name, each in wanted["required_plugins"][0].items()} == plugins


def test_every_variable_that_is_used_is_declared(template: dict[str, Any]) -> None:
    declared = {name for each in template["variable"] for name in each}
    assert set(re.findall(r"\bvar\.(\w+)", TEXT)) == declared
    assert set(re.findall(r"\blocal\.(\w+)", TEXT)) == {name for each in template["locals"] for name in each}


def test_every_file_that_it_names_is_there() -> None:
    named = re.findall(r"\$\{path\.root\}/([\w./-]+)", TEXT)
    found = {name: (FOLDER / name).resolve() for name in named if name != "output"}
    assert len(found) == 5 and all(path.is_file() for path in found.values()), found


def test_the_answer_file_gets_its_values() -> None:
    """The machine that is built has a name; the nodes get one each (`*`), and the password of neither stays a mark."""
    answers = (ROOT / "examples" / "vm" / "autounattend.xml").read_text(encoding="utf-8")
    replaced = dict(re.findall(r'replace\(local\.answers, "(@\w+@)", "([^"]+)"\)', TEXT)) | {"@PASSWORD@": "x"}
    assert set(re.findall(r"@[A-Z]+@", answers)) == replaced.keys()
    assert re.findall(r'"@NAME@", "([^"]+)"', TEXT) == ["build", "*"]


def test_the_last_step_is_generalise_with_the_files_that_were_brought(template: dict[str, Any]) -> None:
    script = (ROOT / "playbooks" / "files" / "generalise.ps1").read_text(encoding="utf-8")
    brought = {each["destination"] for each in provisioners(template, "file")}
    (source,) = template["source"]
    command = source["qemu"]["node"]["shutdown_command"]
    assert {word for word in command.split() if word.startswith("C:/")} == brought
    assert all(f"-{name} " in command for name in re.findall(r"(?m)^    \[string\]\$(\w+)", script))


def test_its_playbook_and_variables_are_the_collections() -> None:
    (play,) = yaml.safe_load((FOLDER / "image.yml").read_text(encoding="utf-8"))
    namespace, name = play["import_playbook"].rsplit(".", 1)
    assert namespace == "winkube.node" and (ROOT / "playbooks" / f"{name}.yml").is_file()
    variables = yaml.safe_load((FOLDER / "variables.yml").read_text(encoding="utf-8"))
    known = "".join(path.read_text(encoding="utf-8") for path in Path(ROOT / "roles").glob("*/defaults/main.yml"))
    assert all(re.search(rf"^{name}:", known, re.MULTILINE) for name in variables), variables
