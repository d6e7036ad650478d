"""What a Node YAML may say: each rule with a document that keeps it and one that does not."""

from __future__ import annotations

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.node_yaml import document
from ansible_collections.winkube.node.plugins.plugin_utils.node_yaml.tree import Scalar, plain

from .samples import SAMPLE, WHOLE, edited, node, said, the

HOSTNAME = "hostname: 192.168.122.220:22"


@pytest.mark.row("NY-01")
@pytest.mark.parametrize(
    "version", ["windows.k8s.io/v1beta1", "v1", "apps/v1", "windows.k8s.io", "windows.k8s.io/V1alpha1"]
)
def test_another_api_version_is_refused_by_name(version: str) -> None:
    line = the(edited(("windows.k8s.io/v1alpha1", version)))
    assert line.startswith(f"node.yml:1:13: found '{version}' for apiVersion, wanted windows.k8s.io/v1alpha1")


@pytest.mark.row("NY-01", "NY-02")
def test_a_core_node_is_refused_with_the_reason_and_nothing_else_is_said_about_it() -> None:
    line = the("apiVersion: v1\nkind: Node\nmetadata: {name: win1}\nspec: {podCIDR: 10.244.1.0/24}\n")
    assert line == (
        "node.yml:1:13: found 'v1' for apiVersion, wanted windows.k8s.io/v1alpha1: the Node of v1 is what the cluster"
        " says about a node; it has no credentials."
    )


@pytest.mark.row("NY-01", "NY-02")
def test_missing_api_version_and_kind_are_named() -> None:
    lines = said(edited(("apiVersion: windows.k8s.io/v1alpha1\nkind: Node\n", "")))
    assert lines == [
        "node.yml:1:1: found no apiVersion in the document, wanted 'apiVersion: windows.k8s.io/v1alpha1'.",
        "node.yml:1:1: found no kind in the document, wanted 'kind: Node'.",
    ]


@pytest.mark.row("NY-02")
@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        ("NodeList", "write each node as a document of its own, with a line '---' between two."),
        ("List", "write each node as a document of its own, with a line '---' between two."),
        ("Nodes", "keep other objects in other files."),
        (
            "Cluster",
            "swdt's Cluster makes a virtual machine and does not say where it is. Write a Node with spec.credentials "
            "(its address as hostname; username and privateKey of spec.workload.virtualization.ssh), spec.setup "
            "(enableRDP and chocoPackages of spec.workload.auxiliary), spec.containerd.version (containerdVersion), "
            "spec.kubernetes.version (kubernetesVersion) and spec.kubernetes.provisioners.",
        ),
        ("Deployment", "keep other objects in other files."),
    ],
)
def test_another_kind_is_refused_with_a_reason(kind: str, reason: str) -> None:
    line = the(edited(("kind: Node", f"kind: {kind}")))
    assert line == f"node.yml:2:7: found '{kind}' for kind, wanted Node: {reason}"


@pytest.mark.row("NY-03")
@pytest.mark.parametrize(
    ("new", "place", "found"),
    [
        ("metadata: {}\n", "3:11", "found no name in metadata, wanted 'name:' with a DNS name"),
        (
            "metadata:\n  name: win_1\n",
            "4:9",
            "found 'win_1' for metadata.name, in which _ is not allowed; wanted a DNS name",
        ),
        ("metadata:\n  name: -win\n", "4:9", "begins or ends with '-'"),
        ("metadata:\n  name: win-.example\n", "4:9", "begins or ends with '-'"),
        (
            "metadata:\n  name: 1234\n",
            "4:9",
            "found '1234', which YAML reads as a number, for metadata.name, wanted a DNS name",
        ),
        ("metadata:\n  name: no\n", "4:9", "which YAML reads as true or false"),
        ("metadata:\n  name: ''\n", "4:9", "found an empty value for metadata.name"),
        ("metadata:\n  name:\n", "4:3", "found nothing for metadata.name"),
        ("metadata:\n  name: '{{ name }}'\n", "4:9", "found the template '{{ name }}' for metadata.name"),
        (f"metadata:\n  name: {'a' * 64}\n", "4:9", "longer than 63 characters"),
        (f"metadata:\n  name: {'.'.join(['a' * 63] * 3 + ['a' * 62])}\n", "4:9", "at most 253, each part at most 63)."),
    ],
)
def test_a_missing_or_impossible_name_is_refused(new: str, place: str, found: str) -> None:
    line = the(edited(("metadata:\n  name: sample\n", new)))
    assert line.startswith(f"node.yml:{place}: found ")
    assert found in line


@pytest.mark.row("NY-03")
@pytest.mark.parametrize("name", ["all", "All", "ungrouped", "localhost", "127.0.0.1"])
def test_names_that_ansible_keeps_are_refused(name: str) -> None:
    """Failed before: `all` ended in "creates a recursive dependency loop", `ungrouped` in a traceback, and a play for
    `localhost` would have gone to the controller's settings."""
    line = the(edited(("name: sample", f"name: {name}")))
    assert line.startswith(f"node.yml:4:9: found '{name}' for metadata.name, which Ansible keeps for ")


@pytest.mark.row("NY-26")
@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("10.244.0.0/16,fd00:10:244::/56", None),
        ("10.244.0.0/16, fd00:10:244::/56", None),
        ("10.244.0.0/16,10.245.0.0/16", "which holds more than one network of one family"),
        ("10.244.0.0/16,fd00::/56,fd01::/56", "which holds more than one network of one family"),
        ("10.244.0.0/16,fd00:10:244::1/56", "in which 'fd00:10:244::1/56' is one which is an address in the network"),
    ],
)
def test_two_families_are_taken_as_the_variable_takes_them(value: str, found: str | None) -> None:
    """Failed before: winkube_cluster_cidr took two families, the key that becomes it refused them as no network."""
    lines = said(edited(("clusterCIDR: 10.244.0.0/16", f"clusterCIDR: {value}"), text=WHOLE))
    assert [found in line for line in lines if found] == ([True] if found else [])
    assert bool(lines) == bool(found)


@pytest.mark.row("NY-03")
def test_a_name_that_two_documents_have_is_refused_without_regard_to_case() -> None:
    line = the(f"{SAMPLE}---\n{edited(('name: sample', 'name: SAMPLE'))}")
    assert (
        line
        == "node.yml:31:9: found a second node 'SAMPLE' (first on line 4), wanted each name once; rename one of the"
        " two."
    )


@pytest.mark.row("NY-04")
@pytest.mark.parametrize("new", ["", "    username:\n", "    username: ''\n", "    username: 007\n"])
def test_a_username_is_required(new: str) -> None:
    line = the(edited(("    username: Administrator\n", new)))
    assert "spec.credentials" in line
    assert "the name of a user, such as Administrator" in line


@pytest.mark.row("NY-05")
def test_a_missing_hostname_is_refused() -> None:
    assert "found no hostname in spec.credentials" in the(edited((f"    {HOSTNAME}\n", "")))


@pytest.mark.row("NY-05", "NY-14")
def test_a_host_and_port_that_yaml_takes_for_a_number_is_explained() -> None:
    line = the(edited((HOSTNAME, "hostname: 10:22")))
    assert line.startswith(
        "node.yml:8:15: found '10:22', which YAML reads as the number 622, for spec.credentials.hostname"
    )
    assert line.endswith("such as 192.168.122.220:22 or '[::1]:22'."), "10:22 is not an address in quotes either"


@pytest.mark.row("NY-06")
@pytest.mark.parametrize("value", ["", " null", " ''", " ~", " ~/.ssh/id_ed25519", " keys/node", " '{{ key }}'"])
def test_a_private_key_may_be_a_path_or_nothing(value: str) -> None:
    assert said(edited(("privateKey:", f"privateKey:{value}"))) == []


@pytest.mark.row("NY-06")
@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("~/.ssh/id.pub", "which is a public key"),
        ('"-----BEGIN OPENSSH PRIVATE KEY-----"', "which is a key itself"),
        ("[a]", "found a list"),
    ],
)
def test_what_is_no_private_key_is_refused(value: str, reason: str) -> None:
    assert reason in the(edited(("privateKey:", f"privateKey: {value}")))


@pytest.mark.row("NY-07", "NY-08", "SE-14")
@pytest.mark.parametrize(
    "value",
    [
        "secret",
        "''",
        "null",
        "\"{{ lookup('env', 'WIN_PASSWORD') }}\"",
        "!unsafe 'a{{b'",
        '"a\\tb"',
        "!vault |\n      $ANSIBLE_VAULT;1.1;AES256\n      3061",
    ],
)
def test_a_password_may_be_text_a_template_or_vaulted(value: str) -> None:
    assert said(edited(("privateKey:", f"password: {value}"))) == []


@pytest.mark.row("NY-08", "SE-14")
@pytest.mark.parametrize(
    "value", ["12345678", "1.5", "2024-01-01", "yes", "[hunter2]", "{hunter2: x}", "!hunter2", "&hunter2"]
)
def test_a_password_that_is_no_text_is_refused_and_not_shown(value: str) -> None:
    line = the(edited(("privateKey:", f"password: {value}")))
    assert "node.yml:9:" in line
    for secret in ("12345678", "1.5", "2024", "yes", "hunter2"):
        assert secret not in line


@pytest.mark.row("NY-08")
def test_other_values_cannot_be_vaulted_by_themselves() -> None:
    line = the(edited((HOSTNAME, "hostname: !vault |\n      $ANSIBLE_VAULT;1.1;AES256\n      3061")))
    assert "found a vaulted value for spec.credentials.hostname" in line
    assert "vault the whole file, or only the password" in line


@pytest.mark.row("NY-08")
def test_of_a_vaulted_file_no_value_is_shown() -> None:
    text = edited((HOSTNAME, "hostname: 10.0.0.999:22"), ("version: 1.29.0", "version: 1.30"))
    lines = [problem.text for problem in document.read(text, hide=True).problems]
    assert len(lines) == 2
    assert not any("999" in line or "1.30" in line for line in lines)


@pytest.mark.row("NY-09")
@pytest.mark.parametrize(
    ("key", "value", "wanted"), [("connection", "telnet", "ssh, winrm or psrp"), ("shell", "bash", "powershell or cmd")]
)
def test_another_connection_or_shell_is_refused(key: str, value: str, wanted: str) -> None:
    line = the(edited(("privateKey:", f"{key}: {value}")))
    assert line == f"node.yml:9:{7 + len(key)}: found '{value}' for spec.credentials.{key}, wanted {wanted}."


@pytest.mark.row("NY-10")
@pytest.mark.parametrize("value", ["true", "false", "yes", "off"])
def test_enable_rdp_is_true_or_false(value: str) -> None:
    assert said(edited(("enableRDP: true", f"enableRDP: {value}"))) == []


@pytest.mark.row("NY-10")
@pytest.mark.parametrize(
    ("value", "found"),
    [('"true"', "the text 'true'"), ("1", "'1', which YAML reads as a number,"), ("[true]", "a list"), ("", "nothing")],
)
def test_enable_rdp_of_another_type_is_refused(value: str, found: str) -> None:
    line = the(edited(("enableRDP: true", f"enableRDP: {value}")))
    assert f"found {found} for spec.setup.enableRDP, wanted true or false" in line
    assert line.endswith("leave out the quotes.") == (value == '"true"')


@pytest.mark.row("NY-11")
def test_choco_packages_are_names_or_names_with_versions() -> None:
    text = edited(("      - vim\n", "      - {name: vim, version: '9.1'}\n"))
    assert said(text) == []
    packages = node(text).get("spec", "setup", "chocoPackages")
    assert packages is not None
    assert plain(packages) == [{"name": "vim", "version": "9.1"}, "grep"]


@pytest.mark.row("NY-11")
@pytest.mark.parametrize(
    ("new", "found"),
    [
        (
            "chocoPackages: vim grep\n",
            "found the text 'vim grep' for spec.setup.chocoPackages, wanted a list of Chocolatey packages",
        ),
        ("chocoPackages:\n      - 7\n", "found '7', which YAML reads as a number, for spec.setup.chocoPackages[0]"),
        ("chocoPackages:\n      - vim grep\n", "found 'vim grep' for spec.setup.chocoPackages[0]"),
        ("chocoPackages:\n      - {version: '1'}\n", "found no name in spec.setup.chocoPackages[0]"),
        ("chocoPackages:\n      - {name: vim, version: 9.1}\n", "found '9.1', which YAML reads as a number"),
        ("chocoPackages:\n      - {name: vim, source: x}\n", "found the unknown key 'source'"),
    ],
)
def test_choco_packages_of_another_form_are_refused(new: str, found: str) -> None:
    assert found in the(edited(("chocoPackages:\n      - vim\n      - grep\n", new)))


@pytest.mark.row("NY-19")
@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        (
            "  setup:\n",
            "  stepu:\n",
            (
                "found the unknown key 'stepu' in spec, wanted credentials, setup, kubernetes, network, containerd,"
                " os or components: did you mean setup?"
            ),
        ),
        ("spec:\n", "status: {}\nspec:\n", "found the unknown key 'status' in the document"),
        ("  setup:\n", "  flannel: {}\n  setup:\n", "found the unknown key 'flannel' in spec"),
        ("    enableRDP", "    enableRdp", "did you mean enableRDP?"),
        ("    privateKey:", "    privatekey:", "did you mean privateKey?"),
        ("  name: sample", "  name: sample\n  labels: {}", "found the unknown key 'labels' in metadata"),
    ],
)
def test_an_unknown_block_or_key_is_refused(old: str, new: str, found: str) -> None:
    assert found in the(edited((old, new)))


@pytest.mark.row("NY-19")
def test_empty_blocks_say_nothing_and_missing_ones_that_are_needed_are_named() -> None:
    start = SAMPLE[: SAMPLE.index("  setup:")]
    assert said(f"{start}  setup:\n  kubernetes:\n    provisioners:\n  network:\n  os: {{}}\n") == []
    assert "found no credentials in spec" in the(
        "apiVersion: windows.k8s.io/v1alpha1\nkind: Node\nmetadata: {name: a}\nspec: {}\n"
    )
    assert "found nothing for spec" in the(
        "apiVersion: windows.k8s.io/v1alpha1\nkind: Node\nmetadata: {name: a}\nspec:\n"
    )


@pytest.mark.row("NY-25")
def test_deploys_is_taken_for_provisioners_with_a_notice() -> None:
    file = document.read(edited(("    provisioners:", "    deploys:")))
    assert file.problems == ()
    assert [notice.locate("node.yml") for notice in file.notices] == [
        "node.yml:16:5: spec.kubernetes.deploys is the former name of provisioners; rename the key."
    ]
    assert file.notices[0].level == "deprecated"
    names = [item.get("name") for item in document.provisioners(file.nodes[0])]
    assert [name.value for name in names if isinstance(name, Scalar)] == ["containerd", "kubelet"]


@pytest.mark.row("NY-25")
def test_deploys_is_checked_as_provisioners_are() -> None:
    assert "spec.kubernetes.deploys[1]" in the(
        edited(("    provisioners:", "    deploys:"), ("http://xyz/kubelet.exe", "ftp://xyz/k.exe"))
    )
    both = edited(("    provisioners:", "    deploys: []\n    provisioners:"))
    assert the(both) == (
        "node.yml:16:5: found deploys and provisioners (line 17) in spec.kubernetes, wanted only provisioners; deploys"
        " is its former name."
    )
    (problem,) = document.read(both).problems
    assert problem.subject == "spec.kubernetes.deploys"
    assert "wanted provisioners, version, checksum, join, serviceManager or logDir:" in the(
        edited(("    provisioners:", "    zzz: 1\n    provisioners:"))
    ), "a former name is not recommended"


@pytest.mark.row("NY-25")
def test_public_key_is_refused_with_the_key_to_write_instead() -> None:
    line = the(edited(("privateKey:", "publicKey:")))
    assert (
        line
        == "node.yml:9:5: found the key 'publicKey' in spec.credentials, which is not used here: the node needs the"
        " public key, the controller the private one: write privateKey with the path of the private key."
    )


@pytest.mark.row("NY-26")
@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("mode: overlay", "mode: vxlan", "wanted l2bridge, overlay, calico, l2tunnel, transparent or nat"),
        ("mode: overlay", "mode: l2bride", "did you mean l2bridge?"),
        ("10.244.0.0/16", "10.244.0.1/16", "which is an address in the network 10.244.0.0/16; write the network"),
        ("10.244.0.0/16", "10.244.0.0", "which has no prefix length"),
        ("10.96.0.0/12", "10.96/12x", "for spec.network.serviceCIDR, which is not a network"),
        (
            "dnsServiceIP: 10.96.0.10",
            "dnsServiceIP: 10.96.0.300",
            "for spec.network.dnsServiceIP, which is not an IP address",
        ),
        (
            "managementIP: 192.168.122.220",
            "managementIP: host",
            "for spec.network.managementIP, which is not an IP address",
        ),
        ("managedBy: service", "managedBy: flannel", "wanted service or cluster"),
        ("build: 20348", "build: '20348'", "found the text '20348' for spec.os.build"),
        ("build: 20348", "build: 2019", "between 14393 and 99999"),
        ("join: kubeadm", "join: token", "wanted kubeadm, bootstrapKubeconfig or kubeconfig"),
        ("serviceManager: nssm", "serviceManager: systemd", "wanted auto, nssm or sc"),
        ("version: 1.37.0", "version: '1.37'", "wanted a full version of three numbers"),
        ("version: 2.3.7", "version: 2.3", "which YAML reads as a number"),
        ("  containerd:\n", "  containerd:\n    checksum: sha256:abc\n", "wanted sha256: and 64 hexadecimal digits"),
        (
            "    version: 1.37.0\n",
            f"    version: 1.37.0\n    checksum: sha256:{'a' * 64}\n",
            "wanted the https address of a sum file that lists kubelet, kubeadm and kube-proxy",
        ),
        (
            "  containerd:\n",
            "  containerd:\n    checksum: http://xyz/sum\n",
            "or the https address of the publisher's sum file",
        ),
    ],
)
@pytest.mark.row("NY-12", "NY-19")
def test_our_own_keys_are_checked(old: str, new: str, found: str) -> None:
    assert said(WHOLE) == []
    assert found in the(edited((old, new), text=WHOLE))


@pytest.mark.row("NY-26")
def test_our_own_keys_can_be_annotations() -> None:
    annotations = (
        "  name: sample\n  annotations:\n    winkube.node/network.mode: overlay\n    winkube.node/os.build: '20348'\n  "
        "  other.io/x: y\n"
    )
    text = edited(("  name: sample\n", annotations))
    assert said(text) == []
    spec = node(text).get("spec")
    assert spec is not None
    assert plain(spec)["network"] == {"mode": "overlay"}
    assert plain(spec)["os"] == {"build": 20348}


@pytest.mark.row("NY-26")
@pytest.mark.parametrize(
    ("key", "value", "place", "found"),
    [
        ("network.mod", "overlay", "6:5", "did you mean winkube.node/network.mode?"),
        ("network.mode", "vxlan", "6:32", "found 'vxlan' for spec.network.mode"),
        ("credentials.password", "x", "6:5", "found the unknown annotation"),
        ("kubernetes.version", "1.37", "6:38", "which YAML reads as a number"),
    ],
)
def test_annotations_are_checked_as_the_keys_are(key: str, value: str, place: str, found: str) -> None:
    lines = said(edited(("  name: sample\n", f"  name: sample\n  annotations:\n    winkube.node/{key}: {value}\n")))
    assert lines[0].startswith(f"node.yml:{place}: found ")
    assert any(found in line for line in lines)


@pytest.mark.row("NY-14")
def test_quotes_are_no_remedy_where_they_would_not_help() -> None:
    assert the(edited(("version: 1.37.0", "version: 1.30"), text=WHOLE)).endswith(
        "for spec.kubernetes.version, wanted a full version of three numbers, such as 1.37.0."
    )


@pytest.mark.row("NY-26")
def test_a_key_and_its_annotation_are_not_both_possible() -> None:
    text = edited(("  name: win1\n", "  name: win1\n  annotations: {winkube.node/network.mode: overlay}\n"), text=WHOLE)
    line = next(number for number, line in enumerate(text.splitlines(), 1) if "    mode: overlay" in line)
    assert f"found 'winkube.node/network.mode' and spec.network.mode (line {line}), wanted one of them" in the(text)


@pytest.mark.row("NY-19")
@pytest.mark.parametrize("block", ["credentials", "setup", "kubernetes", "network", "containerd", "os"])
def test_every_block_refuses_unknown_keys(block: str) -> None:
    text = edited((f"  {block}:\n", f"  {block}:\n    zzz: 1\n"), text=WHOLE)
    assert f"found the unknown key 'zzz' in spec.{block}, wanted " in the(text)


@pytest.mark.row("NY-19", "NY-26")
@pytest.mark.parametrize("block", ["setup", "kubernetes", "network", "containerd", "os"])
def test_every_block_but_credentials_may_be_empty(block: str) -> None:
    start = SAMPLE[: SAMPLE.index("  setup:")]
    assert said(f"{start}  {block}:\n") == []
    assert said(f"{start}  {block}: {{}}\n") == []
    assert f"found a list for spec.{block}, wanted a mapping" in the(f"{start}  {block}: []\n")


@pytest.mark.row("NY-26", "NY-09", "NW-02")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("serviceManager: nssm", "serviceManager: sc"),
        ("managedBy: service", "managedBy: cluster"),
        *(("mode: overlay", f"mode: {mode}") for mode in ("l2bridge", "l2tunnel", "transparent", "nat")),
        *(("mode: overlay", f"mode: {mode}") for mode in ("L2bridge", "L2tunnel", "Overlay", "Transparent", "NAT")),
        *(("join: kubeadm", f"join: {way}") for way in ("bootstrapKubeconfig", "kubeconfig")),
        *(("  credentials:\n", f"  credentials:\n    connection: {way}\n") for way in ("ssh", "winrm")),
        *(("  credentials:\n", f"  credentials:\n    shell: {shell}\n") for shell in ("powershell", "cmd")),
        ("  name: win1\n", "  name: win1\n  annotations:\n"),
        ("build: 20348", "build: 14393"),
        ("version: 2.3.7", "version: v2.3.7-rc.1"),
    ],
)
def test_every_value_of_a_choice_is_taken(old: str, new: str) -> None:
    assert said(edited((old, new), text=WHOLE)) == []


@pytest.mark.row("NY-11", "NY-12", "NY-19")
@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("- name: kubelet", "- name: kube let", "found 'kube let' for spec.kubernetes.provisioners[0].name"),
        ("{name: grep", "{name: gr ep", "found 'gr ep' for spec.setup.chocoPackages[1].name"),
        ("interfaceName: Ethernet", "interfaceName: ''", "found an empty value for spec.network.interfaceName"),
        (
            "logDir: C:\\k\\logs",
            "logDir: logs",
            "found 'logs' for spec.kubernetes.logDir, wanted an absolute Windows folder",
        ),
        ("hostname:", "port: 22\n    hostname:", "the port belongs to the host name: hostname: 192.168.122.220:22"),
    ],
)
def test_names_and_folders_have_a_form(old: str, new: str, found: str) -> None:
    assert found in the(edited((old, new), text=WHOLE))


@pytest.mark.row("NY-08", "NY-15")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("username: Administrator", "username: '{{ user }}'"),
        ("username: Administrator", "username: !vault |\n      $ANSIBLE_VAULT;1.1;AES256\n      3061"),
        ("    version: 2.3.7", "    checksum: '{{ sums.containerd }}'\n    version: 2.3.7"),
        ("    version: 2.3.7", "    sourceURL: '{{ mirror }}/containerd.zip'\n    version: 2.3.7"),
        ("interfaceName: Ethernet", "interfaceName: !unsafe 'LAN {{ 1 }}'"),
    ],
)
def test_where_templates_are_possible(old: str, new: str) -> None:
    assert said(edited((old, new), text=WHOLE)) == []


@pytest.mark.row("NY-08")
@pytest.mark.parametrize(
    ("old", "new"),
    [("version: 1.37.0", "version: '{{ v }}'"), ("mode: overlay", "mode: '{% if x %}overlay{% endif %}'")],
)
def test_where_they_are_not(old: str, new: str) -> None:
    assert "before any variable has a value" in the(edited((old, new), text=WHOLE))


@pytest.mark.row("NY-25")
def test_an_empty_deploys_is_an_empty_list() -> None:
    assert said(SAMPLE[: SAMPLE.index("    provisioners:")] + "    deploys:\n") == []
