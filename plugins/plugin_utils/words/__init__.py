# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What can be wrong with a node, in words: causes and what mends them, and the texts that lead to them.

    from .words.meanings import meanings
    meanings('Error: failed to start "kubelet": ...', "win1")      # [{"id": .., "title": .., "remedy": ..}]

- A `Cause` (cause.py) has an id, a title, why it comes about, what mends it, and what follows from it. It knows nothing
  of a node: the diagnosis adds the look that finds it there, and refers to those of causes.py by id.
- A text is cut into records (records.py), each with its reasons (line.py); messages.py says which cause a record leads
  to, places.py where something failed if the cause is not known.
- causes.py lists every cause that a text can lead to. A cause that no text leads to stands beside its look.

Private to the collection: playbooks use its modules.
"""

from __future__ import annotations
