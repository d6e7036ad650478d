# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One report about all nodes: Markdown, a single HTML file with the pictures in it, and JSON for machines.

Shape of a node's part: of its record `ready`, `pod_cidr`, `versions` and `standing`, which says it for people, and what
win_k8s_diagnose returns: `{host, windows, message, message_means, counts: {errors: n,
warnings: n, notes: n}, services: [line], facts: [line], picture, causes: [finding with consequences], notes: [finding],
said: [line]}`; a node that was not reached has `host`, `error` and what is of its record.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ..pages.render import drawing, render
from .picture import draw

SCHEMA = 2
COUNTED = ("errors", "warnings", "notes")

Node = Mapping[str, Any]

_GENERAL = (
    "Begin with the general page, https://kubernetes.io/docs/tasks/debug/, if the cluster's Linux nodes have the same "
    "trouble; then the findings below."
)
_HELP = (
    "Help: #sig-windows on the Kubernetes Slack; issues at https://github.com/kubernetes/kubernetes with /sig windows."
)


def counts(nodes: Sequence[Node]) -> dict[str, int]:
    """How many errors, warnings and notes over all nodes, and how many nodes were not reached."""
    total = {name: sum(int((node.get("counts") or {}).get(name, 0)) for node in nodes) for name in COUNTED}
    return {**total, "unreachable": sum(1 for node in nodes if node.get("error"))}


def as_json(nodes: Sequence[Node]) -> str:
    """For a machine; `broken` says whether anything is."""
    total = counts(nodes)
    whole = {"schema": SCHEMA, "broken": bool(total["errors"]), "counts": total, "nodes": list(nodes)}
    return json.dumps(whole, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def headline(node: Node) -> str:
    """One line about a node: its causes, the worst first, or why it was not reached."""
    if node.get("error"):
        return f"not reached: {node['error']}"
    causes = [str(each["title"]) for each in node.get("causes") or ()]
    return "; ".join(causes) or "nothing found"


def standing(node: Node) -> str:
    """Whether the Node is Ready, and its releases."""
    return str(node.get("standing") or "the Node was not seen")


def tally(node: Node) -> str:
    """How many errors, warnings and notes a node has; "" for one that was not reached."""
    number = node.get("counts") or {}
    return ", ".join(_count(int(number.get(name, 0)), name) for name in COUNTED) if not node.get("error") else ""


def lines(nodes: Sequence[Node]) -> list[str]:
    """What a terminal shows: each node with the sentences about it, or why it was not reached."""
    return [
        line
        for node in nodes
        for line in (
            f"{node['host']}: {tally(node) or headline(node)}",
            *(f"  {sentence}" for sentence in node.get("said") or ()),
        )
    ]


def verdicts(nodes: Sequence[Node]) -> dict[str, str]:
    """Host -> the sentence about it, of the nodes that are broken and of those that were not reached."""
    return {
        str(node["host"]): f"{node['host']} does not work: {headline(node)}."
        for node in nodes
        if node.get("error") or (node.get("counts") or {}).get("errors")
    }


def conclude(nodes: Sequence[Node]) -> str:
    """One sentence about all nodes."""
    sick = len(verdicts(nodes))
    return f"{len(nodes) - sick} of {len(nodes)} nodes work."


def _sick_first(nodes: Sequence[Node]) -> list[Node]:
    """As pages show them: those that do not work, then the others, each in the order of the run."""
    sick = verdicts(nodes)
    return sorted(nodes, key=lambda node: node["host"] not in sick)


def _count(number: int, plural: str) -> str:
    return f"{number} {plural.removesuffix('s') if number == 1 else plural}"


def meanings(node: Node) -> list[str]:
    """What the user's message means, a sentence for each cause; that it is not known, otherwise."""
    found = [
        " ".join(part for part in (f"{each['title']}.", each["cause"], each["remedy"], each["ours"]) if part)
        for each in node.get("message_means") or ()
    ]
    return found or ["The message is not among those that are known (docs/messages.md)."]


def as_markdown(nodes: Sequence[Node]) -> str:
    """For people, and for an issue."""
    shown = _sick_first(nodes)
    text = ["# Diagnosis", "", f"**{conclude(nodes)}**", ""]
    text += ["| Node | | Cause | |", "|---|---|---|---|"]
    text += [
        f"| {_cell(node['host'])} | {_cell(standing(node))} | {_cell(headline(node))} | {tally(node)} |"
        for node in shown
    ]
    text += ["", _GENERAL]
    for node in shown:
        text += ["", f"## {node['host']}", ""]
        if node.get("error"):
            text += [f"Not reached: {node['error']}"]
            continue
        text += [f"Node: {standing(node)}. Windows: {node.get('windows')}", ""]
        if node.get("message"):
            text += [f"Your message: `{node['message']}`", "", *(f"- {_cell(each)}" for each in meanings(node)), ""]
        text += [line for each in node.get("causes") or () for line in _cause_markdown(each)]
        text += [f"- {_cell(each)}" for each in (node.get("said") or [])[-1:] if not each.startswith(" ")]
        text += ["", "What Windows cannot do, and what could not be checked:", ""] if node.get("notes") else []
        text += [f"- {_cell(_note(each))}" for each in node.get("notes") or ()]
        text += ["", "What a report of a bug has to say, and services with their exit codes as Windows has them:", ""]
        text += [
            "```text",
            *(str(line) for line in (*(node.get("facts") or ()), *(node.get("services") or ()))),
            "```",
        ]
        for one in node.get("causes") or ():
            if one["evidence"]:
                evidence = (str(line) for line in one["evidence"])
                text += ["", f"### {node['host']}, {one['title']}: what was seen", "", "```text", *evidence, "```"]
    return "\n".join([*text, "", _HELP, ""])


def as_html(nodes: Sequence[Node]) -> str:
    """One file without scripts that needs nothing from elsewhere: it can be mailed and opened anywhere."""
    shown = [_show(node) for node in _sick_first(nodes)]
    told = {"conclusion": conclude(nodes), "general": _GENERAL, "help": _HELP}
    return render("diagnosis.html.j2", **told, nodes=shown)


COMPONENTS: Mapping[str, tuple[str, ...]] = {
    "host": ("host", "services"),
    "containerd": ("containerd", "cri-tcp", "image", "container"),
    "kubelet": ("kubelet", "start", "join", "pod", "volume"),
    "network": ("hns", "flannel", "cni", "calico", "traffic"),
    "kube-proxy": ("kube-proxy",),
    "API": ("node", "cluster", "gmsa"),
}
"""The boxes that a node is drawn as, and the first words of the ids of findings that belong to each; those of other
words belong to the host."""


def _show(node: Node) -> dict[str, Any]:
    """A node as the page's template has it."""
    if node.get("error"):
        about = {"host": node["host"], "standing": standing(node), "headline": headline(node)}
        return {**about, "tally": "", "error": node["error"]}
    last = [str(said) for said in (node.get("said") or [])[-1:] if not str(said).startswith(" ")]
    return {
        "host": node["host"],
        "standing": standing(node),
        "headline": headline(node),
        "tally": tally(node),
        "error": "",
        "windows": node.get("windows"),
        "message": node.get("message") or "",
        "meanings": meanings(node) if node.get("message") else [],
        "components": _components(node),
        "causes": node.get("causes") or [],
        "fine": " ".join(last),
        "notes": [_note(each) for each in node.get("notes") or ()],
        "picture": drawing(draw(node.get("picture") or {}, f"The network of {node['host']}")),
        "facts": [str(line) for line in node.get("facts") or ()],
        "services": [str(line) for line in node.get("services") or ()],
    }


def _components(node: Node) -> list[dict[str, str]]:
    """The node as a row of its components, those with a cause marked by the worst of them."""
    box_of = {word: name for name, words in COMPONENTS.items() for word in words}
    boxes = []
    for name in COMPONENTS:
        own = [
            each for each in node.get("causes") or () if box_of.get(str(each["id"]).partition(".")[0], "host") == name
        ]
        severity = min((str(each["severity"]) for each in own), default="")  # error stands before warning
        text = "; ".join(dict.fromkeys(str(each["title"]) for each in own)) or "nothing found"
        boxes.append({"name": name, "severity": severity, "text": text})
    return boxes


def _cause_markdown(cause: Mapping[str, Any]) -> list[str]:
    remedy = cause["remedy"]
    follows = "; ".join(str(each["title"]) for each in cause["consequences"])
    return [
        f"### {cause['title']}",
        "",
        f"{_show_seen(cause)} {cause['cause']} {remedy['text']} {remedy['cuts_off']}".strip(),
        "",
        *(("```console", f"$ {remedy['command']}", "```", "") if remedy["command"] else ()),
        *((f"Here: {remedy['ours']}", "") if remedy["ours"] and not remedy["command"] else ()),
        *((f"From it follows: {follows}.", "") if follows else ()),
    ]


def _show_seen(one: Mapping[str, Any]) -> str:
    wanted = f"; wanted {one['wanted']}" if one["wanted"] else ""
    return f"{one['subject']}: {one['seen']}{wanted}."


def _note(one: Mapping[str, Any]) -> str:
    return f"{one['title']}. {_show_seen(one)} {one['remedy']['text']}"


def _cell(text: object) -> str:
    """Text in a cell of a table: a bar would end it, and HTML would be HTML."""
    return " ".join(str(text).split()).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
