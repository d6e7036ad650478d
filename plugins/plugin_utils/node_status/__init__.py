# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a Node says of itself beside Kubernetes' own conditions: whether it is as wanted, whether a repair was in vain.

Private to the collection: playbooks use its modules.
"""
