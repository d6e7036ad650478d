# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Documentation of k8s_windows_conformance; the work is done by the action plugin of this name, on the controller."""

from __future__ import annotations

DOCUMENTATION = r"""
module: k8s_windows_conformance
short_description: Tests what pods on Windows nodes can reach, how fast they start, and whether CPU limits hold
version_added: 0.1.0
author: The winkube.node authors (@winkube)
description:
  - V(smoke) deploys C(win-webserver) of the Kubernetes documents into a namespace of its own, an image for each build
    of Windows in the cluster and at least one pod for each Windows node, and checks what its pods reach.
    C(docs/smoke.md) describes the checks. C(playbooks/test.yml) also asks from a Linux node and from outside.
  - V(density) creates O(density.pods) pods on each Windows node at once, waits until they are Ready, and reports how
    long that took, as percentiles. They run the pause image of the node's Kubernetes and Windows, which is on the node
    already, so the figures measure the node and its network, not the pulling of an image. Fails if pods do not become
    Ready, and if a percentile is above its limit. Two runs at once measure each other.
  - V(cpu_limits) is Kubernetes' own test C(Cpu Resources, Container limits should not be exceeded after waiting 2
    minutes), on each node in turn. Two pods whose limit is half a core, written as C(0.5) and as C(500m), burn CPU with
    eight PowerShell jobs each. After O(cpu_limits.wait) seconds both must still run, and C(usageNanoCores) of each in
    C(/stats/summary) must be above 0 and at most the limit plus O(cpu_limits.tolerance). A zero there is the bug that
    M(winkube.node.k8s_windows_cri_info) tracks down. These pods tolerate all taints of the nodes.
  - V(operational_readiness) runs SIG-Windows' own list of what Windows nodes must pass,
    kubernetes-sigs/windows-operational-readiness, as a Job on a Linux node of the cluster, waits for it, and reports
    its results like those of the other tests. The account of its pod is C(cluster-admin) for that time, since
    C(e2e.test) makes namespaces, roles and webhooks; what it leaves behind when it is killed has the label C(e2e-run).
  - Everything that a run creates is removed at its end, also after a failure or Ctrl-C. What a killed run of V(smoke)
    or V(density) leaves behind is removed by the next one.
  - The user of the kubeconfig must be able to create namespaces, pods, deployments and services, to get and create
    C(pods/exec), and to get C(nodes/proxy); C(examples/rbac/test.yml) has exactly these rights.
extends_documentation_fragment:
  - winkube.node.cluster
attributes:
  check_mode:
    support: partial
    description: Says what it would make; runs no test.
  diff_mode:
    support: none
    description: Nothing that stays is changed.
  idempotent:
    support: none
    description: Each run recreates its pods.
  async:
    support: none
    description: It runs on the controller.
  platform:
    support: full
    platforms: all
    description: It runs on the controller, whatever the host of the task is.
options:
  tests:
    description: The tests to run, in this order. A failed test does not stop the next.
    type: list
    elements: str
    choices: [smoke, density, cpu_limits, operational_readiness]
    default: [smoke]
  taints:
    description: Taints, as C(key=value:effect), that the pods tolerate besides those that the Windows nodes have. A
      provider gives its nodes taints of its own, such as C(node.kubernetes.io/os=windows:NoSchedule) of GKE.
    type: list
    elements: str
    default: ['os=windows:NoSchedule']
  smoke:
    description: How V(smoke) is run.
    type: dict
    suboptions:
      state:
        description:
          - V(tested) does all of the following, but asks nothing from outside the cluster.
          - V(started) makes the namespace, waits for the pods, and runs the checks that run in pods.
          - V(judged) adds what Linux nodes and hosts outside answered to RV(smoke.commands), and reports.
          - V(absent) deletes the namespace.
        type: str
        choices: [tested, started, judged, absent]
        default: tested
      namespace:
        description: The namespace to create; it must not exist yet. Empty for C(winkube-smoke-) and six digits.
        type: str
        default: ''
      image_repo:
        description: Repository of the images, for example a copy in a private registry.
        type: str
        default: mcr.microsoft.com/windows/servercore
      image_tags:
        description: Tags by build of Windows, such as C({"20348":"ltsc2022-amd64"}), before the built-in ones.
        type: dict
        default: {}
      pull_secret:
        description: A Secret with the registry's credentials, as C(namespace/name). It is copied into the namespace.
        type: str
        default: ''
      timeout:
        description: Seconds to wait for the pods to be Ready. A pod that is not Ready by then is a finding.
        type: int
        default: 900
      network_mode:
        description: Network mode of the Windows nodes. Empty to read it from flannel's annotations on them.
        type: str
        choices: ['', l2bridge, overlay]
        default: ''
      dns_domain:
        description: The domain of the cluster's DNS.
        type: str
        default: cluster.local
      linux_host:
        description: A Linux node of the cluster, by its inventory name. Empty if there is none; checks from there are
          then reported as not run.
        type: str
        default: ''
      outside_host:
        description: A host outside the cluster, by its inventory name. Empty to try nothing from outside.
        type: str
        default: ''
      external_address:
        description: An address outside the cluster that answers HTTP. Empty if pods have no access to one; the check is
          then reported as not run.
        type: str
        default: 1.1.1.1
      external_name:
        description: A name outside the cluster that answers HTTP. Empty if pods have no access to one.
        type: str
        default: www.msftconnecttest.com
      external_dns:
        description: The address of a DNS server outside the cluster, for UDP. Empty to skip the check.
        type: str
        default: ''
      session:
        description: RV(smoke.session) of the task with O(smoke.state=started).
        type: dict
        default: {}
      answers:
        description: C(results) of the task with C(ansible.builtin.raw) that ran RV(smoke.commands).
        type: list
        elements: dict
        default: []
      report:
        description: A folder on the controller for C(smoke.txt), C(smoke.json) and C(smoke.xml) (JUnit).
        type: path
        default: ''
      fail:
        description: Whether the task fails with V(judged) if something is broken.
        type: bool
        default: true
      keep:
        description: Keep the namespace after the run, even if Ansible is interrupted. A later run deletes it an hour
          after O(smoke.timeout) has passed.
        type: bool
        default: false
      gone_timeout:
        description: Seconds to wait for the namespace to be gone.
        type: int
        default: 300
  density:
    description: How V(density) is run.
    type: dict
    suboptions:
      nodes:
        description: Names of Windows nodes; empty for all that are Ready and not cordoned.
        type: list
        elements: str
        default: []
      pods:
        description: The number of pods on each node.
        type: int
        default: 10
      image:
        description: The pods' image; empty for each node's pause image. It must run on all of the nodes.
        type: str
        default: ''
      memory:
        description: Request and limit of memory of each pod.
        type: str
        default: 100Mi
      cpu:
        description: Request and limit of CPU of each pod.
        type: str
        default: 50m
      timeout:
        description: Seconds to wait for all pods to be Ready, and again for all to be gone.
        type: int
        default: 600
      limits:
        description: Limits for the percentiles of the seconds until a pod is Ready; V(0) for no limit.
        type: dict
        suboptions:
          p50:
            description: For half of the pods.
            type: float
            default: 0
          p90:
            description: For nine of ten.
            type: float
            default: 0
          p99:
            description: For 99 of 100.
            type: float
            default: 0
          max:
            description: For the slowest.
            type: float
            default: 0
  cpu_limits:
    description: How V(cpu_limits) is run.
    type: dict
    suboptions:
      nodes:
        description: Names of Windows nodes, which may be cordoned; empty for all that are Ready and not cordoned.
        type: list
        elements: str
        default: []
      namespace:
        description: The namespace of the pods; it must exist.
        type: str
        default: default
      image:
        description: An image with PowerShell for the node's Windows.
        type: str
        default: registry.k8s.io/e2e-test-images/busybox:1.36.1-1
      wait:
        description: For how many seconds the pods use CPU before they are judged.
        type: float
        default: 120
      tolerance:
        description: How far the usage may exceed the limit, 0.05 for 5 %.
        type: float
        default: 0.05
      start_timeout:
        description: Seconds to wait for the pods to run; the first pull of a Windows image takes minutes.
        type: float
        default: 900
  operational_readiness:
    description: How V(operational_readiness) is run.
    type: dict
    suboptions:
      image:
        description: The image with C(op-readiness) and an C(e2e.test), which should be of the cluster's minor release.
          The usual one is that of upstream's Sonobuoy plugin; C(docs/smoke.md) tells how to build your own.
        type: str
        default: gcr.io/k8s-staging-win-op-rdnss/k8s-win-op-rdnss:latest
      categories:
        description: Categories of the list; empty for all. V(Extend.ActiveDirectory) needs a domain,
          V(Extend.NetworkPolicy) a CNI plugin with network policies.
        type: list
        elements: str
        choices:
          - Core.Network
          - Core.Storage
          - Core.Scheduling
          - Core.Concurrent
          - Extend.HostProcess
          - Extend.ActiveDirectory
          - Extend.NetworkPolicy
          - Extend.Network
          - Extend.Worker
        default: [Core.Network, Core.Storage, Core.Scheduling, Core.Concurrent]
      provider:
        description: The provider for C(e2e.test), which skips some tests for some providers.
        type: str
        default: local
      timeout:
        description: Seconds to wait for the tests to end once they run.
        type: float
        default: 7200
      start_timeout:
        description: Seconds to wait for the pod to run; its image has hundreds of megabytes.
        type: float
        default: 900
      report:
        description: A folder on the controller for C(operational_readiness.txt), C(.json) and C(.xml) (JUnit), and the
          JUnit files of the suite itself.
        type: path
        default: ''
      keep:
        description: Keep the namespace and its rights for inspection, even when the run fails. A later run deletes them
          after their time is up.
        type: bool
        default: false
seealso:
  - module: winkube.node.win_k8s_diagnose
  - module: winkube.node.k8s_windows_scheduling
  - module: winkube.node.k8s_windows_cri_info
"""

EXAMPLES = r"""
- name: What pods reach, how long twenty on each node take to start, and whether CPU limits hold
  winkube.node.k8s_windows_conformance:
    tests: [smoke, density, cpu_limits]
    cluster: {kubeconfig: ~/.kube/config}
    smoke: {report: reports/smoke}
    density: {pods: 20, limits: {p50: 30}}

- name: What SIG-Windows asks of networking and storage, with an image that has this release's e2e.test
  winkube.node.k8s_windows_conformance:
    tests: [operational_readiness]
    cluster: {kubeconfig: ~/.kube/config}
    operational_readiness:
      image: registry.example.com/k8s-win-op-rdnss:v1.37.1
      categories: [Core.Network, Core.Storage]
      report: reports/readiness

- name: Deploy and check
  winkube.node.k8s_windows_conformance:
    cluster: {kubeconfig: ~/.kube/config}
    smoke: {state: started, linux_host: control-plane}
  register: test

- name: Ask from the Linux node
  ansible.builtin.raw: "{{ item.line }}"
  delegate_to: "{{ item.host }}"
  loop: "{{ test.smoke.commands }}"
  register: asked
  changed_when: false
  failed_when: false

- name: Report
  winkube.node.k8s_windows_conformance:
    smoke:
      state: judged
      session: "{{ test.smoke.session }}"
      answers: "{{ asked.results }}"
      report: reports/smoke

- name: Clean up
  winkube.node.k8s_windows_conformance:
    cluster: {kubeconfig: ~/.kube/config}
    smoke: {state: absent, session: "{{ test.smoke.session }}"}
"""

RETURN = r"""
steps:
  description: What was done, or in check mode would be done.
  returned: always
  type: list
  elements: dict
  contains:
    text:
      description: One sentence.
      type: str
    state:
      description: V(done), or V(planned) in check mode.
      type: str
  sample: [{text: deleted the namespace winkube-smoke-1a2b3c with all in it, state: done}]
smoke:
  description: What the smoke test found.
  returned: with V(smoke) in O(tests)
  type: dict
  contains:
    session:
      description: What the later states need, which is the facts and answers so far and the name of the namespace.
      returned: with O(smoke.state=started), not in check mode
      type: dict
    commands:
      description: Commands to run, each with the host of the inventory.
      returned: with O(smoke.state=started)
      type: list
      elements: dict
      contains:
        id:
          description: The check.
          type: str
        host:
          description: O(smoke.linux_host) or O(smoke.outside_host).
          type: str
        line:
          description: A command line for a shell.
          type: str
      sample: [{id: service/linux, host: control-plane, line: "curl -sS --max-time 10 http://10.96.0.20/"}]
    table:
      description: The report as text to read.
      returned: with O(smoke.state=tested) and O(smoke.state=judged)
      type: str
    report:
      description: The report for a machine; the verdicts are V(ok), V(broken), V(follows) (because something else is
        broken), V(limitation) (of Windows, known) and V(skipped) (not run, with the reason).
      returned: with O(smoke.state=tested) and O(smoke.state=judged)
      type: dict
      contains:
        summary:
          description: One sentence.
          type: str
        checks:
          description: The seven checks of Kubernetes' troubleshooting page for Windows, with their verdicts.
          type: dict
        flows:
          description: The supported flows, each with its verdict for TCP and UDP.
          type: dict
        findings:
          description: Every check with its command, verdict, what was seen, and remedy.
          type: list
          elements: dict
density:
  description: How long the pods took to become Ready.
  returned: with V(density) in O(tests)
  type: dict
  contains:
    summary:
      description: How many pods were created and became Ready, and percentiles.
      returned: when not in check mode
      type: dict
      contains:
        pods:
          description: How many were made.
          type: int
        ready:
          description: How many became Ready.
          type: int
        started_s:
          description: Seconds from creation to the container's start, by the cluster's stamps, in whole seconds.
          type: dict
        ready_s:
          description: Seconds until the controller saw the pod Ready; it looks once a second.
          type: dict
      sample:
        pods: 20
        ready: 20
        started_s: {p50: 4, p90: 7, p99: 9, max: 9}
        ready_s: {p50: 5, p90: 8, p99: 10, max: 10}
    samples:
      description: Each pod, with its node, its times and its problem, if any.
      returned: when not in check mode
      type: list
      elements: dict
cpu_limits:
  description: The CPU usage.
  returned: with V(cpu_limits) in O(tests)
  type: dict
  contains:
    pods:
      description: The manifests.
      returned: always
      type: list
      elements: dict
    nano_cores:
      description: The usage of each pod by its name, in nanocores, null where the kubelet does not say.
      returned: always
      type: dict
      sample: {winkube-cpulimit-decimal-win1: 500618452, winkube-cpulimit-milli-win1: 478772447}
    findings:
      description: What is wrong, a sentence each.
      returned: always
      type: list
      elements: str
operational_readiness:
  description: What the tests of SIG-Windows found.
  returned: with V(operational_readiness) in O(tests), not in check mode
  type: dict
  contains:
    summary:
      description: One sentence.
      type: str
    table:
      description: The report as text to read.
      type: str
    problem:
      description: Why the results may be incomplete; empty if they are complete.
      type: str
    warning:
      description: Why some tests may have run on Linux nodes; empty otherwise.
      type: str
    tests:
      description: Each test of the list with its verdict, V(ok), V(broken) or V(skipped) (nothing of it ran), what was
        seen, and what of e2e.test ran for it.
      type: list
      elements: dict
      sample:
        - category: Core.Network
          name: Ability to access Windows container IP by pod IP
          verdict: ok
          seen: 1 of e2e.test, 41.3 s.
          cases:
            - name: "[It] [sig-windows] Hybrid cluster network for all supported CNIs should have stable networking"
              status: passed
              seconds: 41.3
              message: ''
"""
