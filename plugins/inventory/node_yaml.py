# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Inventory plugin: Node YAML files as hosts."""

from __future__ import annotations

DOCUMENTATION = r"""
name: node_yaml
short_description: Windows nodes described by Node YAML files
author:
  - The winkube.node authors (@winkube)
version_added: 0.1.0
description:
  - Makes an inventory host of every C(Node) of C(windows.k8s.io/v1alpha1), the format of SIG Windows Dev Tools.
  - Takes such a file as inventory source directly (C(-i node.yaml)), a folder of them (C(-i nodes/)), or a source file
    that says C(plugin) and names them in O(paths).
  - All mistakes of all files of a source are reported at once, each with file, line and column, what was found and what
    is wanted. With a mistake in any of them nothing is taken from that source.
  - The keys, and the variable that each becomes, are described in C(docs/inventory.md). C(docs/node.schema.json) is the
    JSON Schema.
extends_documentation_fragment:
  - ansible.builtin.constructed
  - ansible.builtin.inventory_cache
options:
  plugin:
    description: Marks a source file of this plugin. A Node YAML that is itself the source needs none.
    type: str
    default: winkube.node.node_yaml
    choices:
      - winkube.node.node_yaml
  paths:
    description:
      - Node YAML files, patterns (V(nodes/*.yml), V(nodes/**/*.yml)) and folders. Relative paths start at the source
        file.
      - A file that is named here, or that matches a pattern, has to be a Node YAML. Of a folder the Node YAMLs in it
        and below it are taken, other files are left alone.
      - Templates are possible; extra variables are known.
    type: list
    elements: str
    default: []
notes:
  - Used directly, the plugin has to stand before P(ansible.builtin.yaml#inventory) in C(enable_plugins). That one takes
    any YAML file for an inventory and goes on without hosts. A source file that says C(plugin) needs no configuration.
  - A source with a mistake is not handed on to other plugins. The run ends there when C(any_unparsed_is_failed) or
    C(unparsed_is_failed) is set, else it goes on without these hosts, with a warning.
  - With O(cache=true) the result is kept for each file as long as the file is unchanged. Files in which a node has a
    password, a vaulted value or a template are never kept.
"""

EXAMPLES = r"""
# nodes.yml, a source file: ansible-inventory -i nodes.yml --graph
plugin: winkube.node.node_yaml
paths:
  - nodes/*.yml
  - lab/win1.yaml
keyed_groups:
  - key: winkube_network_mode | default('')
    prefix: net
compose:
  rack: winkube_node_name[:2]
strict: false

# A Node YAML itself: ansible-inventory -i win1.yaml --host win1
# apiVersion: windows.k8s.io/v1alpha1
# kind: Node
# metadata:
#   name: win1
# spec:
#   credentials:
#     username: Administrator
#     hostname: 192.168.122.220:22
#     privateKey: ~/.ssh/id_ed25519
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ansible import constants as C  # noqa: N812 - its name everywhere in Ansible
from ansible.errors import AnsibleError, AnsibleParserError
from ansible.parsing.vault import EncryptedString
from ansible.plugins.inventory import BaseInventoryPlugin, Cacheable, Constructable
from ansible.plugins.loader import connection_loader
from ansible.template import trust_as_template

from ..plugin_utils.foreign import spelling
from ..plugin_utils.foreign.encoding import decode
from ..plugin_utils.node.ssh import add_keep_alive
from ..plugin_utils.node_yaml import reading, source, syntax
from ..plugin_utils.node_yaml.problems import Problem, one_of, quote, tidy
from ..plugin_utils.node_yaml.tree import Mapping, Scalar, build
from ..plugin_utils.node_yaml.variables import SSH_ARGUMENTS

if TYPE_CHECKING:
    from ansible.inventory.data import InventoryData
    from ansible.parsing.dataloader import DataLoader

    from ..plugin_utils.node_yaml.variables import Host


class InventoryModule(BaseInventoryPlugin, Constructable, Cacheable):
    """See DOCUMENTATION."""

    NAME = "winkube.node.node_yaml"

    def verify_file(self, path: str) -> bool:
        """Whether the file is a Node YAML, or must not be passed over as one, or is a source of this plugin."""
        # Not the base class's answer, which is False for a file that cannot be read: no one would say why.
        return source.claims(Path(path)) or source.names_plugin(Path(path), self.NAME)

    def parse(self, inventory: InventoryData, loader: DataLoader, path: str, cache: bool = True) -> None:
        """Ends the run after all sentences have been printed, where Ansible would end it as well (`_refuse`)."""
        super().parse(inventory, loader, path, cache=cache)
        here = Path(path)
        if source.names_plugin(here, self.NAME):
            nodes, problems = self._list_files(here)
        else:
            self.set_options()
            if self.get_option("cache"):
                self.load_cache_plugin()
            nodes, problems = [here], []
            self._decline_foreign_vault(here)
        results = self._read_all(here, nodes, cache)
        for level, text in dict.fromkeys(notice for result in results for notice in result.notices):
            if level == "deprecated":
                self.display.deprecated(text, version="1.0.0", collection_name="winkube.node")
            elif level == "hint":
                self.display.v(text)
            else:
                self.display.warning(text)
        hosts = tuple(host for result in results for host in result.hosts)
        problems += [problem for result in results for problem in result.problems]
        problems += reading.find_names_twice(hosts, self._nodes_of_other_sources())
        for sentence in reading.find_addresses_twice(hosts, self._addresses_of_other_sources()):
            self.display.warning(sentence)
        if problems:
            self._refuse(here, problems)
            return
        for host in hosts:
            self._add(host)

    def _refuse(self, here: Path, problems: list[str]) -> None:
        """Print all sentences, and end the run unless the user wants to go on without sources that cannot be read.

        No error is raised: Ansible would try all other plugins on the file, which print some thirty lines or take it
        for an inventory of theirs. It is our file, and it gives no host. So `any_unparsed_is_failed` and
        `unparsed_is_failed` are obeyed here, by the one exception that nothing catches before the command line
        (ansible-core inventory/manager.py, parse_source).
        """
        sentences = list(dict.fromkeys(problems))
        for sentence in sentences:
            self.display.error(sentence)
        count = "1 mistake" if len(sentences) == 1 else f"{len(sentences)} mistakes"
        said = f"{count} in {reading.file_name(here)}, named above; no host was taken from it"
        if C.INVENTORY_ANY_UNPARSED_IS_FAILED or C.INVENTORY_UNPARSED_IS_FAILED:
            if len(sentences) > 1:
                self.display.error(f"{said}.")
            raise SystemExit(1)
        self.display.warning(f"{said}. The run goes on without them, since any_unparsed_is_failed is off.")

    def _list_files(self, here: Path) -> tuple[list[Path], list[str]]:
        """The files that a source file names, and what is wrong with the source file."""
        name = reading.file_name(here)
        if problem := reading.check_size(here):
            return [], [f"{name}:1:1: {problem}"]
        composed = syntax.compose(decode(here.read_bytes()))
        problems = [*composed.problems]
        for document in composed.documents if not problems else ():
            problems += self._unknown_options(document) if document is not None else ()
        if problems:
            return [], [problem.locate(name) for problem in tidy(problems)]
        self._read_config_data(str(here))
        entries = self.get_option("paths")
        if not entries:
            return [], [f"{name}:1:1: found no paths, wanted 'paths:' with a list of files, patterns or folders."]
        found: dict[Path, Path] = {}
        sentences: list[str] = []
        self.templar.available_variables = self._vars
        for entry in entries:
            try:
                paths, problem = source.expand(str(self.templar.template(entry)), here.absolute().parent)
            except (AnsibleError, OSError) as error:
                paths, problem = [], f"found {quote(str(entry))} in paths, which cannot be read: {error}"
            sentences += [f"{name}:1:1: {problem}"] if problem else []
            for path in paths:
                found.setdefault(path.resolve(), path)
        return list(found.values()), sentences

    def _unknown_options(self, node: Any) -> Iterator[Problem]:
        tree, problems = build(node)
        yield from problems
        self.set_options()
        known = {"plugin", *self._options}
        for member in tree.members if isinstance(tree, Mapping) else ():
            if member.key not in known:
                meant = spelling.meant(member.key, known)
                remedy = f"did you mean {meant}?" if meant else "remove it."
                found = f"found the unknown option {quote(member.key)}"
                yield Problem(member.at, f"{found}, wanted {one_of(sorted(known))}: {remedy}")

    def _decline_foreign_vault(self, here: Path) -> None:
        """A vaulted file is claimed unread; if it is something else, it is left to the other plugins."""
        if source.name_special_file(here):
            return
        with here.open("rb") as stream:
            vaulted = source.is_vaulted(stream.read(source.HEAD_BYTES))
        if vaulted:
            text = _plain_text(self.loader.get_text_file_contents(str(here)))
            if not source.is_node_yaml(text):
                raise AnsibleParserError(f"{reading.file_name(here)} is vaulted, and what is in it is not a Node YAML.")

    def _decrypt(self, path: Path) -> str:
        try:
            return _plain_text(self.loader.get_text_file_contents(str(path)))
        except AnsibleError as error:
            raise reading.VaultError(str(error).rstrip(".")) from error

    def _read_all(self, here: Path, nodes: list[Path], use_cache: bool) -> list[reading.Reading]:
        """Every file, from the cache where that is on and the file unchanged."""
        reader = reading.Reader(self._decrypt, _leaf, bool(os.environ.get("SSH_AUTH_SOCK")))
        if not self.get_option("cache"):
            return [reading.read(node, reader) for node in nodes]
        key = self.get_cache_key(str(here))
        old: dict[str, Any] = {}
        if use_cache:
            try:
                old = dict(self._cache[key])
            except KeyError:
                old = {}
        new: dict[str, Any] = {}
        results = []
        for node in nodes:
            mark = reading.fingerprint(node, reader)
            result = reading.from_cache(old.get(str(node)), mark) or reading.read(node, reader)
            if result.cacheable and mark:
                new[str(node)] = reading.to_cache(result, mark)
            results.append(result)
        self._cache[key] = new
        return results

    def _nodes_of_other_sources(self) -> dict[str, str]:
        """Node name to place, of the hosts that this plugin made from sources read before."""
        return {
            str(host.vars["winkube_node_name"]): str(host.vars["winkube_node_source"])
            for host in self.inventory.hosts.values()
            if "winkube_node_source" in host.vars and "winkube_node_name" in host.vars
        }

    def _addresses_of_other_sources(self) -> dict[str, str]:
        return {
            reading.address_of(host.vars): str(host.vars["winkube_node_source"])
            for host in self.inventory.hosts.values()
            if "winkube_node_source" in host.vars
        }

    def _add(self, host: Host) -> None:
        self.inventory.add_host(host.name)
        for variable, value in host.variables.items():
            self.inventory.set_variable(host.name, variable, _trust(value))
        defaults: dict[str, Any] = {}
        for group in host.groups:
            name = self.inventory.add_group(group.name)
            self.inventory.add_child(name, host.name)
            for variable, value in group.variables.items():
                said = add_keep_alive(_own_ssh_arguments()) if variable == SSH_ARGUMENTS else value
                self.inventory.set_variable(name, variable, _trust(said))
            if group.variables:
                self.inventory.set_variable(name, "ansible_group_priority", 0)  # any group of the user's wins
            defaults |= group.variables
        known = _trust({**defaults, **host.variables})
        strict = self.get_option("strict")
        self._set_composite_vars(self.get_option("compose"), known, host.name, strict=strict)
        self._add_host_to_composed_groups(self.get_option("groups"), known, host.name, strict=strict)
        self._add_host_to_keyed_groups(self.get_option("keyed_groups"), known, host.name, strict=strict)


def _own_ssh_arguments() -> str:
    """What the user has said by --ssh-extra-args, the environment or ansible.cfg: a variable alone would hide it."""
    connection_loader.get("ssh", class_only=True)  # its options are known from then on
    said = C.config.get_config_value("ssh_extra_args", plugin_type="connection", plugin_name="ssh")
    return str(said or "")


class _Literal(str):
    """Text that is not a template even if it looks like one: `!unsafe`."""


def _leaf(scalar: Scalar) -> Any:
    """A scalar's value; `_trust` does the rest."""
    if scalar.tag == "vault":
        return EncryptedString(ciphertext=scalar.value)
    return _Literal(scalar.value) if scalar.tag == "unsafe" else scalar.value


def _trust(value: Any) -> Any:
    """As a value of any inventory file: who writes it may use templates. Vaulted text stays vaulted."""
    if isinstance(value, _Literal):
        return "".join(value)
    if isinstance(value, str):
        return trust_as_template(value)
    if isinstance(value, dict):
        return {key: _trust(item) for key, item in value.items()}
    return [_trust(item) for item in value] if isinstance(value, list) else value


def _plain_text(text: str) -> str:
    """Without Ansible's tags."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
