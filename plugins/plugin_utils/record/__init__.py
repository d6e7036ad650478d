# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run did to each of its nodes: one record per node and run, from which everything that is shown is made.

Private to the collection: playbooks use its modules, programs the file that winkube_record_file names.
"""

from __future__ import annotations
