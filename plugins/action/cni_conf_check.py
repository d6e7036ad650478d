# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Checks a CNI configuration; documented in modules/cni_conf_check.py."""

from __future__ import annotations

import base64
import difflib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleActionFail

from ..plugin_utils.components.cni.cni_conf import FILE
from ..plugin_utils.components.layout import Layout
from ..plugin_utils.diagnosis.cni_fix import fix
from ..plugin_utils.diagnosis.cni_lint import Subject, encoding, lint
from ..plugin_utils.diagnosis.finding import Finding, fails
from ..plugin_utils.engine import windows_path
from ..plugin_utils.engine.reading import file_query
from ..plugin_utils.network.conf import ConfError, decode
from ..plugin_utils.node_action import NodeAction

LIMIT = 64 * 1024

SHOWN = 10
"""So many findings a failed task prints itself; all of them are in its result."""


class ActionModule(NodeAction):
    """cni_conf_check."""

    module = "cni_conf_check"

    def work(self, options: dict[str, Any], layout: Layout) -> dict[str, Any]:
        """What is wrong with a file of the controller, a text, or the node's cni.conf; a local file is mended if that
        is wanted."""
        if options["fix"] and not options["path"]:
            raise AnsibleActionFail("cni_conf_check: fix: true mends a file of the controller; name it with path.")
        name, content, programs = self._content(options, layout)
        text, refused = _decoded(content)
        subject = _subject(options, name, programs)
        findings, mended = (*encoding(refused, subject), *lint(text, subject)), fix(text, subject)
        patch = _patch(name, text, mended)
        result: dict[str, Any] = {"changed": False, "file": name, "fixed": mended, "patch": patch}
        if mended != text or refused:
            header = "as it would be" if not options["fix"] or self._task.check_mode else "after"
            result["diff"] = [
                {
                    "before": text,
                    "after": mended,
                    "before_header": f"{name} (before)",
                    "after_header": f"{name} ({header})",
                }
            ]
        if options["fix"] and (mended != text or refused):
            result["changed"] = True
            findings = lint(mended, subject)
            if not self._task.check_mode:
                Path(self._found(options["path"])).write_bytes(mended.encode())
        return result | {
            "failed": fails(findings, options["fail_on"]),
            "findings": [each.as_data() for each in findings],
            # Ansible prints the diff of a task that changes something, no other.
            "msg": _message(name, findings, "" if options["fix"] else patch, shown=self._task.diff),
            "winkube": {"calls": self._link.calls},
        }

    def _content(self, options: Mapping[str, Any], layout: Layout) -> tuple[str, bytes, tuple[str, ...] | None]:
        """The file's name, its bytes, and the programs beside it as far as they are known."""
        if options["content"] is not None:
            return options["name"] or FILE, options["content"].encode(), None
        if options["path"]:
            path = self._found(options["path"])
            try:
                return options["name"] or Path(path).name, Path(path).read_bytes(), None
            except OSError as error:
                raise AnsibleActionFail(f"cni_conf_check: {path} cannot be read: {error}.") from error
        path = windows_path.join(layout.cni_conf_dir, options["name"] or FILE)
        reading = self.read_of((file_query(path, content_limit=LIMIT), file_query(layout.cni_bin_dir, entries=True)))
        content = reading.file(path).get("content")
        if content is None:
            raise AnsibleActionFail(
                f"cni_conf_check: there is no {path} on {self._host}, or it has more than 64 KB; name another with "
                "name and node.cni_conf_dir."
            )
        entries = reading.file(layout.cni_bin_dir).get("entries")
        found = tuple(str(each) for each in entries) if isinstance(entries, list) else None
        return path, base64.b64decode(content), found

    def _found(self, path: str) -> str:
        """Relative names count from the folder of the playbook, as those of other actions do."""
        base = Path(self._loader.get_basedir())
        return path if Path(path).is_absolute() else str(base / path)


def _decoded(content: bytes) -> tuple[str, str]:
    """The text, and why Go's decoder would refuse its encoding; empty if it would not."""
    try:
        return decode(content), ""
    except ConfError as error:
        wide = "utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-16-le"
        name = "utf-8-sig" if content.startswith(b"\xef\xbb\xbf") else wide
        return content.decode(name, errors="replace"), str(error)


def _subject(options: Mapping[str, Any], name: str, programs: tuple[str, ...] | None) -> Subject:
    return Subject(
        file=name,
        network_name=options["network_name"],
        runtime=options["container_runtime"],
        plugins_version=options["plugins_version"],
        cluster_cidr=options["cluster_cidr"],
        service_cidr=options["service_cidr"],
        subnet=options["subnet"],
        management_ip=options["management_ip"],
        programs=programs,
    )


def _patch(name: str, text: str, mended: str) -> str:
    """What can be mended, as a unified diff; empty if nothing can."""
    lines = difflib.unified_diff(
        text.splitlines(), mended.splitlines(), f"{name} (before)", f"{name} (after)", lineterm=""
    )
    return "\n".join(lines)


def _message(name: str, findings: tuple[Finding, ...], patch: str, *, shown: bool) -> str:
    if not findings:
        return f"{name}: no finding."
    listed = [f"{one.severity} {one.id}: {one.sentence}" for one in findings[:SHOWN]]
    more = [f".. and {len(findings) - SHOWN} more in findings."] if len(findings) > SHOWN else []
    if not patch:
        mend = []
    elif shown:
        mend = ["What can be mended:", patch]
    else:
        mend = ["Some of it can be mended: --diff shows how, and 'fixed' is the text."]
    return "\n".join([f"{name}: {len(findings)} findings.", *listed, *more, *mend])
