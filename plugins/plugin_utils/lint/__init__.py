# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What in a manifest will not work on Windows nodes, said before anybody deploys it.

The way of a manifest through this package::

    sources    names of files, folders, charts (rendering) and kustomizations -> text
    manifest   text or live objects -> Kubernetes objects that know their line
    workload   an object -> the pod in it
    target     is it a Windows pod? windows, linux or cannot tell, and by what
    catalog    all objects of a run, so that rules can look across them
    rules_*    the rules, as tables; rulebook joins them
    engine     rules x objects -> findings; silence takes away what somebody accepted, with a reason
    report     findings -> text, JSON, GitHub annotations, SARIF 2.1.0
    fix, edits what is safe to change, as edits of the text that leave everything else as it was

The package knows nothing of Ansible. `python -m` on it is the command for pre-commit and CI (see cli).

Private to the collection: playbooks use its modules.
"""
