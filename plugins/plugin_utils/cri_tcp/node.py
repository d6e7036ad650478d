# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CRI over TCP on a node: the firewall rule, config.toml, and the restart of containerd."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, astuple, dataclass, replace
from typing import Any

from ..components.containerd import containerd
from ..components.containerd.containerd_toml import is_equal
from ..components.layout import Layout
from ..cri.client import Tls as ClientTls
from ..engine import command_line, security, windows_path
from ..engine.batch import Op
from ..engine.local_path import expand_home
from ..engine.reading import Query, Reading, file_key, file_query, services_query
from ..engine.resource import Refused, Resource
from ..engine.resources.directory import Directory
from ..engine.resources.file import READ_LIMIT, File, is_same_text
from ..engine.resources.firewall_rule import FirewallRule, Network, show_network, sources
from ..engine.resources.service import ACTIVE, Service
from ..engine.secret import Secret
from ..engine.services.existing import AsFound
from ..facts import cri_tcp as facts
from ..facts.containerd import CONFIG_PATH
from ..facts.windows import POLICIES, PROFILES
from . import certs, expiry, kept
from .certs import ON_NODE, Certificates
from .edit import Address, Effective, Listener, Tls, certificate_files, edit
from .expiry import Expiry, Restart
from .options import CriTcpOptions

NAME = "containerd_config_tcp"
ASKS_STILL = (
    "config.toml names certificates of the server already (tcp_tls_cert, or tls_cert), so the port asks for them "
    "although none were given here: name the client's in client_tls, or take these keys out and run again"
)


@dataclass(frozen=True, slots=True)
class CriTcp:
    """CRI over TCP as it is wanted on a node. `listener` is None to close. `networks` may reach a port that is not on a
    loopback address. `certificates` are copied to the node's `certificate_folder`. `mark` is the id of the batch."""

    options: CriTcpOptions
    layout: Layout
    listener: Listener | None
    networks: tuple[Network, ...] = ()
    certificates: Certificates | None = None
    mark: str = ""

    @property
    def expires_s(self) -> int:
        """The seconds after which the node closes the port itself; 0 for never. Refused for what is not a time."""
        return expiry.seconds(self.options.expires_after) if self.listener else 0


def drop_ins(layout: Layout) -> str:
    """The usual folder of files that config.toml imports."""
    return windows_path.join(windows_path.parent(layout.containerd_config), "conf.d")


def certificate_folder(layout: Layout) -> str:
    """The folder of our certificates; only administrators can access its parent."""
    return windows_path.join(layout.state_dir, "cri-tcp")


def made_files(layout: Layout) -> Tls:
    """Our certificates, as config.toml names them."""
    return Tls(*(windows_path.join(certificate_folder(layout), name) for name in ON_NODE))


def problems(listener: Listener, networks: tuple[Network, ...], *, allow_any_address: bool) -> list[str]:
    """Why this listener would be more open than necessary, a sentence each."""
    address = listener.address
    found = []
    if address.is_any and not allow_any_address:
        found.append(
            f"tcp_address {address} is every address of the node, also of networks that it joins later; name one "
            "address, or say allow_any_address: true."
        )
    if not address.is_loopback and not networks:
        found.append(
            f"tcp_address {address} can be reached from other machines; name those that may in allowed_sources, or "
            "take 127.0.0.1 and reach it through SSH (ssh -L)."
        )
    if address.is_loopback and networks:
        found.append(
            f"allowed_sources are given, but tcp_address {address} is reachable only from the node; leave them out, or "
            "name an address of the node."
        )
    if listener.tls is not None:
        found += [
            f"tls.{name} '{path}' {problem}."
            for name, path in asdict(listener.tls).items()
            if (problem := windows_path.problem(path))
        ]
    return found


def warning(found: Effective, networks: tuple[Network, ...]) -> str:
    """A warning about an open port; empty if clients need a certificate."""
    if not found.address or found.clients_proven:
        return ""
    who = "everybody on the node" if not networks else f"everybody at {', '.join(map(show_network, networks))}"
    secret = "with only a certificate of the server" if found.encrypted else "without encryption"
    return (
        f"CRI on {found.address} asks for no client certificate, {secret}: {who} can start a container that has the "
        f"node's files and is {facts.PLAIN_PORT_OWNER} there. Use it to find a fault, then close it (state: "
        "absent)."
    )


def reads(args: CriTcp) -> tuple[Query, ...]:
    """The queries of `build_resources`."""
    tls = args.listener.tls if args.listener else None
    return (
        file_query(args.layout.containerd_config, sha256=True, content_limit=READ_LIMIT),
        file_query(args.layout.containerd_binary, sha256=True),
        file_query(args.layout.ctr),
        services_query((args.layout.containerd_service,)),
        *rule().reads(),
        *(_profile_query(key) for key in (*PROFILES.values(), *POLICIES.values()) if args.networks),
        kept.query(args.layout),
        file_query(drop_ins(args.layout), entries=True),
        *((file_query(tls.ca), file_query(tls.cert), file_query(tls.key, sddl=True)) if tls else ()),
        *(query for resource in _certificates(args) for query in resource.reads()),
        *Expiry(args.layout, "", args.expires_s).reads(),
    )


def rule(port: int = 0, networks: tuple[Network, ...] = ()) -> FirewallRule:
    """The rule that lets `networks` reach `port`; no networks, no rule."""
    return FirewallRule(facts.RULE, "TCP", port, networks, wanted=bool(networks))


def build_resources(args: CriTcp, reading: Reading) -> tuple[Resource, ...]:
    """The rule, config.toml and the service. Refused if one of them is impossible."""
    layout = args.layout
    found = _service(layout, reading)
    _check_config(layout, found)
    _check_sources(args, reading)
    port = args.listener.address.port if args.listener else 0
    config = _config(args, reading)
    changes = config.change(reading) is not None
    named = _earlier_certificates(config.text, args) if changes else {}
    return (
        kept.Kept(layout, layout.backup(args.mark), config.text if args.listener else None),
        NamedFiles(layout.containerd_config, tuple(named.items())),
        _expiry(args, config, found, reading),
        rule(port, args.networks),
        *_certificates(args),
        config,
        _restart(args, found, reading),
    )


@dataclass(frozen=True, slots=True)
class NamedFiles:
    """Checks that the certificates that config.toml names exist. Without them containerd would not start again, not
    even with the old file."""

    config: str
    files: tuple[tuple[str, str], ...]

    @property
    def label(self) -> str:
        return f"certificates named in {self.config}"

    def reads(self) -> tuple[Query, ...]:
        """The files."""
        return tuple(file_query(path) for _key, path in self.files if windows_path.problem(path) is None)

    def change(self, reading: Reading) -> None:
        """Refused if a file is missing."""
        missing = [
            f"{self.config}: {key} = '{path}' is not a file on the node, and containerd does not start without it (2.2 "
            "reads it also where the port is closed). Put the file there, or take the key out; nothing was changed."
            for key, path in self.files
            if reading.parts.get(file_key(path), {"kind": None}).get("kind") != "file"
        ]
        if missing:
            raise Refused(*missing)


def _earlier_certificates(text: str, args: CriTcp) -> dict[str, str]:
    """The certificates in config.toml that we do not bring, by key."""
    brought = _certificate_paths(args.layout) if args.certificates else ()
    return {
        key: path
        for key, path in certificate_files(text.removeprefix("\ufeff")).items()
        if not any(windows_path.is_same(path, other) for other in brought)
    }


def gate(listener: Listener, timeout_s: int) -> Op:
    """Wait until the port takes connections on the node. The controller checks that CRI answers."""
    address = listener.address
    return Op("wait", {"for": "tcp", "host": address.near, "port": address.port, "timeout_s": timeout_s})


def _service(layout: Layout, reading: Reading) -> Mapping[str, Any]:
    found = reading.service(layout.containerd_service)
    if found is None:
        raise Refused(
            f"There is no service {layout.containerd_service} on the node; install containerd first (win_containerd), "
            "or name its service in winkube_containerd_service."
        )
    return found


def _check_config(layout: Layout, found: Mapping[str, Any]) -> None:
    """Refused if the service reads another file than the one to be changed."""
    nssm = found.get("nssm")
    if nssm is not None:
        words = command_line.split(f"x {nssm.get('AppParameters') or ''}")[1:]
    else:
        words = command_line.split(str(found.get("image_path") or ""))[1:]
    read = CONFIG_PATH
    for position, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name.lstrip("-") in ("config", "c") and name.startswith("-"):
            read = value if equals else "".join(words[position + 1 : position + 2])
    if not windows_path.is_same(read, layout.containerd_config):
        raise Refused(
            f"The service {found.get('name')} reads {read}, not {layout.containerd_config}; name the file that it "
            "reads in winkube_containerd_config (node.containerd_config)."
        )


def _check_sources(args: CriTcp, reading: Reading) -> None:
    """Refused if the node would let in machines that it should keep out."""
    found: list[str] = []
    off, why = firewall_off(args, reading)
    if off and not asks_for_certificates(args):
        found.append(
            f"The Windows firewall is off on the node ({why}), so allowed_sources would have no effect: turn it on "
            "(netsh advfirewall set allprofiles state on; a group policy is changed where it is made), let clients "
            "show a certificate (certificates), or take 127.0.0.1."
        )
    tls = args.listener.tls if args.listener and args.certificates is None else None
    for name, path in asdict(tls).items() if tls else ():
        if reading.file(path).get("kind") != "file":
            found.append(f"tls.{name}: {path} is not a file on the node; containerd would not start without it.")
    if tls and reading.file(tls.key).get("kind") == "file":
        complaint = security.complain(reading.file(tls.key).get("sddl"), private=True)
        if complaint:
            found.append(
                f"tls.key {tls.key} {complaint}; leave it to SYSTEM and Administrators (icacls <file> /setowner "
                "*S-1-5-32-544, then icacls <file> /inheritance:r /grant *S-1-5-18:F *S-1-5-32-544:F, and take away "
                "what else it lists)."
            )
    if found:
        raise Refused(*found)


def asks_for_certificates(args: CriTcp) -> bool:
    """Whether clients need a certificate."""
    return args.certificates is not None or (args.listener is not None and args.listener.tls is not None)


def firewall_off(args: CriTcp, reading: Reading) -> tuple[list[str], str]:
    """The profiles in which the firewall is off, and why, for a sentence. Empty for a port on a loopback address."""
    if not args.networks:
        return [], ""
    by_policy, off = [], []
    for name, key in PROFILES.items():
        policy = _switch(POLICIES[name], reading)
        if policy == "0":
            by_policy.append(name)
        if (policy or _switch(key, reading)) == "0":
            off.append(name)
    why = f"profile {', '.join(off)}"
    if by_policy:
        why += f"; by group policy, {POLICIES[by_policy[0]]}: {', '.join(by_policy)}"
    return off, why


def _switch(key: str, reading: Reading) -> str:
    """`EnableFirewall` of a profile; empty if it is not set."""
    value = (reading.parts.get(_profile_query(key).key) or {}).get("value")
    return str(value) if value in (0, 1) else ""


def _config(args: CriTcp, reading: Reading) -> File:
    path = args.layout.containerd_config
    found = reading.file(path)
    if found.get("kind") != "file":
        raise Refused(f"{path} does not exist; containerd_config_tcp edits the file, win_containerd writes it.")
    present = reading.text(path)
    if present is None:
        raise Refused(
            f"{path} is larger than {READ_LIMIT} bytes or no UTF-8 text; it is not changed (it has {found.get('size')} "
            "bytes)."
        )
    text = kept.close(present, args.listener, args.layout, reading, _certificate_paths(args.layout))
    if args.listener is None and (gone := _find_gone(text, reading)):
        text = edit(text, None, path, gone)
    same = is_same_text if args.listener is None and text != present else is_equal
    return File(path, text.encode(), args.layout.backup(args.mark), equal=same)


def _find_gone(text: str, reading: Reading) -> tuple[str, ...]:
    """The certificates that config.toml names although they are known to be missing: a closed file needs none, and
    containerd would not start with it."""
    files = certificate_files(text.removeprefix("\ufeff")).values()
    return tuple(each for each in files if reading.parts.get(file_key(each), {"kind": "file"}).get("kind") != "file")


def _certificate_paths(layout: Layout) -> tuple[str, ...]:
    return astuple(made_files(layout))


def _expiry(args: CriTcp, config: File, found: Mapping[str, Any], reading: Reading) -> Expiry:
    """The planned end. It comes first, so that no port is open without one."""
    layout = args.layout
    if args.listener is None or args.expires_s == 0:
        return Expiry(layout, layout.backup(args.mark), 0)
    stays = config.change(reading) is None
    opened = (reading.text(config.path) or "") if stays else config.text
    restart = None
    if args.options.expires_restart:
        restart = Restart(
            str(found["name"]),
            layout.containerd_binary,
            layout.containerd_pipe,
            args.listener.address,
            args.options.start_timeout,
            args.options.stop_timeout,
        )
    closed = _close(opened, config, args, reading)
    return Expiry(layout, layout.backup(args.mark), args.expires_s, opened, closed, restart)


def _close(opened: str, config: File, args: CriTcp, reading: Reading) -> str:
    """The file after the time is over: the one from before, if it is known."""
    present = reading.text(config.path) or ""
    was = kept.before(args.layout, reading)
    if was is None and opened != present and kept.is_closed(present):
        return present
    return edit(opened, None, config.path, _certificate_paths(args.layout)) if was is None else was


def _certificates(args: CriTcp) -> tuple[Resource, ...]:
    """Folder and files, accessible only to administrators."""
    if args.certificates is None:
        return ()
    folder = certificate_folder(args.layout)
    files = args.certificates.files
    return (
        Directory(folder, sddl=security.ADMINS_ONLY, private=True),
        *(
            File(windows_path.join(folder, name), Secret(files[name].encode()), args.layout.backup(args.mark))
            for name in ON_NODE
        ),
    )


def _restart(args: CriTcp, found: Mapping[str, Any], reading: Reading) -> Service:
    layout = args.layout
    ready = containerd.build_gate(
        layout, has_ctr=containerd.has_ctr(layout, reading), timeout_s=args.options.start_timeout
    )
    if args.listener is not None:
        ready = (*ready, gate(args.listener, args.options.start_timeout))
    return Service(
        name=str(found["name"]),
        definition=AsFound(found, layout.containerd_binary),
        uses=frozenset(
            {file_key(layout.containerd_config)}
            | {file_key(resource.path) for resource in _certificates(args) if isinstance(resource, File)}
        ),
        ready=ready,
        start_timeout_s=args.options.start_timeout,
        stop_timeout_s=args.options.stop_timeout,
        run=found.get("state") in ACTIVE,
        first_end=True,
    )


def _profile_query(key: str) -> Query:
    return Query(f"registry:{key}", "registry", (("path", key), ("name", "EnableFirewall")))


def find_wanted(options: CriTcpOptions, layout: Layout) -> CriTcp:
    """What the options want. Refused for a listener that is more open than necessary."""
    if options.state == "absent":
        return CriTcp(options, layout, None)
    listener = Listener(Address.parse(options.tcp_address), _tls(options.tls))
    networks = sources(options.allowed_sources, "allowed_sources")
    if found := problems(listener, networks, allow_any_address=options.allow_any_address):
        raise Refused(*found)
    expiry.seconds(options.expires_after)
    return CriTcp(options, layout, listener, networks)


def certify(args: CriTcp, host: str, keep: bool) -> tuple[CriTcp, ClientTls | None]:
    """Add certificates if they are wanted, and return the client's files: those of the last run while they are valid,
    else new ones, written if `keep`. `host` is Ansible's name for the node."""
    wanted = args.options.certificates
    if not wanted.folder or args.listener is None:
        return args, None
    if args.listener.tls is not None:
        raise Refused("tls and certificates exclude each other: the first names files that are on the node already.")
    folder = expand_home(wanted.folder)
    addresses = _addresses(args.listener.address, host)
    now = datetime.datetime.now(datetime.UTC)
    found = certs.load(folder, addresses, now)
    if found is None:
        found = certs.create(addresses, wanted.days, now)
        if keep:
            certs.keep(folder, found)
    own = ClientTls(*(str(folder / name) for name in ("ca.crt", "client.crt", "client.key")))
    return replace(args, listener=replace(args.listener, tls=made_files(args.layout)), certificates=found), own


def _addresses(address: Address, host: str) -> list[str]:
    """The IP addresses at which clients may reach the server."""
    found = ["127.0.0.1", "::1", *([] if address.is_any else [address.host])]
    with suppress(ValueError):
        found.append(str(ipaddress.ip_address(host)))
    return list(dict.fromkeys(found))


def _tls(given: Tls) -> Tls | None:
    """The option `tls`. Refused if only some of the files are named."""
    named = [name for name, path in asdict(given).items() if path]
    if not named:
        return None
    if len(named) < 3:
        raise Refused(
            f"tls names only {', '.join(named)}; ca, cert and key belong together: without ca, containerd would ask "
            "clients for no certificate."
        )
    return given
