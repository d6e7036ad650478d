"""config.toml: our template's output for each containerd, and the sentences about other templates."""

from __future__ import annotations

import datetime
import tomllib
from pathlib import Path
from typing import Any

import jinja2
import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.containerd.containerd_config import (
    Containerd,
    check,
    environment,
    extend,
    problems,
    template_variables,
)
from ansible_collections.winkube.node.plugins.plugin_utils.components.containerd.containerd_toml import is_equal
from ansible_collections.winkube.node.plugins.plugin_utils.engine import windows_path
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.engine.secret import Secret
from ansible_collections.winkube.node.plugins.plugin_utils.facts import containerd as facts

from tests.unit.components.nodes import wanted_containerd

TEMPLATE = Path(__file__).parents[3] / "roles" / "containerd" / "templates" / "config.toml.j2"
VERSIONS = ("1.4.13", "1.5.18", "1.6.27", "1.7.11", "1.7.12", "2.0.14", "2.1.9", "2.2.9", "2.3.7", "2.4.2")
CRI = "io.containerd.grpc.v1.cri"
IMAGES = "io.containerd.cri.v1.images"
RUNTIME = "io.containerd.cri.v1.runtime"
SERVER = "io.containerd.server.v1.grpc"

WANTED = wanted_containerd()
REGISTRIES = [{"host": "docker.io", "mirrors": [{"url": "https://mirror.example.com"}]}]


def render(wanted: Containerd) -> str:
    """Rendered as by Ansible: trim_blocks on, an undefined variable is an error."""
    jinja = jinja2.Environment(trim_blocks=True, keep_trailing_newline=True, undefined=jinja2.StrictUndefined)
    return jinja.from_string(TEMPLATE.read_text()).render(template_variables(wanted))


def parsed(version: str, **changes: Any) -> dict[str, Any]:
    return tomllib.loads(render(wanted_containerd(version, **changes)))


# --- our template ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_what_our_template_yields_passes_our_check(version: str) -> None:
    wanted = wanted_containerd(version, log_level="debug", containerd_pipe="other")
    assert problems(wanted) == []
    assert check(render(wanted), wanted) == []


@pytest.mark.row("CT-01")
def test_the_file_is_where_containerd_looks() -> None:
    assert windows_path.is_same(WANTED.layout.containerd_config, facts.CONFIG_PATH)


@pytest.mark.row("CT-03", "CT-04")
@pytest.mark.parametrize("version", VERSIONS)
def test_pipe_and_gid(version: str) -> None:
    data = parsed(version)
    table = data["plugins"][SERVER] if data["version"] == 4 else data["grpc"]
    assert table == {"address": r"\\.\pipe\containerd-containerd", "gid": 0}
    assert ("grpc" in data) == (data["version"] < 4)
    # Up to version 3 the shims' pipe follows this one by itself.
    shims = {"address": r"\\.\pipe\containerd-containerd.ttrpc", "gid": 0} if data["version"] == 4 else None
    assert data["plugins"].get("io.containerd.server.v1.ttrpc") == shims and "ttrpc" not in data


@pytest.mark.row("CT-03")
def test_windows_paths_and_pipes_stand_in_single_quotes() -> None:
    for version in VERSIONS:
        text = render(wanted_containerd(version))
        assert r"address = '\\.\pipe\containerd-containerd'" in text
        assert "\\" not in "".join(part for line in text.splitlines() for part in line.split("'")[::2])


@pytest.mark.row("CT-07")
@pytest.mark.parametrize(
    ("version", "wanted"), [("1.7.11", 2), ("2.0.14", 3), ("2.2.9", 3), ("2.3.7", 4), ("2.4.2", 4)]
)
def test_there_is_always_a_version_line(version: str, wanted: int) -> None:
    assert parsed(version)["version"] == wanted


@pytest.mark.row("CT-20", "CT-48")
def test_cri_of_containerd_1() -> None:
    cri = parsed("1.7.11")["plugins"][CRI]
    assert cri["sandbox_image"] == "registry.k8s.io/pause:3.10.2"
    assert cri["cni"] == {"bin_dir": r"C:\k\cni", "conf_dir": r"C:\k\cni\config"}
    assert cri["containerd"] == {"snapshotter": "windows", "default_runtime_name": "runhcs-wcow-process"}


@pytest.mark.row("CT-20", "CT-48", "CT-51")
@pytest.mark.parametrize(
    ("version", "programs"), [("2.0.14", {"bin_dir": r"C:\k\cni"}), ("2.1.9", {"bin_dirs": [r"C:\k\cni"]})]
)
def test_cri_of_containerd_2(version: str, programs: dict[str, Any]) -> None:
    plugins = parsed(version)["plugins"]
    assert plugins[IMAGES]["pinned_images"] == {"sandbox": "registry.k8s.io/pause:3.10.2"}
    assert plugins[IMAGES]["snapshotter"] == "windows"
    assert plugins[RUNTIME]["cni"] == {**programs, "conf_dir": r"C:\k\cni\config"}
    assert plugins[RUNTIME]["containerd"]["default_runtime_name"] == "runhcs-wcow-process"
    assert CRI not in plugins


@pytest.mark.parametrize("version", VERSIONS)
def test_tcp_is_not_spoken_of(version: str) -> None:
    assert "tcp" not in render(wanted_containerd(version)).split("\n", 1)[1]


@pytest.mark.row("CT-45")
def test_log_level() -> None:
    assert parsed("1.7.11", log_level="trace")["debug"] == {"level": "trace"}
    assert parsed("2.3.7", log_level="trace")["debug"] == {"level": "trace"}


@pytest.mark.row("CT-45")
def test_traces_travel_in_the_environment() -> None:
    wanted = wanted_containerd("2.3.7", tracing_endpoint="http://collector:4318")
    assert environment(wanted) == {"OTEL_EXPORTER_OTLP_ENDPOINT": Secret("http://collector:4318")}
    assert environment(WANTED) == {}
    assert problems(wanted) == []
    assert problems(wanted_containerd("1.7.12", tracing_endpoint="http://collector:4318")) == [
        "containerd 1.7.12 does not read the address for traces from its environment (tracing_endpoint is "
        "'http://collector:4318'); take containerd 1.7.18 or later."
    ]


def test_drop_ins_are_read_where_they_change_single_keys() -> None:
    assert parsed("2.0.14")["imports"] == [r"C:\Program Files\containerd\conf.d\*.toml"]
    assert "imports" not in parsed("1.7.11")


@pytest.mark.parametrize(("version", "table"), [("1.7.11", CRI), ("2.3.7", IMAGES)])
def test_folder_of_registry_hosts(version: str, table: str) -> None:
    folder = r"C:\ProgramData\containerd\certs.d"
    assert parsed(version, registries=REGISTRIES)["plugins"][table]["registry"] == {"config_path": folder}
    assert "registry" not in parsed(version)["plugins"][table]


# --- settings ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        pytest.param({"version": "1.3.9"}, "containerd 1.3.9 is older than 1.4.0", marks=pytest.mark.row("CT-46")),
        ({"containerd_config": "containerd"}, "containerd config path 'containerd' is not an absolute Windows path"),
        ({"cni_bin_dir": r"C:\k\it's"}, r"containerd CNI program folder 'C:\k\it's' holds a single quote"),
        pytest.param(
            {"containerd_pipe": r"two\parts"},
            r"containerd address '\\.\pipe\two\parts' is not a named pipe; write it as \\.\pipe\containerd-containerd.",
            marks=pytest.mark.row("CT-03"),
        ),
        pytest.param(
            {"log_level": "warning"},
            "containerd log level 'warning' is not one of trace, debug, info, warn, error, fatal, panic.",
            marks=pytest.mark.row("CT-45"),
        ),
        pytest.param(
            {"image": "pause"},
            "containerd sandbox image 'pause' is not an image name with a tag or digest.",
            marks=pytest.mark.row("CT-48"),
        ),
        (
            {"version": "1.4.13", "registries": REGISTRIES},
            "containerd 1.4.13 has no folder for registry hosts",
        ),
    ],
)
def test_settings_that_cannot_be(changes: dict[str, Any], sentence: str) -> None:
    found = problems(wanted_containerd(**changes))
    assert len(found) == 1
    assert found[0].startswith(sentence)
    assert found[0].endswith(".")


# --- templates of others --------------------------------------------------------------------------------------------

V2 = r"""version = 2

[grpc]
  address = '\\.\pipe\containerd-containerd'

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "registry.k8s.io/pause:3.6"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "C:/k/cni/"
    conf_dir = "c:\\K\\cni\\config"
"""

V3 = r"""version = 3
[grpc]
address = '\\.\pipe\containerd-containerd'
[plugins.'io.containerd.cri.v1.images'.pinned_images]
sandbox = 'registry.k8s.io/pause:3.10.2'
[plugins.'io.containerd.cri.v1.runtime'.cni]
bin_dirs = ['D:\more', 'C:\k\cni']
conf_dir = 'C:\k\cni\config'
"""


def only(text: str, version: str, **changes: Any) -> str:
    found = check(text, wanted_containerd(version, **changes))
    assert len(found) == 1, found
    return found[0]


def test_another_spelling_of_the_same_is_right() -> None:
    assert check(V2, wanted_containerd("1.7.11")) == []
    assert check(V3, wanted_containerd("2.1.9")) == []


@pytest.mark.row("CT-51")
@pytest.mark.parametrize("version", ["2.0.14", "2.2.9", "2.3.7", "2.4.2"])
def test_an_older_config_version_is_right_where_containerd_migrates_it(version: str) -> None:
    assert check(V2, wanted_containerd(version)) == []


@pytest.mark.row("CT-51")
def test_a_newer_config_version_is_refused() -> None:
    assert only(V3, "1.7.11") == (
        "line 1: version = 3, but containerd 1.7.11 reads at most version 2: write `version = 2`."
    )
    assert only("version = 4\n", "2.2.9").startswith(
        "line 1: version = 4, but containerd 2.2.9 reads at most version 3"
    )


@pytest.mark.row("CT-07")
def test_a_file_without_version_is_refused() -> None:
    assert only(V2.replace("version = 2\n", ""), "1.7.11").startswith(
        "There is no `version` line; containerd takes such"
    )
    assert only(V2.replace("version = 2", "version = 1"), "1.7.11").startswith("line 1: version = 1 is the form of")
    assert only(V2.replace("version = 2", "version = '2'"), "1.7.11").startswith("line 1: version is '2', not a number")


@pytest.mark.row("CT-07")
def test_a_plugin_name_of_version_1_is_fatal_in_1_and_ignored_in_2() -> None:
    text = V2 + '[plugins.cri]\n  sandbox_image = "x:1"\n'
    assert only(text, "1.7.11") == (
        "line 11: [plugins.cri] is a plugin's name of version 1; under version 2 containerd would not start. Write the "
        'full name, for example [plugins."io.containerd.grpc.v1.cri"].'
    )
    assert "containerd ignores the table" in only(text, "2.0.14")


def test_disabled_plugins() -> None:
    assert only(V2.replace("= 2\n", '= 2\ndisabled_plugins = ["cri"]\n'), "1.7.11").startswith(
        "line 2: disabled_plugins names 'cri', not a full plugin name"
    )
    assert only(V2.replace("= 2\n", f'= 2\ndisabled_plugins = ["{CRI}"]\n'), "1.7.11").startswith(
        f"line 2: disabled_plugins turns {CRI} off"
    )


@pytest.mark.row("CT-03")
def test_a_pipe_with_single_backslashes_is_no_toml() -> None:
    text = V2.replace(r"'\\.\pipe\containerd-containerd'", r'"\\.\pipe\containerd-containerd"')
    sentence = only(text, "1.7.11")
    assert sentence.startswith("line 4, column ")
    assert sentence.endswith("write Windows paths and pipes in single quotes.")


@pytest.mark.row("CT-03")
def test_the_documents_escaped_pipe_is_the_same_value() -> None:
    text = V2.replace(r"'\\.\pipe\containerd-containerd'", r'"\\\\.\\pipe\\containerd-containerd"')
    assert check(text, wanted_containerd("1.7.11")) == []


@pytest.mark.row("CT-03")
def test_another_pipe_is_refused() -> None:
    text = V2.replace(r"'\\.\pipe\containerd-containerd'", r'"\\.\\pipe\\containerd-containerd"')
    assert only(text, "1.7.11") == (
        r"line 4: the pipe is '\.\pipe\containerd-containerd', but this node uses '\\.\pipe\containerd-containerd': "
        r"write `address = '\\.\pipe\containerd-containerd'` in [grpc]."
    )


def test_what_a_file_leaves_out_is_containerds_default() -> None:
    text = V2.replace("address", "# address")
    assert check(text, wanted_containerd("1.7.11")) == []
    sentence = only(text, "1.7.11", containerd_pipe="other")
    assert "(containerd's default, the file says nothing), but this node uses '\\\\.\\pipe\\other'" in sentence


def test_another_root_is_refused() -> None:
    assert only(V2.replace("= 2\n", "= 2\nroot = 'D:\\r'\n"), "1.7.11") == (
        r"line 2: root is 'D:\r', but this node uses 'C:\ProgramData\containerd\root': write "
        r"`root = 'C:\ProgramData\containerd\root'` in the first lines, before any table."
    )


@pytest.mark.row("CT-04")
def test_another_gid_is_refused() -> None:
    text = V2.replace("[grpc]\n", "[grpc]\n  gid = 100\n")
    assert only(text, "1.7.11") == "line 4: gid is 100; wanted is `gid = 0`."


@pytest.mark.row("CT-48")
@pytest.mark.parametrize(("text", "version"), [(V2, "1.7.11"), (V3, "2.2.9")])
def test_without_a_pause_image(text: str, version: str) -> None:
    without = "\n".join(line for line in text.splitlines() if "pause:" not in line)
    assert "there is no pause image: write `sandbox" in only(without, version)


@pytest.mark.row("CT-20")
def test_other_folders_than_the_cni_roles_are_refused() -> None:
    assert only(V2.replace("C:/k/cni/", "C:/opt/cni/bin"), "1.7.11") == (
        r"line 9: CNI programs are looked for in 'C:/opt/cni/bin', but they lie in 'C:\k\cni': write "
        r"""`bin_dir = 'C:\k\cni'` in [plugins."io.containerd.grpc.v1.cri".cni]."""
    )
    assert only(V2.replace(r"c:\\K\\cni\\config", r"C:\\etc"), "1.7.11").startswith(
        r"line 10: the CNI configuration is looked for in 'C:\etc', but it lies in 'C:\k\cni\config'"
    )


@pytest.mark.row("CT-20")
def test_without_folders_for_cni_containerds_own_would_be_used() -> None:
    text = "\n".join(line for line in V2.splitlines() if "_dir" not in line)
    programs, conf = check(text, wanted_containerd("1.7.11"))
    assert programs.startswith(
        "line 8: CNI programs are looked for in the default folder, but they lie in 'C:\\k\\cni'"
    )
    assert conf.startswith("line 8: the CNI configuration is looked for in the default folder")


def test_both_bin_dir_and_bin_dirs() -> None:
    assert only(V3 + "bin_dir = 'C:\\k\\cni'\n", "2.2.9").startswith(
        "line 9: bin_dir and bin_dirs are both set, and containerd 2.2.9 does not start then"
    )


def test_bin_dirs_where_containerd_does_not_know_it() -> None:
    misplaced, missing = check(V3, wanted_containerd("2.0.14"))
    assert misplaced.startswith(
        'line 7: containerd 2.0.14 does not read [plugins."io.containerd.cri.v1.runtime".cni] bin_dirs'
    )
    assert missing.startswith("line 6: CNI programs are looked for in the default folder")


def test_bin_dir_where_containerd_no_longer_knows_it() -> None:
    text = V3.replace("bin_dirs = ['D:\\more', 'C:\\k\\cni']", "bin_dir = 'C:\\k\\cni'")
    assert check(text, wanted_containerd("2.2.9")) == []
    misplaced, missing = check(text, wanted_containerd("2.4.2"))
    assert "containerd 2.4.2 does not read" in misplaced
    assert "write `bin_dirs = ['C:\\k\\cni']`" in missing


@pytest.mark.row("CT-51")
def test_settings_at_the_place_of_another_version_are_found() -> None:
    text = V3 + f"[plugins.'{CRI}']\nsandbox_image = 'x:1'\n"
    assert only(text, "2.2.9") == (
        f'line 10: containerd 2.2.9 does not read [plugins."{CRI}"] sandbox_image in a file of version 3; it belongs '
        f'to [plugins."{IMAGES}".pinned_images] sandbox.'
    )
    old = V3.replace("version = 3", "version = 4")
    assert only(old, "2.3.7").startswith(
        f"line 3: containerd 2.3.7 does not read [grpc] address in a file of version 4; it belongs to "
        f'[plugins."{SERVER}"] address.'
    )


def test_mirrors_beside_config_path() -> None:
    registry = f'[plugins."{CRI}".registry'
    text = f"{V2}{registry}]\nconfig_path = 'C:\\c'\n{registry}.mirrors.\"docker.io\"]\nendpoint = ['https://m']\n"
    assert only(text, "1.7.11").startswith("line 13: registry mirrors and config_path exclude each other")
    assert check(text.replace("config_path = 'C:\\c'\n", ""), wanted_containerd("1.7.11")) == []


def test_a_default_runtime_that_nobody_configured() -> None:
    table = f'[plugins."{CRI}".containerd'
    text = f"{V2}{table}]\ndefault_runtime_name = 'runhcs-wcow-hypervisor'\n"
    assert check(text, wanted_containerd("1.7.11")) == []
    assert only(text, "1.6.27").startswith(
        "line 12: default_runtime_name is 'runhcs-wcow-hypervisor', but no such runtime"
    )
    own = f"{text}{table}.runtimes.runhcs-wcow-hypervisor]\nruntime_type = 'io.containerd.runhcs.v1'\n"
    assert check(own, wanted_containerd("1.6.27")) == []


@pytest.mark.row("CT-06")
def test_a_tcp_port_that_would_answer_nothing() -> None:
    text = V2.replace("[grpc]\n", '[grpc]\n  tcp_address = "127.0.0.1:8888"\n')
    assert only(text, "1.7.11").startswith("line 4: a TCP address is set but disable_tcp_service is not false")
    both = text.replace("  sandbox_image", "  disable_tcp_service = false\n  sandbox_image")
    assert check(both, wanted_containerd("1.7.11")) == []


@pytest.mark.row("CT-45")
def test_an_endpoint_for_traces_that_is_not_read() -> None:
    text = V2 + "[plugins.'io.containerd.tracing.processor.v1.otlp']\nendpoint = 'http://c:4318'\n"
    assert only(text, "1.7.18").startswith("line 12: containerd 1.7.18 does not read the endpoint for traces from here")
    assert check(text, wanted_containerd("1.7.11")) == []


def test_text_that_is_not_toml_is_one_sentence_with_its_place() -> None:
    assert only("version = 2\n[grpc\n", "1.7.11").startswith("line 2, column 6: this is not TOML: Expected ']'")


# --- comparing -----------------------------------------------------------------------------------------------------


def test_equal_by_value() -> None:
    assert is_equal("a = 1 # one\nb = 'x'\n", 'b = "x"\n\na = 1')
    assert is_equal("[a.b]\nc = [1, 2]\n", "a = {b = {c = [1, 2]}}")
    assert not is_equal("a = 1", "a = 2")
    assert not is_equal("a = [1, 2]", "a = [2, 1]")
    assert not is_equal("a = 1", "a = true")
    assert not is_equal("a = 1", "a = 1\nb = 1")


def test_equal_without_toml() -> None:
    assert is_equal("[", "[")
    assert not is_equal("[", "")


# --- keys of the user's ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", VERSIONS)
def test_keys_of_the_user_come_beside_and_over_those_of_the_template(version: str) -> None:
    """Users can change single keys; before, they needed a whole template of their own."""
    wanted = wanted_containerd(version)
    text = render(wanted)
    told = extend(text, {"debug": {"level": None, "format": "json"}, "plugins": {"a.b": {"n": [5, "x'y", r"C:\k"]}}})
    before, after = tomllib.loads(text), tomllib.loads(told)
    assert after["debug"] == {"format": "json"}
    assert after["plugins"].pop("a.b") == {"n": [5, "x'y", r"C:\k"]}
    assert {**after, "debug": 0} == {**before, "debug": 0}
    assert told.startswith("# Written by winkube.node;")
    assert extend(text, {}) == text
    assert check(told, wanted) == [] or "a.b" in str(check(told, wanted))


def test_the_users_keys_are_checked_like_a_template() -> None:
    told = extend(render(WANTED), {"plugins": {RUNTIME: {"cni": {"conf_dir": r"D:\cni"}}}})
    assert r"D:\cni" in "".join(check(told, WANTED))


DATES = [datetime.date(2026, 11, 23), datetime.time(1, 2), datetime.datetime(2026, 11, 23, 1, 2)]


@pytest.mark.parametrize(
    "value",
    [
        True,
        1,
        -2,
        1.5,
        "",
        "a'b",
        '\n\t"',
        "ü",
        [],
        [1, 2],
        [{"a": {"b": "c"}}],
        {},
        {"a b": {"c": 1}, "d": ""},
        *DATES,
    ],
)
def test_what_toml_can_say_is_said_as_it_was(value: object) -> None:
    assert tomllib.loads(extend("b = 1\n", {"x": {"y": value}}))["x"]["y"] == value


def test_a_text_that_is_no_toml_is_left_to_the_check_and_an_odd_value_is_refused() -> None:
    assert extend("a = [", {"b": 1}) == "a = ["
    with pytest.raises(Refused, match=r"winkube_containerd_config_extra: .* is nothing that TOML can say"):
        extend("", {"b": object()})
