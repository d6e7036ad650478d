r"""Commands of HostProcess containers, written down before the rules: what cmd.exe makes of them.

Each starts show.cmd, which lies in C:\t, C:\Program Files, C:\Program Files (x86) and C:\R&D files, or does not. Wine's
cmd.exe judges them in lane wine.
"""

from __future__ import annotations

SHOW = r"C:\t\show.cmd"
RIGHT: tuple[tuple[str, ...], ...] = (
    (SHOW,),
    (SHOW, "x", "--y=z"),
    (SHOW, "a b", r"C:\Program Files\x"),
    (SHOW, "a & b", "c > d"),
    (SHOW, "(a)", "b,c;d"),
    (SHOW, ""),
    (SHOW, r"C:\folder with blank\\"),
    (r"C:\Program Files\show.cmd",),
    (r"C:\Program Files\show.cmd", "x", "y"),
    (r"C:\Program Files\show", "x"),
    ("call", r"C:\Program Files\show.cmd", "a b"),
    ("call", r"C:\Program Files (x86)\show.cmd", "x"),
    ("C:/t/show.cmd", "x"),
)
"""show.cmd gets the words as they are."""

MEANT: tuple[tuple[tuple[str, ...], str], ...] = (
    (("ver",), "Microsoft Windows"),
    (("echo", "%OS%"), "Windows_NT"),
    ((SHOW, "%OS%"), "RAN [Windows_NT]"),
    ((rf"{SHOW} a b",), "RAN [a b]"),
    (("echo one & echo two",), "two"),
    ((rf"{SHOW} x > C:\t\out.txt & type C:\t\out.txt",), "RAN [x"),
    ((SHOW, "a", "&&", "echo", "yes"), "yes"),
    ((SHOW, "a", ">", r"C:\t\out.txt", "&", "type", r"C:\t\out.txt"), "RAN [a"),
    ((SHOW, "a", "2>&1"), "RAN [a"),
    (("echo", "a^&b"), "a&b"),
    (("cmd.exe", "/c", "echo one & echo two"), "two"),
    (("cmd", "/c", SHOW, "a b"), 'RAN ["a b"]'),
)
"""A line of cmd.exe is meant, and the output of cmd.exe has the text."""

WRONG: tuple[tuple[str, ...], ...] = (
    (r"C:\Program Files\show.cmd", "a b"),
    (r"C:\Program Files\show.cmd", "x", r"C:\Program Files\y"),
    (r"C:\Program Files (x86)\show.cmd", "x"),
    (r"C:\R&D files\show.cmd", "x"),
    (SHOW, "http://localhost/?a=1&b=2"),
    (SHOW, "a|b"),
    (SHOW, "a<b"),
    (SHOW, "a>b"),
    (SHOW, "^[a-z]+$"),
    (SHOW, 'say "a & b" & c "d & e"'),
    ("/t/show.cmd", "x"),
    ("./t/show.cmd", "x"),
    ("t/show.cmd", "x"),
    (SHOW, "x" * 8200),
    (rf'"{SHOW}" x',),
    ('"C:\\Program Files\\show.cmd" x',),
    ('call "C:\\Program Files\\show.cmd" x',),
    (r"C:\Program Files\show.cmd -x y",),
    ("Get-Date",),
)
"""show.cmd does not get what stands there."""
