# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Findings in manifests that will not work on Windows nodes, before anyone deploys them.

The path of a manifest through this package::

    sources    names of files, folders, charts (rendered) and kustomizations -> text
    manifest   text or live objects -> Kubernetes objects that know their line
    workload   an object -> its pods
    target     is it a Windows pod? windows, linux or unknown, with the evidence
    catalog    all objects of a run, so that rules can look across them
    rules_*    the rules, as tables; rulebook joins them
    engine     rules x objects -> findings; silence removes accepted ones, with a reason
    report     findings -> text, JSON, GitHub annotations, SARIF 2.1.0
    policies   two rules as admission policies, for what is applied past the linter
    fix, edits safe changes, as edits of the text that leave everything else unchanged

The package does not depend on Ansible. `python -m` on it is the command for pre-commit and CI (see cli).

Private to the collection: playbooks use its modules.
"""
