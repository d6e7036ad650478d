# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""One report about all nodes: Markdown, a single HTML file with the pictures in it, and JSON for machines.

Shape of a node's part, as win_k8s_diagnose returns it: `{host, windows, message, counts: {verdict: n}, services:
[line], picture, results: [{id, title, verdict, why, seen, remedy, run, page}]}`; a node that was not reached has
`{host, error}` alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from .model import BROKEN, CANNOT_TELL, KNOWN_LIMITATION, OK, WORDS, Verdict
from .picture import draw

SCHEMA = 1
ORDER: tuple[Verdict, ...] = (BROKEN, CANNOT_TELL, KNOWN_LIMITATION, OK)

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
    """How many answers of each kind over all nodes, and how many nodes were not reached."""
    total: dict[str, int] = dict.fromkeys(ORDER, 0)
    for node in nodes:
        for verdict, number in (node.get("counts") or {}).items():
            total[str(verdict)] = total.get(str(verdict), 0) + int(number)
    return {**total, "unreachable": sum(1 for node in nodes if node.get("error"))}


def as_json(nodes: Sequence[Node]) -> str:
    """For a machine; `broken` says whether anything is."""
    total = counts(nodes)
    whole = {"schema": SCHEMA, "broken": bool(total[BROKEN]), "counts": total, "nodes": list(nodes)}
    return json.dumps(whole, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def headline(node: Node) -> str:
    """One line about a node."""
    if node.get("error"):
        return f"not reached: {node['error']}"
    number = node.get("counts") or {}
    return ", ".join(f"{number.get(verdict, 0)} {WORDS[verdict]}" for verdict in ORDER)


def meanings(node: Node) -> list[str]:
    """What the user's message means, a sentence for each cause; that it is not known, otherwise."""
    found = [
        " ".join(part for part in (f"{each['title']}.", each["cause"], each["remedy"], each["command"]) if part)
        for each in node.get("message_means") or ()
    ]
    return found or ["The message is not among those that are known (docs/messages.md)."]


def sorted_results(node: Node) -> list[Mapping[str, Any]]:
    """The worst first; within a verdict in the order of the checks."""
    results = list(node.get("results") or ())
    return sorted(results, key=lambda one: ORDER.index(one["verdict"]))


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
        lines += ["| Check | Verdict | Why | What to do |", "|---|---|---|---|"]
        for one in sorted_results(node):
            todo = " ".join(part for part in (one["remedy"], f"Run: `{one['run']}`" if one["run"] else "") if part)
            where = f"{one['id']} {one['title']} ({one['page']})"
            lines.append(f"| {_cell(where)} | {WORDS[one['verdict']]} | {_cell(one['why'])} | {_cell(todo)} |")
        lines += ["", "Services, with their exit codes as Windows has them:", "", "```text"]
        lines += [*(str(line) for line in node.get("services") or ()), "```"]
        for one in sorted_results(node):
            if one["seen"] and one["verdict"] != OK:
                lines += ["", f"### {node['host']}, {one['id']}: what was seen", "", "```text", *one["seen"], "```"]
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
        parts.append("<table><tr><th>Check</th><th>Verdict</th><th>Why</th><th>What to do</th></tr>")
        parts += [_row(one) for one in sorted_results(node)]
        services = "\n".join(str(line) for line in node.get("services") or ())
        parts.append(f"</table><h3>Services</h3><pre>{escape(services)}</pre>")
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


def _row(one: Mapping[str, Any]) -> str:
    seen = "\n".join(str(line) for line in one["seen"])
    detail = f"<details><summary>what was seen</summary><pre>{escape(seen)}</pre></details>" if seen else ""
    run = f"<p>Run: <code>{escape(one['run'])}</code></p>" if one["run"] else ""
    return (
        f'<tr class="{one["verdict"]}"><td><b>{escape(one["id"])}</b> {escape(one["title"])}<br><code>'
        f"{escape(one['page'])}</code></td><td>{WORDS[one['verdict']]}</td><td>{escape(one['why'])}{detail}</td>"
        f"<td>{escape(one['remedy'])}{run}</td></tr>"
    )


def _cell(text: object) -> str:
    """Text in a cell of a table: a bar would end it, and HTML would be HTML."""
    return " ".join(str(text).split()).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
