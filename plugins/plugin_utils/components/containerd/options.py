# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of win_containerd and the variables of the role containerd."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from ...engine.secret import NO_TEXT, Secret
from ..options import Interface, Option, Variable, inlined, option, suboptions
from ..shared_options import (
    ProgramSource,
    ServiceOptions,
    checksum_option,
    environment_option,
    service_options,
    start_option,
    stop_option,
    unverified_option,
)

_CAPABILITIES = ("pull", "resolve", "push")

PLACES = (
    Option(
        "containerd_service",
        "str",
        "The name of containerd's service.",
        default="containerd",
        variable=Variable("winkube_containerd_service_name"),
    ),
    Option(
        "containerd_binary",
        "str",
        "containerd.exe. ctr.exe and the shim lie beside it.",
        default=r"C:\Program Files\containerd\bin\containerd.exe",
        variable=Variable(
            "winkube_containerd_binary",
            r"{{ winkube_containerd_destination | default('C:\Program "
            r"Files\containerd\bin\containerd.exe') }}",
            "containerd.exe; the destination that a Node YAML names, else where containerd's documentation puts it.",
        ),
    ),
    Option(
        "containerd_config",
        "str",
        "containerd's configuration.",
        default=r"C:\Program Files\containerd\config.toml",
        variable=Variable("winkube_containerd_config"),
    ),
    Option(
        "containerd_log",
        "str",
        "The file containerd logs to.",
        default=r"C:\ProgramData\containerd\log\containerd.log",
        variable=Variable("winkube_containerd_log"),
    ),
    Option(
        "containerd_pipe",
        "str",
        "The name of containerd's named pipe.",
        default="containerd-containerd",
        variable=Variable("winkube_containerd_pipe"),
    ),
    Option(
        "certs_dir",
        "str",
        "The folder of containerd's registry settings, a folder with hosts.toml for each registry.",
        default=r"C:\ProgramData\containerd\certs.d",
        variable=Variable("winkube_certs_dir"),
    ),
    Option(
        "registry_hosts",
        "list",
        "The registries that have a folder there. These folders are read "
        "together with everything else; other folders cost one more remote call.",
        default=[],
        elements="str",
        variable="winkube_registries | default([], true) | selectattr('host', 'defined') | map(attribute='host')"
        " | list",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CrictlSource:
    """Where crictl.exe, the command-line client of CRI, comes from."""

    url: str = option(
        "A release archive of cri-tools (C(crictl-v1.37.0-windows-amd64.tar.gz)) or C(crictl.exe), "
        "fetched by the node. Empty if no crictl is wanted, or another brings it in.",
        default="",
        variable=Variable(
            "winkube_crictl_url",
            text="A release archive of cri-tools (C(crictl-v1.37.0-windows-amd64.tar.gz)) or crictl.exe;"
            " it is put beside containerd.exe with a C(crictl.yaml) that names the pipe. Empty for "
            "none.",
        ),
    )
    version: str = option("The release, for the receipt.", default="", variable=Variable("winkube_crictl_version"))
    checksum: str = option(
        "V(sha256:) and 64 hex digits, or the https address of a sum file. Needed, unless "
        "O(allow_unverified) names crictl.",
        default="",
        variable=Variable("winkube_crictl_checksum"),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOptions:
    """The node's client certificate for it."""

    certificate: str = option("A file on the controller, in PEM form.", default="", type="path")
    key: str = option(
        "A file on the controller, in PEM form; ansible-vault may have encrypted it. On the "
        "node only administrators may read it.",
        default="",
        type="path",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthOptions:
    """Credentials: a user and a password, or a token."""

    username: str = option("The user. Some registries want a fixed name, such as V(AWS).", default="")
    password: Secret[str] = option("Its password, or the registry's substitute for one.", default=NO_TEXT)
    token: Secret[str] = option("A token that the registry itself takes (C(Bearer)).", default=NO_TEXT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """How a registry or a mirror is reached."""

    ca: str = option(
        (
            "A file on the controller with the CA certificates, in PEM form, that are trusted for it.",
            "On Windows containerd then trusts B(only) these, not the machine's own.",
        ),
        default="",
        type="path",
    )
    client: ClientOptions = suboptions(ClientOptions, "The node's client certificate for it.")
    skip_verify: bool = option("Whether its certificate is not checked at all.", default=False)
    override_path: bool = option(
        "Whether the path of the address is the whole path, without C(/v2) after it.", default=False
    )
    header: Mapping[str, Secret[str]] = option("Headers that are sent with each request.", default={})
    auth: AuthOptions = suboptions(
        AuthOptions,
        (
            "Credentials: a user and a password, or a token. They become the header C(Authorization) in a "
            "C(hosts.toml) "
            "that only administrators may read.",
            "Before containerd 2.1 they do not work for registries with a separate token server.",
        ),
        default={},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorOptions:
    """An address that is asked before the registry itself."""

    url: str = option("The mirror's address, http or https.")
    capabilities: tuple[str, ...] = option(
        "What it is asked for. For a mirror whose tags you do not trust, give only V(pull).",
        default=("pull", "resolve"),
        choices=_CAPABILITIES,
    )
    connection: Connection = inlined(Connection)


@dataclass(frozen=True, slots=True, kw_only=True)
class RegistryOptions:
    """A registry: how it is reached, and its mirrors. It becomes a `hosts.toml` in a folder below `node.certs_dir`."""

    host: str = option(
        "The beginning of image names, such as V(docker.io) or V(registry.example.com:5000), or "
        "V(_default) for all registries that have no entry of their own."
    )
    server: str = option(
        "The registry's own address, asked after the mirrors. Empty for the one that follows from the "
        "name. With a mirror's address here containerd never asks the registry itself.",
        default="",
    )
    capabilities: tuple[str, ...] = option(
        "What containerd asks it for; empty for everything.", default=(), choices=_CAPABILITIES
    )
    connection: Connection = inlined(Connection)
    mirrors: tuple[MirrorOptions, ...] = option("Addresses that are asked first, in this order.", default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerdOptions:
    version: str = option(
        "The release, such as V(2.3.7). Decides which version of C(config.toml) is written.",
        variable=Variable(
            "winkube_containerd_version",
            "2.3.7",
            "The release; decides which version of config.toml is written. The item named C(containerd)"
            " of a Node YAML sets it, and the URL.",
        ),
    )
    source: ProgramSource = suboptions(
        ProgramSource,
        "Where the programs come from.",
        required=True,
        url=option(
            (
                "A release archive (C(.tar.gz), C(.zip)) or C(.exe), fetched by the node.",
                "V(http), V(https), or V(file:///C:/...) on the node.",
            ),
            variable=Variable(
                "winkube_containerd_url",
                "{{ winkube_downloads }}github.com/containerd/containerd/releases/download/v{{ "
                "winkube_containerd_version | regex_replace('^v') }}/containerd-{{ "
                "winkube_containerd_version | regex_replace('^v') }}-windows-amd64.tar.gz",
                shown="the release archive",
            ),
        ),
        checksum=checksum_option(
            "containerd",
            Variable(
                "winkube_containerd_checksum",
                "{{ winkube_download_sums or ((winkube_containerd_url ~ '.sha256sum') if "
                "winkube_containerd_url.startswith('https://github.com/containerd/containerd/releases/')"
                " else '') }}",
                shown="the publisher's sum file",
            ),
        ),
    )
    defender_exclusions: bool = option(
        (
            (
                "Exclude containerd's programs and its folders C(root) and C(state) from Microsoft Defender"
                " Antivirus, by the machine's policy. What nodes unpack is then not looked at by its "
                "real-time protection."
            ),
            ("They are read back; a warning says so if something took them away. V(false) leaves what is there."),
        ),
        default=False,
        variable=Variable(
            "winkube_defender_exclusions",
            text="Exclude containerd's programs and folders from Microsoft Defender, by the machine's "
            "policy: faster pulls and starts, and what pods bring is not looked at.",
        ),
    )
    crictl_source: CrictlSource = suboptions(
        CrictlSource,
        "Where crictl.exe, the command-line client of CRI, comes from. It is put beside containerd.exe, "
        "with a C(crictl.yaml) that names containerd's pipe. Nothing restarts for it.",
    )
    allow_unverified: tuple[str, ...] = unverified_option("containerd")
    kubernetes_version: str = option(
        "The Kubernetes release of the node. It decides the sandbox image, and pairs that cannot work are refused. "
        "Empty if unknown.",
        default="",
        variable="winkube_kubernetes_version | default('')",
    )
    pause_image: str = option(
        "The sandbox image. Empty for the one that fits O(kubernetes_version).",
        default="",
        variable=Variable("winkube_pause_image", shown="by Kubernetes version"),
    )
    pause_image_source: Literal["kubernetes", "microsoft"] = option(
        "Whose sandbox image; V(microsoft) has signed binaries, which Kubernetes recommends for production.",
        default="kubernetes",
        variable=Variable("winkube_pause_image_source"),
    )
    config_template: str = option(
        (
            (
                "A Jinja2 template of C(config.toml), looked for in the role and then along the usual "
                "search path. It gets the variables that the role's own uses, such as C(root)."
            ),
            "Its output is checked before anything is sent.",
        ),
        default="config.toml.j2",
        variable=Variable("winkube_containerd_config_template"),
        type="path",
    )
    config_extra: Mapping[str, Any] = option(
        (
            (
                "Keys of C(config.toml) beside those of O(config_template), as nested mappings from the top"
                " of the file. A table is merged into the template's, another value replaces it, and V(null) "
                "removes a key."
            ),
            (
                "The names of tables are those of the release of containerd. The result is checked like the "
                "template's output."
            ),
        ),
        default={},
        variable=Variable(
            "winkube_containerd_config_extra",
            text="Keys of config.toml beside those of the template, as nested mappings, such as V({debug: "
            "{format: json}}): a table is merged, another value replaces the template's, V(null) removes a key.",
        ),
    )
    log_level: Literal["trace", "debug", "info", "warn", "error", "fatal", "panic"] = option(
        "What containerd logs.",
        default="info",
        variable=Variable(
            "winkube_containerd_log_level",
            text="C([debug] level). The log itself is C(winkube_containerd_log) (C(--log-file), under nssm "
            "its output).",
        ),
    )
    tracing_endpoint: str = option(
        (
            (
                "The address of an OTLP collector that gets containerd's traces, such as "
                "V(http://collector:4318). Empty for none."
            ),
            (
                "It becomes the variable C(OTEL_EXPORTER_OTLP_ENDPOINT) of the service, since the key "
                "C(endpoint) of C(io.containerd.tracing.processor.v1.otlp) in C(config.toml) is read no "
                "more; O(service.environment) overrides it and takes further ones, such as "
                "C(OTEL_EXPORTER_OTLP_PROTOCOL). Refused for a containerd that does not read it."
            ),
        ),
        default="",
        variable=Variable(
            "winkube_containerd_tracing_endpoint",
            text="The address of an OTLP collector for containerd's traces, such as "
            "V(http://collector:4318); a variable of the service. containerd 1.6.29, 1.7.18, or any "
            "2.x. Empty for none.",
        ),
    )
    registries: tuple[RegistryOptions, ...] = option(
        (
            (
                "Mirrors, private certificate authorities and credentials by registry, each written as a "
                "C(hosts.toml) in a folder below C(node.certs_dir). Nothing restarts for them, but for the first "
                "and the last one, since C(config.toml) names that folder only while there are any."
            ),
            ("Folders that this module made and that are not wanted any more are removed; others are left alone."),
        ),
        default=(),
        variable=Variable(
            "winkube_registries",
            text="Mirrors, private certificate authorities and credentials by registry (docs/registries.md); files "
            "are on the controller.",
        ),
    )
    images: tuple[str, ...] = option(
        (
            (
                "Whole names of images that are pulled before a pod needs them, with host, path and tag or "
                "digest, such as V(docker.io/library/golang:1.24). The sandbox image is pulled with them, "
                "before them."
            ),
            (
                "They are pulled once containerd works, with its own C(ctr.exe), into the namespace that the "
                "kubelet uses. The mirrors of O(registries) are asked, with their credentials."
            ),
            (
                "A record on the node lists images that were pulled or were there already. They are not pulled "
                "again, even if the kubelet has deleted them since."
            ),
            "A pull that fails fails the task, and leaves containerd as it is.",
        ),
        default=(),
        variable=Variable(
            "winkube_images",
            text="Whole names of images that are pulled with the sandbox image before a pod needs them.",
        ),
    )
    images_timeout: int = option(
        "Seconds that the pull of one image may take.", default=1800, variable=Variable("winkube_images_timeout")
    )
    environment: Mapping[str, Secret[str]] = option(
        "Variables that the service gets from the machine's settings, such as its proxy; those of "
        "O(service.environment) override them.",
        default={},
        variable="winkube_proxy_environment",
    )
    service: ServiceOptions = service_options(
        ("registered", "nssm"),
        "V(registered) by containerd's own C(--register-service), V(nssm) by nssm.exe.",
        environment=environment_option(),
        start=start_option("Seconds within which the service must run and answer.", 120),
        stop=stop_option(120),
        variable=Variable(
            "winkube_containerd_service",
            text="C(manager): V(registered) (containerd's own C(--register-service)) or V(nssm) (brought in "
            "from C(winkube_nssm_url)). C(environment): variables of the service, beside those of "
            "C(winkube_proxy). "
            "C(start_timeout), C(stop_timeout): seconds.",
        ),
    )


INTERFACE = Interface(
    module="win_containerd",
    summary="Installs, configures and runs containerd on a Windows node",
    task="Install and configure containerd",
    shared=("node", "golden_image", "pushed_builds", "drain", "nssm"),
    places=PLACES,
    options=ContainerdOptions,
)
