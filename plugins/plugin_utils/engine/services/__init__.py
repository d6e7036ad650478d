# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How a service is defined: by itself and sc.exe, or by nssm.exe. Each file is one service manager.

Private to the collection: playbooks use its modules.
"""
