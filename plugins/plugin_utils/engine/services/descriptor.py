# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Who may do what with a service: the security descriptor in its registry key, as the text that sc.exe sdset takes."""

from __future__ import annotations

import struct

# Source: [MS-DTYP] 2.4.6 SECURITY_DESCRIPTOR, 2.4.5 ACL, 2.4.4 ACE, 2.4.2 SID; 2.5.1 the text form (SDDL).
_KINDS = {0: "A", 1: "D"}
_ACE_FLAGS = ((0x01, "OI"), (0x02, "CI"), (0x04, "NP"), (0x08, "IO"), (0x10, "ID"))
_ACL_FLAGS = ((0x1000, "P"), (0x0100, "AR"), (0x0400, "AI"))


def dacl(descriptor: bytes) -> str | None:
    """`D:(A;;0x2009d;;;S-1-5-11)..`; None for what has no such list, has other entries than allowed and denied ones,
    or is damaged."""
    try:
        control, place = struct.unpack_from("<2xH12xI", descriptor)
        if place == 0:
            return None
        (count,) = struct.unpack_from("<4xH2x", descriptor, place)
        at, entries = place + 8, []
        for _entry in range(count):
            kind, flags, size, rights = struct.unpack_from("<BBHI", descriptor, at)
            if kind not in _KINDS or size < 16:
                return None
            words = "".join(word for bit, word in _ACE_FLAGS if flags & bit)
            entries.append(f"({_KINDS[kind]};{words};{rights:#x};;;{_sid(descriptor, at + 8)})")
            at += size
    except struct.error:
        return None
    return f"D:{''.join(word for bit, word in _ACL_FLAGS if control & bit)}{''.join(entries)}"


def _sid(data: bytes, at: int) -> str:
    revision, count = struct.unpack_from("<BB", data, at)
    high, low = struct.unpack_from(">HI", data, at + 2)
    parts = struct.unpack_from(f"<{count}I", data, at + 8)
    return "-".join(str(part) for part in ("S", revision, (high << 32) | low, *parts))
