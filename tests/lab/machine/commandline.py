"""Command lines by the rules of CommandLineToArgvW, and the order in which Windows looks for a program."""

from __future__ import annotations


def split(line: str) -> list[str]:
    """A command line -> its arguments. The first one ends at its closing quote, without escapes."""
    text = line.lstrip(" \t")
    arguments: list[str] = []
    if not text:
        return arguments
    if text[0] == '"':
        end = text.find('"', 1)
        end = len(text) if end < 0 else end
        arguments.append(text[1:end])
        text = text[end + 1 :]
    else:
        end = next((index for index, letter in enumerate(text) if letter in " \t"), len(text))
        arguments.append(text[:end])
        text = text[end:]
    return arguments + split_arguments(text)


def split_arguments(text: str) -> list[str]:
    """What follows the program's name."""
    arguments: list[str] = []
    index, length = 0, len(text)
    while True:
        while index < length and text[index] in " \t":
            index += 1
        if index >= length:
            return arguments
        current, quoted = "", False
        while index < length and (quoted or text[index] not in " \t"):
            slashes = 0
            while index < length and text[index] == "\\":
                slashes += 1
                index += 1
            if index < length and text[index] == '"':
                current += "\\" * (slashes // 2)
                if slashes % 2:
                    current += '"'
                elif quoted and index + 1 < length and text[index + 1] == '"':
                    current += '"'
                    index += 1
                else:
                    quoted = not quoted
                index += 1
            else:
                current += "\\" * slashes
                if index < length and (quoted or text[index] not in " \t"):
                    current += text[index]
                    index += 1
        arguments.append(current)


def quote(argument: str) -> str:
    """One argument as it has to stand in a command line: quoted if it is empty or has a blank, tab or quote."""
    if argument and not any(letter in ' \t\n\v"' for letter in argument):
        return argument
    result, slashes = '"', 0
    for letter in argument:
        if letter == "\\":
            slashes += 1
            continue
        result += "\\" * (slashes * 2 + 1 if letter == '"' else slashes) + letter
        slashes = 0
    return result + "\\" * (slashes * 2) + '"'


def go_escape(argument: str) -> str:
    """As Go's syscall.EscapeArg does it: quotes only round blanks and tabs, quotes inside escaped.

    Source: golang src/syscall/exec_windows.go, appendEscapeArg.
    """
    if argument == "":
        return '""'
    if not any(letter in ' \t"\\' for letter in argument):
        return argument
    blank = any(letter in " \t" for letter in argument)
    result, slashes = '"' if blank else "", 0
    for letter in argument:
        if letter == "\\":
            slashes += 1
        elif letter == '"':
            result += "\\" * (slashes + 1)
            slashes = 0
        else:
            slashes = 0
        result += letter
    return result + "\\" * slashes + '"' if blank else result


def join(arguments: list[str]) -> str:
    return " ".join(quote(argument) for argument in arguments)


def candidates(line: str) -> list[str]:
    """The programs CreateProcess tries for an ImagePath, in its order: an unquoted path is cut at each blank."""
    text = line.strip()
    if text.startswith('"'):
        return [split(text)[0]]
    words = text.split(" ")
    tried = [" ".join(words[:count]) for count in range(1, len(words) + 1)]
    return [name if name.lower().endswith(".exe") else f"{name}.exe" for name in tried] + tried[:1]


def arguments_after(line: str, program: str) -> list[str]:
    """The arguments of an ImagePath once it is known which part of it is the program."""
    text = line.strip()
    if text.startswith('"'):
        return split(text)[1:]
    bare = program if text.lower().startswith(program.lower()) else program.removesuffix(".exe")
    return split_arguments(text[len(bare) :])
