# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Command lines by the rules of CommandLineToArgvW, for comparison as argument lists.

Source: learn.microsoft.com, "Parsing C command-line arguments" and CommandLineToArgvW.
"""

from __future__ import annotations

from collections.abc import Iterable


def split(line: str) -> list[str]:
    """The argument list that a program sees for `line`.

    The first argument is the program and has simpler rules: quotes delimit, backslashes are literal. In the others 2n
    backslashes before a quote are n backslashes, and the quote delimits; 2n+1 are n backslashes and a literal quote;
    `""` inside quotes is one quote.
    """
    arguments: list[str] = []
    position = 0
    length = len(line)
    if position < length and line[position] not in " \t":
        program, position = _program(line)
        arguments.append(program)
    while True:
        while position < length and line[position] in " \t":
            position += 1
        if position >= length:
            return arguments
        argument, position = _argument(line, position)
        arguments.append(argument)


def _program(line: str) -> tuple[str, int]:
    quoted = False
    found: list[str] = []
    for position, char in enumerate(line):
        if char == '"':
            quoted = not quoted
        elif char in " \t" and not quoted:
            return "".join(found), position
        else:
            found.append(char)
    return "".join(found), len(line)


def _argument(line: str, position: int) -> tuple[str, int]:
    found: list[str] = []
    quoted = False
    length = len(line)
    while position < length:
        char = line[position]
        if char in " \t" and not quoted:
            break
        if char == "\\":
            end = position
            while end < length and line[end] == "\\":
                end += 1
            count = end - position
            position = end
            if end < length and line[end] == '"':
                found.append("\\" * (count // 2))
                if count % 2:
                    found.append('"')
                    position += 1
            else:
                found.append("\\" * count)
            continue
        if char == '"':
            if quoted and position + 1 < length and line[position + 1] == '"':
                found.append('"')
                position += 2
                continue
            quoted = not quoted
            position += 1
            continue
        found.append(char)
        position += 1
    return "".join(found), position


def quote(argument: str) -> str:
    """The argument quoted for `split`: only if necessary; an empty one as two quotes."""
    if argument and not any(char in ' \t\n\v"' for char in argument):
        return argument
    quoted: list[str] = []
    backslashes = 0
    for char in argument:
        if char == "\\":
            backslashes += 1
            continue
        if char == '"':
            quoted.append("\\" * (2 * backslashes + 1))
        else:
            quoted.append("\\" * backslashes)
        backslashes = 0
        quoted.append(char)
    quoted.append("\\" * (2 * backslashes))
    return '"' + "".join(quoted) + '"'


def join(arguments: Iterable[str]) -> str:
    """One command line that `split` turns back into `arguments`."""
    return " ".join(quote(argument) for argument in arguments)


def list_arguments(line: str) -> str:
    """A command line with one argument per line, so that a diff shows the one that differs."""
    return "".join(f"\n  {argument or quote(argument)}" for argument in split(line))


def is_same(left: list[str], right: list[str]) -> bool:
    """Whether two argument lists start the same process. The program compares without case, the arguments with it."""
    if not left or not right:
        return left == right
    return left[0].replace("/", "\\").casefold() == right[0].replace("/", "\\").casefold() and left[1:] == right[1:]
