# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads one file into hosts, and converts the result to and from its cached form."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..engine.local_path import expand_home
from ..foreign.encoding import decode
from ..foreign.files import ForeignError, read_file
from . import document, schema, source, variables
from .problems import Problem, quote
from .schema import has_template
from .tree import Mapping, Scalar
from .variables import WS_MANAGEMENT, way

_CACHE_FORMAT = "1"


class VaultError(Exception):
    """A vaulted file cannot be decrypted; the text says why."""


@dataclass(frozen=True)
class Reader:
    """`decrypt` returns the text of a vaulted file or raises VaultError; `leaf` is that of `tree.plain`; `agent` tells
    whether an SSH agent is available."""

    decrypt: Callable[[Path], str]
    leaf: variables.Leaf
    agent: bool


@dataclass(frozen=True)
class Reading:
    """Hosts or problems of one file; `notices` are (level, sentence). Every sentence names its place."""

    hosts: tuple[variables.Host, ...] = ()
    problems: tuple[str, ...] = ()
    notices: tuple[tuple[str, str], ...] = ()
    cacheable: bool = False


def read(path: Path, reader: Reader) -> Reading:
    """Read one Node YAML. Every error is returned as a problem; nothing is raised."""
    name = file_name(path)
    if found := source.name_special_file(path):
        return Reading(notices=(("warning", f"{name} is {found} and no file; it is skipped."),))
    data = b""
    try:
        if problem := check_size(path):
            return Reading(problems=(f"{name}:1:1: {problem}",))
        data = read_file(path, source.MOST_BYTES)
        encrypted = source.is_vaulted(data)
        text = reader.decrypt(path) if encrypted else decode(data)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        found = f"found the byte 0x{data[error.start]:02x}, which is not UTF-8"
        return Reading(problems=(f"{name}:{line}:{column}: {found}, wanted text; save the file as UTF-8.",))
    except OSError as error:
        return Reading(
            problems=(f"{name}:1:1: found a file that cannot be read ({error.strerror}), wanted a Node YAML.",)
        )
    except ForeignError as error:
        return Reading(problems=(f"{name}:1:1: {error}",))
    except VaultError as error:
        found = f"found a vaulted file that cannot be decrypted ({error})"
        return Reading(
            problems=(f"{name}:1:1: {found}, wanted its password; give --vault-id or --vault-password-file.",)
        )
    file = document.read(text, hide=encrypted)
    if file.problems:
        return Reading(problems=tuple(problem.locate(name) for problem in file.problems))
    place = variables.Place(name, str(path.absolute().parent), str(Path.home()))
    hosts = tuple(variables.host(node, place, reader.leaf) for node in file.nodes)
    said = [*file.notices]
    for node in file.nodes:
        said += credentials(node, agent=reader.agent, encrypted=encrypted)
    sentences = [(notice.level, notice.locate(name)) for notice in said]
    sentences += [("warning", text) for host in hosts for text in _key_file(host)]
    cacheable = not encrypted and all(map(variables.cacheable, file.nodes))
    return Reading(hosts, notices=tuple(sentences), cacheable=cacheable)


def check_size(path: Path) -> str | None:
    """A sentence if the file is too large to read, else None. Raises OSError."""
    size, most = path.stat().st_size, source.MOST_BYTES
    if size <= most:
        return None
    return f"found a file of {size / 2**20:.1f} MB, wanted at most {most >> 20} MB; give several files in a folder."


def find_names_twice(hosts: tuple[variables.Host, ...], known: dict[str, str]) -> Iterator[str]:
    """Report nodes with the same name. `known` maps names from earlier sources to their places."""
    seen = dict(known)
    for host in hosts:
        first = seen.setdefault(host.node_name, host.source)
        if first != host.source:
            found = f"found a second node {quote(host.node_name)} (first in {first})"
            yield f"{host.source}: {found}, wanted each name once; rename one of the two."


def find_addresses_twice(hosts: tuple[variables.Host, ...], known: dict[str, str]) -> Iterator[str]:
    """Report nodes with the same address and port: a warning, since behind two bastions these may be two machines.
    `known` maps addresses of earlier sources (`address_of`) to their places."""
    seen = dict(known)
    for host in hosts:
        address = address_of(host.variables)
        first = seen.setdefault(address, host.source)
        if address and first != host.source:
            yield (
                f"{host.source}: found the address {address} of {quote(host.node_name)} a second time (first in "
                f"{first}). If that is one machine, correct one of the two: a run refuses to make two nodes of it."
            )


def address_of(said: dict[str, Any]) -> str:
    """`192.168.122.220:22` of a host's variables; without the port where it names none, "" for a template."""
    host, port = str(said.get("ansible_host") or ""), said.get("ansible_port")
    if has_template(host):
        return ""
    return f"{host}:{port}" if port is not None else host


def file_name(path: Path) -> str:
    """The path for messages, relative to the current folder where possible."""
    try:
        return str(path.absolute().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


def _key_file(host: variables.Host) -> Iterator[str]:
    if not host.key_file:
        return
    path = expand_home(host.key_file)
    try:
        mode = path.stat().st_mode & 0o777
    except OSError:
        remedy = "correct privateKey, or put the key there before a playbook runs"
        yield f"{host.source}: the private key {path} of {host.name} cannot be found; {remedy}."
        return
    if mode & 0o077:
        remedy = f"ssh will not use it: chmod 600 '{path}'"
        yield f"{host.source}: the private key {path} of {host.name} can be read by others (mode {mode:04o}); {remedy}."


def fingerprint(path: Path, reader: Reader) -> str | None:
    """A mark that changes with the file, its name, the schema or the agent; None if the file cannot be read."""
    try:
        status = path.stat()
    except OSError:
        return None
    rules = schema.SCHEMA_FILE.read_text(encoding="utf-8")
    digest = hashlib.sha256("\n".join((rules, file_name(path), str(reader.agent))).encode()).hexdigest()[:16]
    return f"{_CACHE_FORMAT}:{digest}:{status.st_size}:{status.st_mtime_ns}"


def to_cache(reading: Reading, mark: str) -> dict[str, Any]:
    """The cached form (JSON) of a `cacheable` reading."""
    return {
        "fingerprint": mark,
        "hosts": [asdict(host) for host in reading.hosts],
        "notices": [list(notice) for notice in reading.notices],
    }


def from_cache(kept: Any, mark: str | None) -> Reading | None:
    """The cached reading, or None if the file has changed since."""
    if not mark or not isinstance(kept, dict) or kept.get("fingerprint") != mark:
        return None
    hosts = tuple(
        variables.Host(**{**host, "groups": tuple(variables.Group(**group) for group in host["groups"])})
        for host in kept["hosts"]
    )
    return Reading(hosts, notices=tuple((level, text) for level, text in kept["notices"]), cacheable=True)


# What works but should be known: secrets in clear text, missing credentials.


def credentials(node: Mapping, *, agent: bool, encrypted: bool) -> Iterator[Problem]:
    """Warnings about credentials. `agent`: an SSH agent is available; `encrypted`: the whole file is vaulted."""
    block = node.get("spec", "credentials")
    if not isinstance(block, Mapping):
        return
    password, key, name = block.get("password"), block.get("privateKey"), node.text("metadata", "name")
    has_password, has_key = block.text("password") != "", block.text("privateKey") != ""
    named = way(node)
    winrm = named in WS_MANAGEMENT
    if isinstance(password, Scalar) and has_password and not encrypted and _is_clear_text(password):
        text = (
            f"the password of {name} stands here in clear text; encrypt it (ansible-vault encrypt_string), take it "
            "from the environment (\"{{ lookup('env', 'NAME') }}\"), or use a private key."
        )
        yield Problem(password.at, text, level="warning")
    if winrm and key is not None and has_key:
        text = f"privateKey of {name} is not used: {name} is reached by {named}, which needs a password."
        yield Problem(key.at, text, level="warning")
    if has_password or (not winrm and (has_key or agent)):
        return
    if winrm:
        ways = "password in this file, or ansible_password in group_vars or host_vars"
    else:
        ways = (
            "privateKey or password in this file, ansible_ssh_private_key_file or ansible_password in group_vars or "
            "host_vars, or an SSH agent (SSH_AUTH_SOCK)"
        )
    # What group_vars have is not known yet: for a node that cannot be logged in to, -v shows this.
    text = f"{name} has no credentials here; give {ways}. If variables have them, all is well."
    yield Problem(block.at, text, level="hint")


def _is_clear_text(password: Scalar) -> bool:
    return password.tag != "vault" and (password.tag == "unsafe" or not has_template(password.value))
