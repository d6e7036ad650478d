# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One report about all nodes: Markdown, a single HTML file with the pictures in it, and JSON for machines.

Shape of a node's part, as win_k8s_diagnose returns it: `{host, windows, message, message_means, counts: {errors: n,
warnings: n, notes: n}, services: [line], facts: [line], picture, causes: [finding with consequences], notes: [finding],
said: [line]}`; a node that was not reached has `{host, error}` alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

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
_STYLE = """body{font-family:"Segoe UI",sans-serif;max-width:75em;margin:2em auto;padding:0 1em;color:#1b1b1b}
table{border-collapse:collapse;width:100%}td,th{border:1px solid #ccc;padding:.4em;text-align:left;vertical-align:top}
.broken{background:#fde7e9}.cannot_tell{background:#fff8e1}.known_limitation{background:#eef4fb}.ok{background:#eaf7ea}
ol.node{display:flex;flex-wrap:wrap;gap:.5em;list-style:none;padding:0}
ol.node li{flex:1;min-width:8em;border:1px solid #ccc;padding:.5em}
section{padding:.1em 1em;margin:1em 0}@media print{details{display:block}}
code,pre{font-family:Consolas,monospace;white-space:pre-wrap;overflow-wrap:anywhere}svg{max-width:100%;height:auto}"""


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
    """One line about a node."""
    if node.get("error"):
        return f"not reached: {node['error']}"
    number = node.get("counts") or {}
    return ", ".join(f"{number.get(name, 0)} {name}" for name in COUNTED)


def meanings(node: Node) -> list[str]:
    """What the user's message means, a sentence for each cause; that it is not known, otherwise."""
    found = [
        " ".join(part for part in (f"{each['title']}.", each["cause"], each["remedy"], each["command"]) if part)
        for each in node.get("message_means") or ()
    ]
    return found or ["The message is not among those that are known (docs/messages.md)."]


def as_markdown(nodes: Sequence[Node]) -> str:
    """For people, and for an issue."""
    lines = ["# Diagnosis", "", _GENERAL, "", "| Node | |", "|---|---|"]
    lines += [f"| {_cell(node['host'])} | {_cell(headline(node))} |" for node in nodes]
    for node in nodes:
        lines += ["", f"## {node['host']}", ""]
        if node.get("error"):
            lines += [f"Not reached: {node['error']}"]
            continue
        lines += [f"Windows: {node.get('windows')}", ""]
        if node.get("message"):
            lines += [f"Your message: `{node['message']}`", "", *(f"- {_cell(each)}" for each in meanings(node)), ""]
        lines += [line for each in node.get("causes") or () for line in _cause_markdown(each)]
        lines += [f"- {_cell(each)}" for each in (node.get("said") or [])[-1:] if not each.startswith(" ")]
        lines += ["", "What cannot be, and what nobody could look at:", ""] if node.get("notes") else []
        lines += [f"- {_cell(_note(each))}" for each in node.get("notes") or ()]
        lines += ["", "What a report of a bug has to say, and services with their exit codes as Windows has them:", ""]
        lines += [
            "```text",
            *(str(line) for line in (*(node.get("facts") or ()), *(node.get("services") or ()))),
            "```",
        ]
        for one in node.get("causes") or ():
            if one["evidence"]:
                evidence = (str(line) for line in one["evidence"])
                lines += ["", f"### {node['host']}, {one['title']}: what was seen", "", "```text", *evidence, "```"]
    return "\n".join([*lines, "", _HELP, ""])


def as_html(nodes: Sequence[Node]) -> str:
    """One file without scripts that needs nothing from elsewhere: it can be mailed and opened anywhere."""
    parts = [
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Diagnosis</title>',
        f"<style>{_STYLE}</style></head><body><h1>Diagnosis</h1><p>{escape(_GENERAL)}</p><ul>",
    ]
    parts += [
        f'<li><a href="#{escape(str(node["host"]), quote=True)}">{escape(str(node["host"]))}</a>: '
        f"{escape(headline(node))}</li>"
        for node in nodes
    ]
    parts.append("</ul>")
    for node in nodes:
        parts.append(f'<h2 id="{escape(str(node["host"]), quote=True)}">{escape(str(node["host"]))}</h2>')
        if node.get("error"):
            parts.append(f'<p class="broken">Not reached: {escape(str(node["error"]))}</p>')
            continue
        parts.append(f"<p>Windows: {escape(str(node.get('windows')))}</p>")
        if node.get("message"):
            parts.append(f"<p>Your message: <code>{escape(str(node['message']))}</code></p><ul>")
            parts += [f"<li>{escape(each)}</li>" for each in meanings(node)] + ["</ul>"]
        parts.append(_strip(node))
        parts += [_cause_html(each) for each in node.get("causes") or ()]
        parts += [f"<p>{escape(said)}</p>" for said in (node.get("said") or [])[-1:] if not said.startswith(" ")]
        parts.append(draw(node.get("picture") or {}, f"The network of {node['host']}"))
        if notes := "".join(f"<li>{escape(_note(each))}</li>" for each in node.get("notes") or ()):
            parts.append(f"<h3>What cannot be, and what nobody could look at</h3><ul>{notes}</ul>")
        for title, name in (("What a report of a bug has to say", "facts"), ("Services", "services")):
            text = "\n".join(str(line) for line in node.get(name) or ())
            parts.append(f"<h3>{title}</h3><pre>{escape(text)}</pre>")
    return "\n".join([*parts, f"<p>{escape(_HELP)}</p></body></html>", ""])


COMPONENTS: Mapping[str, tuple[str, ...]] = {
    "host": ("host", "services"),
    "containerd": ("containerd", "cri-tcp"),
    "kubelet": ("kubelet", "pod"),
    "network": ("hns", "flannel", "cni", "traffic"),
    "kube-proxy": ("kube-proxy",),
    "API": ("node", "cluster"),
}
"""The boxes that a node is drawn as, and the first words of the ids of findings that belong to each."""


def _strip(node: Node) -> str:
    """The node as a row of its components, those with a cause marked."""
    roots = {str(each["id"]).partition(".")[0]: str(each["title"]) for each in node.get("causes") or ()}
    boxes = []
    for name, words in COMPONENTS.items():
        said = next((roots[word] for word in words if word in roots), "")
        kind = "broken" if said else "ok"
        boxes.append(f'<li class="{kind}"><b>{name}</b><br>{escape(said or "ok")}</li>')
    return "".join(('<ol class="node">', *boxes, "</ol>"))


def _cause_html(cause: Mapping[str, Any]) -> str:
    remedy = cause["remedy"]
    more = "".join(f"<li>{escape(each['title'])}: {escape(_seen(each))}</li>" for each in cause["consequences"])
    evidence = "\n".join(str(line) for line in cause["evidence"])
    kind = "broken" if cause["severity"] == "error" else "cannot_tell"
    return "".join(
        (
            f'<section class="{kind}">',
            f"<h3>{escape(cause['title'])}</h3><p>{escape(_seen(cause))} {escape(cause['cause'])}</p>",
            f"<p>{escape(remedy['text'])} {escape(remedy['cuts_off'])}</p>",
            f"<pre>{escape(remedy['command'])}</pre>" if remedy["command"] else "",
            f"<details><summary>evidence</summary><pre>{escape(evidence)}</pre></details>" if evidence else "",
            f"<details><summary>what follows from it</summary><ul>{more}</ul></details>" if more else "",
            "</section>",
        )
    )


def _cause_markdown(cause: Mapping[str, Any]) -> list[str]:
    remedy = cause["remedy"]
    follows = "; ".join(str(each["title"]) for each in cause["consequences"])
    return [
        f"### {cause['title']}",
        "",
        f"{_seen(cause)} {cause['cause']} {remedy['text']} {remedy['cuts_off']}".strip(),
        "",
        *(("```console", f"$ {remedy['command']}", "```", "") if remedy["command"] else ()),
        *((f"From it follows: {follows}.", "") if follows else ()),
    ]


def _seen(one: Mapping[str, Any]) -> str:
    wanted = f"; wanted {one['wanted']}" if one["wanted"] else ""
    return f"{one['subject']}: {one['seen']}{wanted}."


def _note(one: Mapping[str, Any]) -> str:
    return f"{one['title']}. {_seen(one)} {one['remedy']['text']}"


def _cell(text: object) -> str:
    """Text in a cell of a table: a bar would end it, and HTML would be HTML."""
    return " ".join(str(text).split()).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
