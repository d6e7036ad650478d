"""Owners and access lists of a file that only Administrators and SYSTEM may have, as Windows writes them.

Sources: learn.microsoft.com, "Security Descriptor String Format" (NO_ACCESS_CONTROL; a list that is not there), "ACE
Strings" (kinds of entries, names of rights), "Security Descriptor Definition Language for Conditional ACEs"; [MS-DTYP]
2.5.1.1 (rights in decimal and octal).
"""

from __future__ import annotations

OURS = "(A;;FA;;;SY)(A;;FA;;;BA)"
USER = "S-1-5-21-1-2-3-1001"
INSTALLER = "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464"

# How rights are printed: bits -> GetSecurityDescriptorSddlForm of PowerShell 7.6 for Windows on Wine 10, November 2026.
# It keeps neither entries with a condition nor those of objects, and prints no NO_ACCESS_CONTROL.
WRITTEN: dict[int, str] = {
    0x2: "DC",
    0x6: "DCLC",
    0x116: "DCLCRPCR",
    0x80116: "DCLCRPCRWO",
    0x120089: "FR",
    0x120116: "FW",
    0x1200A0: "FX",
    0x1200A9: "0x1200a9",
    0x1301BF: "0x1301bf",
    0x1F01FF: "FA",
    0x20006: "KW",
    0x20019: "KR",
    0xF003F: "KA",
    0x2000000: "0x2000000",
    0x10000000: "GA",
    0x40000000: "GW",
}
# Everybody who may do anything with the file is named.
OPEN: dict[str, tuple[str, str]] = {
    "a user owns it": (f"O:{USER}G:BAD:PAI{OURS}", f"is owned by {USER}"),
    "Users own it": (f"O:BUD:PAI{OURS}", "is owned by BU"),
    "the local administrator owns it": (f"O:LAD:PAI{OURS}", "is owned by LA"),
    "nobody owns it": (f"D:PAI{OURS}", "is owned by unknown"),
    "users may read": (f"O:BAD:PAI{OURS}(A;;FR;;;BU)", "can be read by BU"),
    "users may read, in full": (f"O:BAD:AI{OURS}(A;;0x1200a9;;;S-1-5-32-545)", "can be read by S-1-5-32-545"),
    "users may write": (f"O:BAD:PAI{OURS}(A;;FW;;;BU)", "can be changed by BU"),
    "users may change it": (f"O:BAD:PAI{OURS}(A;;0x1301bf;;;AU)", "can be changed by AU"),
    "the installer may read": (f"O:BAD:PAI{OURS}(A;;FA;;;{INSTALLER})", f"can be read by {INSTALLER}"),
    "generic rights": (f"O:BAD:P{OURS}(A;OICIIO;SDGXGWGR;;;AU)", "can be changed by AU"),
    "its access list": (f"O:BAD:P{OURS}(A;;WD;;;BU)", "can be changed by BU"),
    "a creator's group": (f"O:BAD:P{OURS}(A;;FA;;;CG)", "can be changed by CG"),
    "all rights of a registry key": (f"O:BAD:P{OURS}(A;;KA;;;WD)", "can be changed by WD"),
    "writing a registry key": (f"O:BAD:P{OURS}(A;;KW;;;WD)", "can be changed by WD"),
    "reading a registry key": (f"O:BAD:P{OURS}(A;;KR;;;WD)", "can be changed by WD"),  # WRITE_EA is among the bits
}
# The same, which the lab's nodes do not have.
OPEN_ELSEWHERE: dict[str, tuple[str, str]] = {
    "everybody, inherited": ("O:SYD:AI(A;ID;FA;;;WD)", "can be changed by WD"),
    "no access list": ("O:BA", "can be changed by everybody"),
    "no access control": ("O:BAD:NO_ACCESS_CONTROL", "can be changed by (NO_ACCESS_CONTROL)"),
    "protected, no access control": ("O:BAD:PNO_ACCESS_CONTROL", "can be changed by (NO_ACCESS_CONTROL)"),
    "with a condition": (
        f'O:BAD:P{OURS}(XA;;FX;;;WD;(@User.Title=="P)M" && (Member_of {{SID(BA)}})))',
        'can be changed by (XA;;FX;;;WD;(@User.Title=="P)M" && (Member_of {SID(BA)})))',
    ),
    "of an object": (
        f"O:BAD:P{OURS}(OA;;CCDC;bf967aba-0de6-11d0-a285-00aa003049e2;;WD)",
        "can be changed by (OA;;CCDC;bf967aba",
    ),
    "of an object that is not named": (f"O:BAD:P{OURS}(OA;;CC;;;WD)", "can be changed by (OA;;CC;;;WD)"),
    "decimal": (f"O:BAD:P{OURS}(A;;983103;;;WD)", "can be changed by WD"),
    "octal": (f"O:BAD:P{OURS}(A;;06;;;WD)", "can be changed by WD"),
    "all bits": ("O:BAD:(A;OICI;0xffffffff;;;WD)", "can be changed by (A;OICI;0xffffffff;;;WD)"),
    "a right of no file": (f"O:BAD:P{OURS}(A;;NW;;;BU)", "can be changed by (A;;NW;;;BU)"),
    "half a right": (f"O:BAD:P{OURS}(A;;FAX;;;BU)", "can be changed by (A;;FAX;;;BU)"),
    "a name for nobody": (f"O:BAD:P{OURS}(A;;FR;;;Ann)", "can be changed by (A;;FR;;;Ann)"),
    "an audit in the list": (f"O:BAD:P{OURS}(AU;SA;FA;;;WD)", "can be changed by (AU;SA;FA;;;WD)"),
    "cut": (f"O:BAD:P{OURS}(A;;FA;;;B", "can be changed by (A;;FA;;;B"),
    "an audit list behind it": (f"O:BAD:P{OURS}S:(AU;SA;FA;;;WD)", "can be changed by (S:)"),
    "nothing": ("", "is owned by unknown"),
    "no descriptor": ("x", "is owned by unknown"),
    "long": (f"O:BAD:P(ZZ;{'x' * 900})", "can be changed by (ZZ;xxx"),
}
CLOSED: dict[str, str] = {
    "ours": f"O:BAG:BAD:PAI{OURS}",
    "SYSTEM's": f"O:SYG:SYD:AI{OURS}",
    "in full": "O:S-1-5-32-544D:PAI(A;;FA;;;S-1-5-18)(A;;0x1f01ff;;;S-1-5-32-544)",
    "the installer owns it": f"O:{INSTALLER}D:PAI{OURS}",
    "whatever Administrators may": "O:BAD:P(A;;0xffffffff;;;BA)",
    "for nobody": "O:BAD:P",
    "a denial": f"O:BAD:P(D;;FA;;;BU){OURS}",
    "what a creator gets": f"O:BAD:P{OURS}(A;OICIIO;GA;;;CO)",
    "what its owner has": f"O:BAD:P{OURS}(A;;FA;;;OW)",
    "no rights at all": f"O:BAD:P{OURS}(A;;0x0;;;BU)",
}
