"""From a valid node to host variables and groups."""

from __future__ import annotations

import json
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components import registry
from ansible_collections.winkube.node.plugins.plugin_utils.components.options import role_variables
from ansible_collections.winkube.node.plugins.plugin_utils.node_yaml import variables

from .samples import PLACE, SAMPLE, WHOLE, edited, effective, host, node, the

HOSTNAME = "hostname: 192.168.122.220:22"


@pytest.mark.row("NY-03", "NY-04", "NY-05", "NY-06", "NY-09", "NY-10", "NY-11", "NY-12", "NY-16")
def test_all_variables_of_the_documents_sample() -> None:
    containerd = {
        "name": "containerd",
        "version": "1.7.11",
        "sourceURL": "http://xyz/containerd.exe",
        "destination": r"c:\Program Files\containerd\bin\containerd.exe",
        "overwrite": True,
    }
    kubelet = {
        "name": "kubelet",
        "version": "1.29.0",
        "sourceURL": "http://xyz/kubelet.exe",
        "destination": r"c:\k\kubelet.exe",
        "overwrite": True,
    }
    assert effective(SAMPLE) == {
        "ansible_connection": "ssh",
        "ansible_host": "192.168.122.220",
        "ansible_port": 22,
        "ansible_shell_type": "powershell",
        "ansible_ssh_extra_args": "-o ServerAliveInterval=15 -o ServerAliveCountMax=4",
        "ansible_user": "Administrator",
        "winkube_containerd_destination": r"c:\Program Files\containerd\bin\containerd.exe",
        "winkube_containerd_url": "http://xyz/containerd.exe",
        "winkube_containerd_version": "1.7.11",
        "winkube_node_dir": "/srv/nodes",
        "winkube_node_name": "sample",
        "winkube_node_source": "node.yml:4:9",
        "winkube_provisioners": [containerd, kubelet],
        "winkube_setup_choco_packages": ["vim", "grep"],
        "winkube_setup_enable_rdp": True,
    }


@pytest.mark.row("NY-26", "NY-19")
def test_all_variables_of_a_whole_node() -> None:
    made = {name: value for name, value in effective(WHOLE).items() if name.startswith("winkube_")}
    del made["winkube_provisioners"], made["winkube_node_source"], made["winkube_node_dir"]
    assert made == {
        "winkube_cluster_cidr": "10.244.0.0/16",
        "winkube_cni_managed_by": "service",
        "winkube_containerd_destination": r"C:\Program Files\containerd\bin\containerd.exe",
        "winkube_containerd_version": "2.3.7",
        "winkube_dns_service_ip": "10.96.0.10",
        "winkube_interface_name": "Ethernet",
        "winkube_join": "kubeadm",
        "winkube_kubernetes_version": "1.37.0",
        "winkube_log_dir": r"C:\k\logs",
        "winkube_management_ip": "192.168.122.220",
        "winkube_network_mode": "overlay",
        "winkube_node_name": "win1",
        "winkube_os_build": 20348,
        "winkube_service_cidr": "10.96.0.0/12",
        "winkube_service_manager": "nssm",
        "winkube_setup_choco_packages": ["vim", {"name": "grep", "version": "3.11"}],
        "winkube_setup_enable_rdp": True,
    }


@pytest.mark.row("NY-26")
@pytest.mark.parametrize(
    ("old", "new", "variable", "value"),
    [
        ("join: kubeadm", "join: bootstrapKubeconfig", "winkube_join", "bootstrap_kubeconfig"),
        ("join: kubeadm", "join: kubeconfig", "winkube_join", "kubeconfig"),
        pytest.param(
            "mode: overlay", "mode: L2bridge", "winkube_network_mode", "l2bridge", marks=pytest.mark.row("NW-02")
        ),
        (
            "    version: 1.37.0\n",
            "    version: 1.37.0\n    checksum: https://xyz/sum\n",
            "winkube_kubernetes_checksum",
            "https://xyz/sum",
        ),
        (
            "    version: 2.3.7",
            "    checksum: https://xyz/sum\n    version: 2.3.7",
            "winkube_containerd_checksum",
            "https://xyz/sum",
        ),
        (
            "    version: 2.3.7",
            "    sourceURL: https://xyz/c.zip\n    version: 2.3.7",
            "winkube_containerd_url",
            "https://xyz/c.zip",
        ),
    ],
)
def test_a_key_that_is_converted(old: str, new: str, variable: str, value: str) -> None:
    assert effective(edited((old, new), text=WHOLE))[variable] == value


@pytest.mark.row("NY-03")
def test_the_host_is_named_as_written_and_the_node_in_lower_case() -> None:
    made = host(edited(("name: sample", "name: WIN-1.Example")))
    assert made.name == "WIN-1.Example"
    assert made.variables["winkube_node_name"] == "win-1.example"


@pytest.mark.row("NY-06")
@pytest.mark.parametrize(
    ("value", "path"),
    [
        ("~/.ssh/id_ed25519", "/srv/ann/.ssh/id_ed25519"),
        ("keys/win1", "/srv/nodes/keys/win1"),
        ("../keys/win1", "/srv/keys/win1"),
        ("/etc/keys/win1", "/etc/keys/win1"),
        ("'{{ key_folder }}/win1'", "{{ key_folder }}/win1"),
    ],
)
def test_a_private_key_is_expanded_and_starts_at_the_file(value: str, path: str) -> None:
    assert host(edited(("privateKey:", f"privateKey: {value}"))).variables["ansible_ssh_private_key_file"] == path


@pytest.mark.row("NY-06")
@pytest.mark.parametrize("value", ["", " null", " ~", " ''"])
def test_an_empty_private_key_is_none_at_all(value: str) -> None:
    made = host(edited(("privateKey:", f"privateKey:{value}")))
    assert "ansible_ssh_private_key_file" not in made.variables
    assert made.key_file == ""
    assert not any(value in ("None", "", None) for value in made.variables.values())


@pytest.mark.row("NY-07")
def test_password_and_key_are_both_handed_on() -> None:
    both = host(edited(("privateKey:", "privateKey: /k\n    password: secret"))).variables
    assert (both["ansible_ssh_private_key_file"], both["ansible_password"]) == ("/k", "secret")
    alone = host(edited(("privateKey:", "password: secret"))).variables
    assert alone["ansible_password"] == "secret"
    assert "ansible_ssh_private_key_file" not in alone
    assert "ansible_password" not in host(edited(("privateKey:", "password: ''"))).variables


@pytest.mark.row("NY-09")
@pytest.mark.parametrize(
    ("hostname", "more", "connection", "port", "scheme"),
    [
        ("10.0.0.5", "", "ssh", 22, None),
        ("10.0.0.5:2222", "", "ssh", 2222, None),
        ("10.0.0.5:5985", "", "winrm", 5985, "http"),
        ("10.0.0.5:5986", "", "winrm", 5986, "https"),
        ("10.0.0.5", "connection: winrm", "winrm", 5986, "https"),
        ("10.0.0.5:15986", "connection: winrm", "winrm", 15986, None),
        ("10.0.0.5:5986", "connection: ssh", "ssh", 5986, None),
    ],
)
def test_the_connection_follows_the_port_or_what_is_said(
    hostname: str, more: str, connection: str, port: int, scheme: str | None
) -> None:
    made = effective(edited((HOSTNAME, f"hostname: {hostname}\n    {more}\n    password: x")))
    assert made["ansible_connection"] == connection
    assert made["ansible_port"] == port
    assert made.get("ansible_winrm_scheme") == scheme
    if connection == "winrm":
        assert made["ansible_winrm_transport"] == "ntlm"
        assert made["ansible_winrm_server_cert_validation"] == "validate"
        assert "ansible_shell_type" not in made
    else:
        assert made["ansible_shell_type"] == "powershell"
        assert not any(name.startswith("ansible_winrm") for name in made)


@pytest.mark.row("NY-09")
def test_winrm_without_a_password_leaves_the_transport_open() -> None:
    assert "ansible_winrm_transport" not in effective(edited((HOSTNAME, "hostname: 10.0.0.5:5986")))


@pytest.mark.row("NY-09")
def test_the_shell_can_be_chosen_and_host_keys_are_never_switched_off() -> None:
    made = effective(edited(("privateKey:", "shell: cmd")))
    assert made["ansible_shell_type"] == "cmd"
    assert not any("host_key" in name or "ssh_args" in name for name in made)
    assert "HostKey" not in str(made["ansible_ssh_extra_args"])


@pytest.mark.row("NY-09")
def test_what_the_file_leaves_open_stands_in_a_group_so_that_group_vars_win() -> None:
    made = host(edited((HOSTNAME, "hostname: 10.0.0.5")))
    assert not {"ansible_connection", "ansible_port", "ansible_shell_type"} & made.variables.keys()
    said = host(edited((HOSTNAME, "hostname: 10.0.0.5:22\n    connection: ssh\n    shell: powershell")))
    assert {"ansible_connection", "ansible_port", "ansible_shell_type"} <= said.variables.keys()


@pytest.mark.row("NY-10")
def test_enable_rdp_that_is_not_said_is_no_variable() -> None:
    assert "winkube_setup_enable_rdp" not in effective(edited(("    enableRDP: true\n", "")))
    assert effective(edited(("enableRDP: true", "enableRDP: false")))["winkube_setup_enable_rdp"] is False


@pytest.mark.row("NY-12", "PV-02")
def test_the_provisioner_containerd_stands_in_only_where_the_block_says_nothing() -> None:
    with_block = edited(("  kubernetes:\n", "  containerd: {version: 2.3.7}\n  kubernetes:\n"))
    made = effective(with_block)
    assert made["winkube_containerd_version"] == "2.3.7"
    assert made["winkube_containerd_url"] == "http://xyz/containerd.exe"
    without = effective(edited(("- name: containerd", "- name: flanneld")))
    assert not any(name.startswith("winkube_containerd") for name in without)


@pytest.mark.row("NY-15", "PV-07")
def test_a_local_source_of_containerd_starts_at_the_file_and_items_stay_as_written() -> None:
    made = effective(edited(("http://xyz/containerd.exe", "./bin/containerd.exe")))
    assert made["winkube_containerd_url"] == "/srv/nodes/bin/containerd.exe"
    items = made["winkube_provisioners"]
    assert isinstance(items, list)
    assert items[0]["sourceURL"] == "./bin/containerd.exe"


@pytest.mark.row("NY-17")
def test_overwrite_that_is_not_said_is_not_made_up() -> None:
    items = effective(edited(("        overwrite: true\n      - name: kubelet", "      - name: kubelet")))[
        "winkube_provisioners"
    ]
    assert isinstance(items, list)
    assert "overwrite" not in items[0]


@pytest.mark.row("NY-24")
def test_the_groups_of_a_whole_node() -> None:
    assert [group.name for group in host(WHOLE).groups] == [
        "windows_nodes",
        "winkube_ssh",
        "winkube_mode_overlay",
        "winkube_provisioner_kubelet",
        "winkube_kubernetes_1_37",
        "winkube_os_build_20348",
    ]


@pytest.mark.row("NY-24")
def test_the_groups_of_the_sample() -> None:
    assert [group.name for group in host(SAMPLE).groups] == [
        "windows_nodes",
        "winkube_ssh",
        "winkube_provisioner_containerd",
        "winkube_provisioner_kubelet",
        "winkube_kubernetes_1_29",
    ]


@pytest.mark.row("NY-24")
@pytest.mark.parametrize(
    ("text", "group"),
    [
        (edited(("version: 1.29.0", "version: v1.30.2")), "winkube_kubernetes_1_30"),
        (edited(("version: 1.37.0", "version: 1.36.2"), text=WHOLE), "winkube_kubernetes_1_36"),
    ],
    ids=["of the kubelet's provisioner", "of what the roles install"],
)
def test_the_group_of_the_kubernetes_version(text: str, group: str) -> None:
    assert [each.name for each in host(text).groups if "kubernetes" in each.name] == [group]


@pytest.mark.row("NY-24")
def test_group_names_are_valid_ones() -> None:
    made = host(
        edited(
            ("- name: kubelet", "- name: kube-proxy"), (HOSTNAME, "hostname: h:5986"), ("privateKey:", "password: x")
        )
    )
    assert [group.variables for group in made.groups][1:3] == [
        {
            "ansible_connection": "winrm",
            "ansible_port": 5986,
            "ansible_winrm_server_cert_validation": "validate",
        },
        {"ansible_winrm_transport": "ntlm"},
    ]
    assert [group.name for group in made.groups][1:5] == [
        "winkube_winrm",
        "winkube_winrm_password",
        "winkube_provisioner_containerd",
        "winkube_provisioner_kube_proxy",
    ]


def test_psrp_has_its_own_variables_and_defaults() -> None:
    psrp = ("privateKey:", "password: x\n    connection: psrp\n    # privateKey:")
    made = host(edited((HOSTNAME, "hostname: h:5985"), psrp))
    assert made.variables["ansible_connection"] == "psrp"
    assert made.variables["ansible_psrp_protocol"] == "http"
    assert {group.name: group.variables for group in made.groups[1:3]} == {
        "winkube_psrp": {
            "ansible_connection": "psrp",
            "ansible_port": 5986,
            "ansible_psrp_cert_validation": "validate",
        },
        "winkube_psrp_password": {"ansible_psrp_auth": "ntlm"},
    }


def test_every_key_but_those_of_components_is_used_by_a_test_document() -> None:
    """A key that nobody can reach would be a promise that nothing keeps."""
    known = (
        set(effective(WHOLE)) | set(effective(SAMPLE)) | {"winkube_containerd_checksum", "winkube_kubernetes_checksum"}
    ) | {"ansible_password", "ansible_ssh_private_key_file"}
    assert {row.variable for row in variables.rows() if row.path[0] != "components"} <= known
    assert PLACE.directory == effective(SAMPLE)["winkube_node_dir"]


# spec.components: what the roles' variables are called there, and what of a role's defaults may be written down.


def components(text: str) -> str:
    """The sample with this mapping in spec.components."""
    return edited(("  kubernetes:\n", f"  components: {text}\n  kubernetes:\n"))


def defaults() -> list[tuple[str, str, Any]]:
    """Each variable of a role with its default, but templates for other values than texts: (role, variable, value)."""
    return [
        (each.role, given.variable.name, given.default)
        for each in registry.COMPONENTS
        for given in role_variables(each.interface.rows)
        if given.option.type in ("str", "path") or "{{" not in str(given.default)
    ]


@pytest.mark.parametrize(("role", "variable", "value"), defaults(), ids=lambda each: str(each)[:40])
def test_the_default_of_a_roles_variable_may_be_written_in_components(role: str, variable: str, value: Any) -> None:
    found = [row.path for row in variables.rows() if row.variable == variable]
    assert len(found) == 1, "a variable has one key"
    if found[0][0] == "components":
        assert found[0][1] == role
        assert effective(components(json.dumps({role: {found[0][2]: value}})))[variable] == value


def test_optional_components_that_are_named_are_installed() -> None:
    made = effective(components("{windows_exporter: {port: 9183}, csi_proxy: , kubelet: {extra_arguments: [--v=4]}}"))
    assert made["winkube_optional_components"] == ["csi_proxy", "windows_exporter"]
    assert made["winkube_windows_exporter_port"] == 9183
    assert made["winkube_kubelet_extra_arguments"] == ["--v=4"]
    assert "winkube_optional_components" not in effective(components("{kube_proxy: {extra_arguments: [--v=4]}}"))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{windows-exporter: {}}", "found the unknown key 'windows-exporter' in spec.components"),
        ("{windows_exporter: {port: '9183'}}", "spec.components.windows_exporter.port, wanted a whole number"),
        ("{windows_exporter: {prot: 9183}}", "did you mean port?"),
        ("{kubelet: {extra_arguments: --v=4}}", "spec.components.kubelet.extra_arguments, wanted a list"),
    ],
)
def test_a_mistake_in_components_has_its_place(text: str, sentence: str) -> None:
    assert sentence in the(components(text))


def test_a_node_with_a_secret_of_a_component_is_not_cached() -> None:
    given = "{kubelet: {environment: {TOKEN: abc}}}"
    assert not variables.cacheable(node(components(given)))
    assert not variables.cacheable(node(components("{containerd: {registries: [{host: x, header: {a: b}}]}}")))
    assert variables.cacheable(node(components("{kubelet: {verbosity: 4}}")))
