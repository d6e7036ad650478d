# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of workload_lint; the work is done by the action plugin of the same name, on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: workload_lint
short_description: Says what in Kubernetes manifests will not work on Windows nodes
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - Reads manifests on the controller, or takes objects of a cluster, and reports what Windows nodes cannot do with
    them, each finding with file, line, reason and
    remedy. The rules are listed in C(docs/workload_lint.md) of the collection.
  - Only pods for Windows are checked. Which ones are is decided by C(spec.os.name), C(nodeSelector), node affinity,
    RuntimeClass, C(windowsOptions), image and
    toleration, in this order; pods that say none of these are counted and, unless O(unknown_pods=windows), left
    alone.
  - A finding is accepted by the annotation C(lint.winkube.node/<RULE>) with the reason as its value, at the object
    or its pod template, or by O(ignore) or O(config).
  - Nothing is sent to a node, and a cluster is asked only with O(from_cluster=true). O(content) takes what
    C(kubernetes.core.helm_template) returns.
extends_documentation_fragment:
  - winkube.node.cluster
options:
  paths:
    description:
      - Files, folders and patterns on the controller. YAML with several documents, JSON, and lists are read; hidden
        folders and what git ignores are not. A broken manifest is a finding of C(unreadable-file).
      - Folders with a C(Chart.yaml) or a kustomization are rendered by C(helm), C(kustomize) or C(kubectl). What cannot
        be rendered was not checked, which is information (C(not-checked)).
    type: list
    elements: path
  content:
    description: Manifests as text, for example the output of C(helm template).
    type: str
  objects:
    description: Kubernetes objects, for example C(resources) of C(kubernetes.core.k8s_info). What another one of
      them made is left out.
    type: list
    elements: dict
  from_cluster:
    description: Read workloads, Services, volumes, RuntimeClasses and Nodes from the cluster of O(cluster), and lint
      them with the other inputs. C(examples/rbac/lint.yml) has the rights.
    type: bool
    default: false
  namespace:
    description: With O(from_cluster=true) only the workloads of this namespace; of all if it is empty.
    type: str
    default: ''
  config:
    description: A file with the settings below and with C(ignore). Options of the task stand before it. If it is not
      given, C(.workload-lint.yml) is read where the play was started, as the command does, if it is there.
    type: path
  profile:
    description: Version of Kubernetes, 1.22 to 1.37, in quotes. The newest if neither this nor O(config) says one.
    type: str
  runtime:
    description: Container runtime of the Windows nodes. V(docker) up to 1.23.
    type: str
    choices: [containerd, docker]
  mode:
    description: Network mode of the Windows nodes.
    type: str
    choices: [l2bridge, overlay]
  dsr:
    description: Whether kube-proxy runs with direct server return on the Windows nodes. What needs it is a warning
      where it is not set.
    type: bool
  builds:
    description: Windows builds of the nodes, as 20348, 10.0.20348, 2022 or ltsc2022. Nodes among O(objects) stand
      before it.
    type: list
    elements: str
  taint:
    description: Taint of the Windows nodes as C(key=value:effect), or V(none). If neither this nor Nodes among
      O(objects) tell one, nothing is said of tolerations.
    type: str
  ip_families:
    description: IP families of the cluster, C(IPv4) and C(IPv6).
    type: list
    elements: str
  host_network_gate:
    description: Whether the kubelets have the alpha gate C(WindowsHostNetwork) on (1.26 to 1.32).
    type: bool
  disable:
    description: Ids of rules that are switched off. A rule that does not exist is an error.
    type: list
    elements: str
  severity:
    description: Another severity for rules, by their ids, V(error), V(warning) or V(info).
    type: dict
  exclude:
    description: Patterns of files and folders below O(paths) that are left out.
    type: list
    elements: str
    default: []
  substitute:
    description: Whether C(${NAME}) and C(<name>) are filled in before the manifests are applied. If not, and without a
      Kustomization of Flux with C(postBuild) among them, what is said of such values is information.
    type: bool
  charts:
    description: How charts are rendered. Without an entry a chart is rendered with each of its C(ci/*-values.yaml),
      else with its defaults. These stand before C(charts) of O(config).
    type: list
    elements: dict
    suboptions:
      path:
        description: The chart's folder, or a pattern.
        type: path
        required: true
      values:
        description: Files of values.
        type: list
        elements: path
        default: []
      set:
        description: Single values as C(key=value).
        type: list
        elements: str
        default: []
  build_dependencies:
    description: Fetch what charts depend on, as their C(Chart.lock) has it, into copies of them. If it is not given,
      what O(config) says.
    type: bool
  baseline:
    description: A file that C(workload-lint --write-baseline) wrote. The findings in it are accepted.
    type: path
  fail_on_unchecked:
    description: Fail as well if a chart, a kustomization or a template was not checked. If it is not given, what
      O(config) says.
    type: bool
  unknown_pods:
    description: What to do with pods that do not say for which system they are.
    type: str
    choices: [skip, windows]
  ignore:
    description: Findings that are accepted.
    type: list
    elements: dict
    suboptions:
      rule:
        description: Ids of rules. An id that does not exist is an error.
        type: list
        elements: str
        required: true
      reason:
        description: Why.
        type: str
        required: true
      files:
        description: Patterns of file names; all if empty.
        type: list
        elements: str
        default: []
      objects:
        description: Patterns of C(Kind namespace/name); all if empty.
        type: list
        elements: str
        default: []
  level:
    description: The task fails on findings of this severity and above. V(never) only reports.
    type: str
    choices: [error, warning, info, never]
    default: error
  strict:
    description: Show each finding of hygiene (C(missing-memory-limit), C(missing-cpu-request), C(missing-os-name),
      C(unequal-memory-request)) in the message and in O(report), as C(--strict) of the command does; otherwise one
      line counts them. The result has all of them, and so has O(report_format=json).
    type: bool
    default: false
  fix:
    description:
      - Change in the files of O(paths) what is safe. Fields without effect on Windows go; C(os.name),
        C(nodeSelector) and toleration come.
      - Comments, order and layout stay. Shown first by check mode and diff mode.
    type: bool
    default: false
  report:
    description: Write the report there, on the controller.
    type: path
  report_format:
    description: Form of O(report).
    type: str
    choices: [text, line, json, junit, sarif, github]
    default: json
attributes:
  check_mode:
    support: full
    description: Reports the same; with O(fix=true) changes nothing and says what it would change. Does not write
      O(report).
  diff_mode:
    support: full
    description: Shows what O(fix=true) changes.
  idempotent:
    support: full
    description: A second run finds nothing left to fix.
  async:
    support: none
    description: It runs on the controller.
  platform:
    support: full
    platforms: all
    description: It runs on the controller, whatever the host of the task is.
seealso:
  - module: kubernetes.core.k8s_info
  - module: kubernetes.core.helm_template
"""

EXAMPLES = r"""
- name: Check the manifests of this repository
  winkube.node.workload_lint:
    paths: [deploy/, charts/rendered/*.yaml]
    profile: "1.33"
    builds: [2022]

- name: Render a chart
  kubernetes.core.helm_template:
    chart_ref: ./charts/web
  register: rendered
  delegate_to: localhost

- name: Check what the chart renders to
  winkube.node.workload_lint:
    content: "{{ rendered.stdout }}"
    level: warning

- name: Show what could be fixed, change nothing
  winkube.node.workload_lint:
    paths: [deploy/]
    fix: true
  check_mode: true
  diff: true

- name: Accept one finding, with the reason
  winkube.node.workload_lint:
    paths: [deploy/]
    ignore:
      - rule: [termination-grace-period]
        reason: The programs handle CTRL_SHUTDOWN_EVENT.
        objects: [Deployment shop/*]
"""

RETURN = r"""
findings:
  description: What will not work, in the order of files and lines.
  returned: when the input could be read
  type: list
  elements: dict
  contains:
    id:
      description: The rule.
      type: str
    severity:
      description: error, warning or info.
      type: str
    file:
      description: The file, C(content) or C(cluster).
      type: str
    line:
      description: Line, from 1; 0 for objects of a cluster.
      type: int
    column:
      description: Column, from 1; 0 for objects of a cluster.
      type: int
    path:
      description: The field.
      type: str
      sample: spec.template.spec.containers[0].securityContext.privileged
    object:
      description: Kind, namespace and name.
      type: str
      sample: Deployment default/web
    container:
      description: The container, empty if the finding is about the whole pod or object.
      type: str
    message:
      description: What is wrong.
      type: str
    remedy:
      description: What to do.
      type: str
    reason:
      description: Where this is known from.
      type: str
    fixable:
      description: Whether O(fix=true) knows what to do about it.
      type: bool
    silenced:
      description: The reason why it was accepted, else empty.
      type: str
silenced:
  description: Findings that were accepted, with the reason.
  returned: when the input could be read
  type: list
  elements: dict
summary:
  description: Numbers of C(errors), C(warnings), C(infos), C(silenced), C(objects), and C(pods) for C(windows),
    C(linux) and C(unknown).
  returned: when the input could be read
  type: dict
profile:
  description: The cluster that was assumed.
  returned: when the input could be read
  type: dict
steps:
  description: The findings as sentences.
  returned: when the input could be read
  type: list
  elements: dict
"""
