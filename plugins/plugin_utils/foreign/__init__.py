# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Other people's files and texts, read with limits: of size, depth, aliases and time.

Whatever is refused is refused with a sentence. It knows nothing of Ansible, Kubernetes and Windows.

Private to the collection: playbooks use its modules.
"""
