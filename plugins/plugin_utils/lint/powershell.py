# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A PowerShell text, as PowerShell's own parser takes it: the commands in it, and what makes it run nothing at all.

PowerShell parses a whole script before it runs the first line, so one missing brace fails all of it. The rules are
those of PowerShell 7's Parser.cs and tokenizer.cs; `make pwsh ARGS="-k parser"` compares the two.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Command:
    """A command, an expression that stands for itself, or `exit` and its kin. `words` are as written.

    `after`, `files`, `loops`: see commands.Call.
    """

    words: tuple[str, ...]
    after: str = ""
    files: tuple[str, ...] = ()
    loops: bool = False


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why PowerShell runs nothing of a text. `value` is what stands at the place."""

    value: str
    what: str


def read(text: str, seven: bool) -> tuple[tuple[Command, ...], Refusal | None]:
    """The commands in the order in which they end, and why it is refused; where PowerShell does not know how to go on,
    those before the place.

    `seven`: by PowerShell 7, else by Windows PowerShell 5.1.
    """
    reader = _Reader(text, seven)
    refused = None
    try:
        reader.script("")
    except _Refused as error:
        refused = error
    except _TooDeepError:
        pass
    refused = reader.too_new or refused
    if refused is None:
        return tuple(reader.commands), None
    value = refused.value or text[refused.at :].split("\n", 1)[0].strip()[:_SHOWN]
    return tuple(reader.commands), Refusal(value or "the end of the script", refused.what)


_SHOWN = 30
_WORDY = 8
_DEEPEST = 30
"""Brackets within brackets; of what has more nothing is said."""


class _Refused(Exception):  # noqa: N818
    """`value`: what is shown, if it is not the text from there on."""

    def __init__(self, at: int, what: str, value: str = "") -> None:
        super().__init__(what)
        self.at, self.what, self.value = at, what, value


class _TooDeepError(Exception):
    pass


# What an expression is: none, a value, something to assign to.
_NONE, _VALUE, _TARGET = range(3)
_DASH = "[-\u2013\u2014\u2015]"
_SINGLE = "'\u2018\u2019\u201a\u201b"
_DOUBLE = '"\u201c\u201d\u201e'
_BLANK = re.compile(r"(?:[^\S\r\n]|`\r?\n)+")
_LINE = re.compile(r"\r\n?|\n")
_LINE_COMMENT = re.compile(r"#[^\r\n]*")
# They end a word of a command.
_ENDS = frozenset(" \t\v\f\r\n\x85\xa0&(),;{|}")
_WORD = re.compile(r"[A-Za-z_]\w*")
_NUMBER = re.compile(
    r"(?:0[xX][0-9a-fA-F]+|0[bB][01]+|\d+(?:\.(?!\.)\d*)?|\.\d+)(?:[eE][-+]?\d+)?(?:[uU]?[yYsSlLnNdD]|[uU])?(?:[kKmMgGtTpP][bB])?"
)
_BINARY = re.compile(
    rf"{_DASH}(?:shl|shr|is|isnot|as|f|and|or|xor|band|bor|bxor|join|[ic]?(?:eq|ne|gt|ge|lt|le|like|notlike|match"
    rf"|notmatch|contains|notcontains|in|notin|replace|split))(?![A-Za-z_])|\.\.|\?\?(?!=)|[*/%](?![=>])|\+(?![+=])"
    rf"|{_DASH}(?!=|{_DASH}|[A-Za-z])",
    re.IGNORECASE,
)
_UNARY = re.compile(rf"!(?![A-Za-z_])|{_DASH}(?:not|bnot|join|[ic]?split)(?![A-Za-z_])", re.IGNORECASE)
_SIGN = re.compile(rf"(?:\+|{_DASH})(?=[\s\d$@(\[{{,!;&|)}}{_SINGLE}{_DOUBLE}]|\.\d|$)")
_STEP = re.compile(rf"\+\+|{_DASH}{_DASH}")
_ASSIGNS = re.compile(rf"=|(?:[+*/%]|{_DASH})=|\?\?=")
_VARIABLE = re.compile(r"\$(?:[$?^]|(?:[\w?]+(?::(?!:)(?=[\w?]))?|:(?=[\w?]))[\w?]*|(?=::))")
_BAD_VARIABLE = re.compile(r"\$[\w?]*:(?![\w?:])")
_BRACED = re.compile(r"\$\{([^}`]|`.)*\}", re.DOTALL)
_MEMBER = re.compile(r"\w+")
_PARAMETER = re.compile(rf"{_DASH}[A-Za-z_?][\w?-]*(:?)")
_VERBATIM = re.compile(r"--%(?=\s|$)[^\r\n|]*")
_REDIRECT = re.compile(r"([1-6*]?)(>>?)(&[0-9*])?|([0-9]?<)")
_LABEL = re.compile(r":[A-Za-z_]\w*(?=\s|$)")
_HERE = re.compile(rf"@([{_SINGLE}{_DOUBLE}])[^\S\r\n]*(\r\n?|\n)?")
_TYPE_NAME = re.compile(r"[A-Za-z_][\w.+`#]*")
_TYPE_ARGUMENTS = re.compile(r"[\w.+`,]+")
_OF_AN_ASSEMBLY = re.compile(r"[\w.+`=-]+")
_NAMED_ARGUMENT = re.compile(r"\w+[^\S\r\n]*(?==)")
_SPLATTED = re.compile(r"@[\w?]+(?::\w+)?")
_SINGLES = re.compile(f"[{_SINGLE}]")
_KEYWORDS = re.compile(r"[A-Za-z]+(?![^ \t\v\f\r\n\x85\xa0&(),;{|}])")
_RESERVED = frozenset(["from", "define", "var"])


class _Reader:
    """One pass over a text. Each method reads what it is named after and leaves `at` behind it."""

    def __init__(self, text: str, seven: bool) -> None:
        self.text, self.seven, self.at = text, seven, 0
        self.commands: list[Command] = []
        self._depth = 0
        self.too_new: _Refused | None = None
        self._after = ""
        self._background = False
        # Of the last pipeline.
        self._kind = _NONE
        self._statements: dict[str, Callable[[int], None]] = {
            "if": self._if,
            "while": self._while,
            "for": self._for,
            "foreach": self._foreach,
            "switch": self._switch,
            "do": self._do,
            "try": self._try,
            "trap": self._trap,
            "function": self._function,
            "filter": self._function,
            "class": self._class,
            "enum": self._enum,
            "data": self._data,
            "param": self._param,
            "using": self._late_using,
            **dict.fromkeys(("return", "throw", "exit", "break", "continue"), self._leave),
            **dict.fromkeys(_NAMED_BLOCKS, self._misplaced),
            **dict.fromkeys(_RESERVED, self._misplaced),
        }

    # What is common to all.

    def _peek(self, length: int = 1) -> str:
        return self.text[self.at : self.at + length]

    def _take(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        if found is None:
            return ""
        self.at = found.end()
        return found.group()

    def _blanks(self) -> None:
        """Blanks, continued lines and comments; a line's end ends them."""
        while True:
            start = self.at
            self._take(_BLANK)
            if self._peek(2) == "<#":
                end = self.text.find("#>", self.at)
                if end < 0:
                    raise self._refused("PowerShell finds no end of the comment")
                self.at = end + 2
            else:
                self._take(_LINE_COMMENT)
            if self.at == start:
                return

    def _lines(self, semicolons: bool = False) -> None:
        while True:
            self._blanks()
            if semicolons and self._peek() == ";":
                self.at += 1
            elif not self._take(_LINE):
                return

    def _refused(self, what: str, at: int | None = None, value: str = "") -> _Refused:
        return _Refused(self.at if at is None else at, f"{what}, and runs nothing of the script", value)

    def _unexpected(self) -> _Refused:
        if self.at >= len(self.text):
            return self._refused("PowerShell expects something more at the end")
        return self._refused("PowerShell does not expect it here")

    def _newer(self, what: str, at: int) -> None:
        """It comes with PowerShell 7; the rest is read as that does."""
        if not self.seven and self.too_new is None:
            value = what if len(what) < _WORDY else ""
            self.too_new = self._refused(f"Windows PowerShell 5.1 has no {what}", at, value)

    @contextmanager
    def _within(self, opening: str, closing: str, also: str = "") -> Iterator[None]:
        """Between two brackets, the first of which comes now."""
        start = self.at
        self.at += len(opening)
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _TooDeepError
        yield
        self._depth -= 1
        self._lines(semicolons=bool(also))
        if self._peek() != closing:
            if self.at < len(self.text):
                raise self._unexpected()
            raise self._refused(f"PowerShell finds no {closing} for it", start)
        self.at += 1

    # Scripts and statements.

    def script(self, closing: str) -> None:
        """A whole text, or what is in the braces of a script block: parameters, then statements or named blocks."""
        self._lines(semicolons=True)
        while found := _KEYWORDS.match(self.text, self.at):
            if found.group().lower() != "using":
                break
            self.at = found.end()
            self._using()
            self._lines(semicolons=True)
        start, first = self.at, len(self.commands)
        self._attributes()
        if self._keyword("param"):
            self._param(start)
            self._lines(semicolons=True)
        else:
            # They are of the first statement.
            self.at = start
            del self.commands[first:]
        start = self.at
        if self._keyword(*_NAMED_BLOCKS):
            self.at = start
            self._named_blocks()
        else:
            self._statements_until(closing)
        if not closing and self.at < len(self.text):
            raise self._refused(f"there is nothing that {self._peek()} closes: PowerShell does not expect it")

    def _statements_until(self, closing: str) -> None:
        before, self._after = self._after, "" if not closing else "{" if closing == "}" else "("
        while True:
            self._lines(semicolons=True)
            if self.at >= len(self.text) or self._peek() in ("}", ")"):
                break
            if not self.statement():
                raise self._unexpected()
            self._after = ";"
        self._after = before

    def _named_blocks(self) -> None:
        while True:
            self._lines(semicolons=True)
            start = self.at
            name = self._keyword(*_NAMED_BLOCKS)
            if not name:
                if self.at < len(self.text) and self._peek() != "}":
                    raise self._unexpected()
                return
            if name == "clean":
                self._newer("clean", start)
            self._lines()
            self._block(f"after {name}")

    def _keyword(self, *names: str) -> str:
        found = _KEYWORDS.match(self.text, self.at)
        if found is None or found.group().lower() not in names:
            return ""
        self.at = found.end()
        return found.group().lower()

    def statement(self) -> bool:
        """False, and nothing is read, where none begins."""
        self._blanks()
        labelled = bool(self._take(_LABEL))
        if labelled:
            self._lines()
        if self._with_a_keyword():
            return True
        if not self._chain():
            return labelled
        self._end_of_statement()
        return True

    def _with_a_keyword(self) -> bool:
        found = _KEYWORDS.match(self.text, self.at)
        reads = self._statements.get(found.group().lower()) if found else None
        if not found or not reads:
            return False
        self.at = found.end()
        reads(found.start())
        return True

    def _end_of_statement(self) -> None:
        self._blanks()
        if self.at < len(self.text) and self._peek() not in "\r\n;)}" and not self._background:
            raise self._unexpected()

    def _block(self, where: str) -> None:
        """`{ statements }`"""
        if self._peek() != "{":
            raise self._refused(f"{where} PowerShell wants a {{")
        with self._within("{", "}", ";"):
            self._statements_until("}")

    def _head(self, name: str, keyword: int) -> None:
        """The ( behind a keyword comes now; `keyword` is where that stands."""
        self._lines()
        if self._peek() != "(":
            raise _Refused(keyword, f"after {name} PowerShell wants a ( and runs nothing of the script without it")

    def _condition(self, name: str, keyword: int) -> str:
        """`( pipeline )` and what stands in it."""
        self._head(name, keyword)
        start = self.at
        with self._within("(", ")"):
            self._lines()
            if not self._chain():
                raise self._unexpected()
        return self.text[start + 1 : self.at - 1]

    def _if(self, start: int) -> None:
        self._condition("if", start)
        self._lines()
        self._block("after if")
        while True:
            end = self.at
            self._lines()
            place = self.at
            if self._keyword("elseif"):
                self._condition("elseif", place)
                self._lines()
                self._block("after elseif")
            elif self._keyword("else"):
                self._lines()
                self._block("after else")
                return
            else:
                self.at = end
                return

    def _while(self, start: int) -> None:
        condition = self._condition("while", start)
        self._lines()
        self._loop(bool(_ALWAYS.fullmatch(condition)))

    def _loop(self, endless: bool) -> None:
        first = len(self.commands)
        self._block("after a loop's head")
        if endless:
            self._mark(first)

    def _mark(self, first: int) -> None:
        self.commands[first:] = [replace(each, loops=True) for each in self.commands[first:]]

    def _do(self, _start: int) -> None:
        first = len(self.commands)
        self._lines()
        self._block("after do")
        last = len(self.commands)
        self._lines()
        place = self.at
        word = self._keyword("while", "until")
        if not word:
            raise self._refused("after a loop of do PowerShell wants while or until")
        condition = self._condition(word, place)
        if (_ALWAYS if word == "while" else _NEVER).fullmatch(condition):
            # The condition counts as before its body, which comes last.
            self.commands[first:] = [*self.commands[last:], *self.commands[first:last]]
            self._mark(first)

    def _for(self, keyword: int) -> None:
        self._head("for", keyword)
        parts = 0
        start = self.at
        with self._within("(", ")"):
            for number in range(3):
                self._lines()
                begin = self.at
                self._chain()
                self._blanks()
                if number == 1:
                    parts = len(self.text[begin : self.at].strip())
                if number < 2 and self._peek() == ";":
                    self.at += 1
                elif number < 2 and not self._take(_LINE):
                    break
        endless = not parts and self.text[start : self.at].count(";") == 2
        self._lines()
        self._loop(endless)

    def _foreach(self, keyword: int) -> None:
        self._blanks()
        while found := self._take(_PARAMETER):
            self._blanks()
            if found.lower().startswith("-t"):
                self._argument()
                self._blanks()
        self._head("foreach", keyword)
        with self._within("(", ")"):
            self._lines()
            if not self._variable():
                raise self._refused("after foreach ( PowerShell wants a variable")
            self._lines()
            if not self._keyword("in"):
                raise self._refused("after the variable of foreach PowerShell wants in")
            self._lines()
            if not self._chain():
                raise self._unexpected()
        self._lines()
        self._loop(endless=False)

    def _switch(self, keyword: int) -> None:
        self._blanks()
        file = False
        while found := self._take(_PARAMETER):
            name = found[1:].lower()
            if not any(each.startswith(name) for each in _FLAGS):
                raise self._refused(f"switch has no {found}: PowerShell does not expect it", self.at - len(found))
            self._blanks()
            if "file".startswith(name):
                file = self._argument()
                self._blanks()
        if not file:
            self._condition("switch", keyword)
        self._lines()
        if self._peek() != "{":
            raise self._refused("after switch PowerShell wants a {")
        defaults = clauses = 0
        with self._within("{", "}"):
            while True:
                self._lines()
                if self.at >= len(self.text) or (self._peek() == "}" and clauses):
                    break
                start = self.at
                if self._keyword("default"):
                    defaults += 1
                elif not self._argument():
                    raise self._unexpected()
                if defaults > 1:
                    raise self._refused("a switch has one default: PowerShell does not expect another", start)
                self._lines()
                self._block("after a value of switch")
                self._lines(semicolons=True)
                clauses += 1

    def _try(self, start: int) -> None:
        self._lines()
        self._block("after try")
        handled = for_all = False
        while True:
            end = self.at
            self._lines()
            place = self.at
            word = self._keyword("catch", "finally")
            if not word:
                self.at = end
                break
            self._lines()
            if word == "catch" and for_all:
                raise self._refused("a catch for all comes last: PowerShell does not expect another", place)
            typed = word == "catch" and self._types()
            for_all = not typed
            self._block(f"after {word}")
            handled = True
            if word == "finally":
                break
        if not handled:
            raise self._refused("there is no catch and no finally for it: PowerShell wants one", start)

    def _types(self) -> bool:
        """`[a], [b]`"""
        found = False
        while self._peek() == "[":
            self._bracketed()
            found = True
            self._lines()
            if self._peek() != ",":
                break
            self.at += 1
            self._lines()
        return found

    def _trap(self, _start: int) -> None:
        self._lines()
        self._types()
        self._block("after trap")

    def _function(self, start: int) -> None:
        self._lines()
        if not self._word():
            raise self._refused("PowerShell finds no name for it", start)
        self._lines()
        if self._peek() == "(":
            self._parameters()
            self._lines()
        if self._peek() != "{":
            raise self._refused("PowerShell finds no { for the function", start)
        self._script_block()

    def _param(self, _start: int) -> None:
        self._lines()
        if self._peek() != "(":
            raise self._refused("after param PowerShell wants a (")
        self._parameters()

    def _parameters(self) -> None:
        with self._within("(", ")"):
            more = False
            while True:
                self._lines()
                if self._peek() == ")" and not more:
                    return
                self._attributes()
                if not self._variable():
                    if self.at >= len(self.text):
                        return
                    raise self._unexpected()
                self._lines()
                if self._peek() == "=":
                    self.at += 1
                    self._lines()
                    if not self._expression(commas=False):
                        raise self._unexpected()
                    self._lines()
                more = self._peek() == ","
                if not more:
                    return
                self.at += 1

    def _attributes(self) -> None:
        while self._peek() == "[":
            self._bracketed()
            self._lines()

    def _class(self, start: int) -> None:
        self._lines()
        if not self._take(_TYPE_NAME):
            raise self._refused("PowerShell finds no name for it", start)
        self._bases()
        if self._peek() != "{":
            raise self._refused("PowerShell finds no { for the class", start)
        with self._within("{", "}", ";"):
            while True:
                self._lines(semicolons=True)
                if self.at >= len(self.text) or self._peek() == "}":
                    break
                self._class_member()

    def _bases(self) -> None:
        self._lines()
        if self._peek() == ":":
            self.at += 1
            while True:
                self._lines()
                if not self._take(_TYPE_NAME):
                    raise self._unexpected()
                if self._peek() == "[":
                    self._bracketed()
                self._lines()
                if self._peek() != ",":
                    break
                self.at += 1

    def _class_member(self) -> None:
        while True:
            self._lines()
            if self._peek() == "[":
                self._bracketed()
            elif not self._keyword("static", "hidden"):
                break
        if self._variable():
            self._initial()
            return
        if not self._take(_WORD):
            raise self._unexpected()
        self._lines()
        if self._peek() != "(":
            raise self._refused("after a method's name PowerShell wants a (")
        self._parameters()
        self._lines()
        if self._peek() == ":":
            self.at += 1
            self._lines()
            if not self._keyword("base"):
                raise self._unexpected()
            self._lines()
            if self._peek() != "(":
                raise self._unexpected()
            self._call_arguments()
            self._lines()
        self._block("after a method's parameters")

    def _enum(self, start: int) -> None:
        self._lines()
        if not self._take(_TYPE_NAME):
            raise self._refused("PowerShell finds no name for it", start)
        self._bases()
        if self._peek() != "{":
            raise self._refused("PowerShell finds no { for the enum", start)
        with self._within("{", "}", ";"):
            while True:
                self._lines(semicolons=True)
                if self.at >= len(self.text) or self._peek() == "}":
                    break
                if not self._take(_WORD):
                    raise self._unexpected()
                self._initial()

    def _initial(self) -> None:
        """`= value` of a member, if it has one, and its end."""
        self._blanks()
        if self._peek() == "=":
            self.at += 1
            self._lines()
            if not self._expression():
                raise self._unexpected()
            self._blanks()
        if self._peek() not in ("", ";", "}", "\r", "\n"):
            raise self._unexpected()

    def _data(self, _start: int) -> None:
        self._blanks()
        if self._peek() not in ("{", "-"):
            self._word()
        self._blanks()
        while self._take(_PARAMETER):
            self._blanks()
            self._arguments()
        self._lines()
        self._block("after data")

    def _late_using(self, start: int) -> None:
        raise self._refused("using stands before everything else: PowerShell does not expect it", start)

    def _using(self) -> None:
        """Its words, to the end of the line."""
        self._blanks()
        if not self._keyword("namespace", "module", "assembly", "type", "command"):
            raise self._refused("after using PowerShell wants namespace, module or assembly")
        while self.at < len(self.text) and self._peek() not in "\r\n;":
            self._blanks()
            if not self._argument():
                break

    def _leave(self, start: int) -> None:
        word, after = self.text[start : self.at], self._after
        self._blanks()
        self._argument_of_a_leave(word.lower())
        self.commands.append(Command(tuple(self.text[start : self.at].strip().split(None, 1)), after))
        if word.lower() not in ("break", "continue"):
            self._end_of_statement()

    def _argument_of_a_leave(self, word: str) -> None:
        if word in ("break", "continue"):
            if not self._word():
                self._expression()
            return
        kept, self.commands = self.commands, []
        self._chain()
        # A bare value is no command: `exit 1`.
        self.commands = [*kept, *(each for each in self.commands if not each.words[0][:1].isdigit())]

    def _misplaced(self, start: int) -> None:
        self.at = start
        raise self._unexpected()

    # Pipelines and commands.

    def _chain(self) -> bool:
        """Pipelines with && and ||, and & behind them."""
        self._background = False
        if not self._pipeline():
            return False
        while True:
            self._blanks()
            start = self.at
            operator = self._peek(2)
            if operator in ("&&", "||"):
                self._newer(operator, start)
                self.at += 2
                self._lines()
                before, self._after = self._after, operator
                if not self._pipeline():
                    raise self._refused(f"PowerShell wants a command after {operator}", start)
                self._after = before
                continue
            if operator[:1] == "&":
                self._newer("& behind a command", start)
                self.at += 1
                self._background = True
            return True

    def _pipeline(self) -> bool:
        self._blanks()
        start = self.at
        kind = self._expression()
        if kind:
            self._blanks()
            place = self.at
            if operator := self._take(_ASSIGNS):
                if kind != _TARGET:
                    raise self._refused("PowerShell assigns nothing to it", start)
                if operator == "??=":
                    self._newer("??=", place)
                self._lines()
                if not self._value():
                    raise self._unexpected()
                self._kind = _VALUE
                return True
            end = self.at
            written = self.text[start:end].strip()
            files: list[str] = []
            while self._redirection(files):
                self._blanks()
            self.commands.append(Command((written,), self._after, tuple(files)))
            self._rest_of_a_pipeline()
            self._kind = kind if self.at == end else _VALUE
            return True
        if not self._command():
            if self._peek() == "|" and self._peek(2) != "||":
                raise self._refused("PowerShell wants a command before |")
            return False
        self._rest_of_a_pipeline()
        self._kind = _VALUE
        return True

    def _value(self) -> bool:
        """What is assigned: any statement."""
        return bool(self._deeper(lambda: self._with_a_keyword() or self._chain()))

    def _rest_of_a_pipeline(self) -> None:
        while True:
            self._blanks()
            start = self.at
            if self._peek() in ("\r", "\n"):
                self._lines()
                if self._peek() != "|" or self._peek(2) == "||":
                    self.at = start
                    return
                self._newer("line that begins with |", self.at)
            if self._peek() != "|" or self._peek(2) == "||":
                return
            place = self.at
            self.at += 1
            self._lines()
            before, self._after = self._after, "|"
            if self._expression():
                raise self._refused("PowerShell pipes into commands alone", place)
            if not self._command():
                raise self._refused("PowerShell wants a command after |", place)
            self._after = before

    def _command(self) -> bool:
        """Its name, which is no expression, and its arguments."""
        self._blanks()
        start = self.at
        words: list[str] = []
        files: list[str] = []
        after, self._after = self._after, ""
        following = self._peek(2)[1:]
        invoked = following != "&" if self._peek() == "&" else self._peek() == "." and following in _DOT_SOURCES
        if invoked:
            self.at += 1
            self._blanks()
        redirected = False
        while self._peek() != "<" and self._redirection(files):
            redirected = True
            self._blanks()
        begin, later = self.at, list[Command]()
        named = self._name(invoked)
        if not named:
            if invoked:
                raise self._refused("PowerShell wants a command after it", start)
            self._after = after
            if redirected:
                return True
            self.at = start
            return False
        words.append(self.text[begin : self.at])
        while self._more(words, files, later):
            pass
        self._after = after
        self.commands.append(Command(tuple(words), after, tuple(files)))
        self.commands += later
        return True

    def _name(self, invoked: bool) -> bool:
        first = self._peek()
        if invoked and (first in _SINGLE + _DOUBLE + "$({" and first):
            return self._argument()
        if not first or first in _ENDS or first in "@" + _SINGLE + _DOUBLE:
            return False
        return self._word()

    def _more(self, words: list[str], files: list[str], later: list[Command]) -> bool:
        """One more argument, parameter or redirection."""
        self._blanks()
        first = self._peek()
        if not first or first in "\r\n;|)}&":
            return False
        if self._redirection(files):
            return True
        start = self.at
        if first == ",":
            raise self._refused("PowerShell wants a value before it")
        if self._peek(3) == "--%" and self._take(_VERBATIM):
            words += self.text[start : self.at].split()
            return True
        if found := _PARAMETER.match(self.text, self.at):
            following = self.text[found.end() : found.end() + 1]
            if found[1] or not following or following in _ENDS or following in ".[":
                self.at = found.end()
                words.append(found.group())
                if not found[1]:
                    return True
                self._blanks()
        self._needed_argument(words, later, found.group() if found and self.at > start else "")
        while True:
            end = self.at
            self._blanks()
            if self._peek() != ",":
                self.at = end
                return True
            self.at += 1
            self._lines()
            self._needed_argument(words, later, ",")

    def _needed_argument(self, words: list[str], later: list[Command], before: str) -> None:
        start, kept = self.at, self.commands
        self.commands = []
        block = self._peek() == "{"
        found = self._argument()
        inner, self.commands = self.commands, kept
        (later if block else self.commands).extend(inner)
        if not found:
            if before:
                raise self._refused(f"PowerShell wants a value after {before}")
            raise self._unexpected()
        words.append(self.text[start : self.at])

    def _arguments(self) -> None:
        while self._argument():
            self._blanks()
            if self._peek() != ",":
                return
            self.at += 1
            self._lines()

    def _argument(self) -> bool:
        """A value in a command: an expression without operators, or a word as it stands."""
        first = self._peek()
        if not first or first in "\r\n;|)},&":
            return False
        if first == "@" and (found := _SPLATTED.match(self.text, self.at)):
            self.at = found.end()
            if self._peek() and self._peek() in ".[":
                raise self._refused("PowerShell splats a whole variable alone", found.start())
            return True
        if first in "$@({" or first in _SINGLE + _DOUBLE:
            start = self.at
            if self._primary(command=True):
                if first == "$" and not _REDIRECT.match(self.text, self.at):
                    self._word()
                return True
            self.at = start
            if first != "$":
                return False
        return self._word()

    def _word(self) -> bool:
        """A word as it stands, which may have strings, variables and subexpressions in it."""
        start = self.at
        while self.at < len(self.text):
            letter = self._peek()
            if letter in _ENDS or letter.isspace():
                break
            if letter == "`":
                if self.at + 1 >= len(self.text):
                    raise self._refused("PowerShell expects something more at the end")
                if self.text[self.at + 1] in "\r\n":
                    break
                self.at += 2
            elif letter in _SINGLE:
                self._single()
            elif letter in _DOUBLE:
                self._double()
            elif letter == "$":
                self._dollar()
            else:
                self.at += 1
        return self.at > start

    def _redirection(self, files: list[str]) -> bool:
        found = _REDIRECT.match(self.text, self.at)
        if found is None:
            return False
        start, self.at = self.at, found.end()
        if found[4]:
            raise self._refused("PowerShell has no <", start)
        if found[3]:
            if found[3] != "&1" or found[1] in ("", "1"):
                raise self._refused(f"PowerShell has no {found.group()}", start)
            return True
        self._blanks()
        begin = self.at
        if not self._argument():
            raise self._refused("PowerShell wants a file after it", start)
        files.append(self.text[begin : self.at])
        return True

    # Expressions.

    def _expression(self, commas: bool = True) -> int:
        kind = self._list(commas)
        while kind:
            self._blanks()
            start = self.at
            if self._peek() == "?" and self._peek(2) not in ("??", "?.", "?["):
                self._newer("? :", start)
                self._ternary(commas)
                return _VALUE
            operator = self._take(_BINARY)
            if not operator:
                return kind
            if operator == "??":
                self._newer("??", start)
            self._lines()
            if not self._list(commas):
                raise self._refused(f"PowerShell wants a value after {operator}", start)
            kind = _VALUE
        return kind

    def _ternary(self, commas: bool) -> None:
        start = self.at
        self.at += 1
        self._lines()
        if not self._deeper(lambda: self._expression(commas)):
            raise self._refused("PowerShell wants a value after ?", start)
        self._lines()
        if self._peek() != ":":
            raise self._refused("PowerShell finds no : for it", start)
        self.at += 1
        self._lines()
        if not self._deeper(lambda: self._expression(commas)):
            raise self._refused("PowerShell wants a value after :", start)

    def _list(self, commas: bool) -> int:
        """Values with commas between them."""
        kind = self._unary(commas)
        while kind and commas:
            end = self.at
            self._blanks()
            if self._peek() != ",":
                self.at = end
                break
            place = self.at
            self.at += 1
            self._lines()
            following = self._unary(commas)
            if not following:
                raise self._refused("PowerShell wants a value after ,", place)
            kind = min(kind, following)
        return kind

    def _unary(self, commas: bool = True) -> int:
        start = self.at
        if commas and self._peek() == ",":
            self.at += 1
            self._lines()
            return self._deeper(lambda: self._operand(commas, start))
        if self._take(_UNARY) or self._take(_SIGN):
            self._lines()
            self._deeper(lambda: self._operand(commas, start))
            return _VALUE
        if self._take(_STEP):
            self._lines()
            if self._deeper(lambda: self._operand(commas, start)) != _TARGET:
                raise self._refused("PowerShell counts variables alone", start)
            return _VALUE
        if self._peek() == "[":
            return self._cast(commas)
        return self._primary()

    def _deeper(self, reads: Callable[[], int]) -> int:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _TooDeepError
        found = reads()
        self._depth -= 1
        return found

    def _operand(self, commas: bool, start: int) -> int:
        kind = self._unary(commas)
        if not kind:
            raise self._refused("PowerShell wants a value after it", start)
        return kind

    def _cast(self, commas: bool) -> int:
        """`[type]`, alone or before what it is made of."""
        start = self.at
        attribute = self._bracketed()
        if self._peek(2) == "::" or self._peek() == ".":
            return self._postfix(_VALUE)
        end = self.at
        if attribute:
            self._lines()
        else:
            self._blanks()
        kind = self._deeper(lambda: self._unary(commas))
        if attribute and kind != _TARGET:
            raise self._refused("PowerShell expects a variable after it", start)
        if kind:
            return kind
        self.at = end
        return _VALUE

    def _bracketed(self) -> bool:
        """`[name]` of a type, `[name(...)]` of an attribute; whether it is the latter."""
        attribute = False
        start = self.at
        with self._within("[", "]"):
            self._lines()
            if not self._take(_TYPE_NAME):
                raise self._refused("PowerShell expects the name of a type in it", start)
            assembly = False
            while True:
                self._lines()
                first = self._peek()
                if first == "[":
                    self._indices()
                elif first == ",":
                    assembly = True
                    self.at += 1
                elif first == "(" and not attribute:
                    attribute = True
                    self._attribute_arguments()
                elif assembly and self._take(_OF_AN_ASSEMBLY):
                    # Of an assembly: `[a.b, c, Version=1.0]`.
                    continue
                else:
                    break
        return attribute

    def _indices(self) -> None:
        """`[]`, `[,]` and `[a, b]` behind a type's name."""
        with self._within("[", "]"):
            while True:
                self._lines()
                if self._peek() == "[":
                    self._indices()
                elif not self._take(_TYPE_ARGUMENTS):
                    return

    def _attribute_arguments(self) -> None:
        with self._within("(", ")"):
            while True:
                self._lines()
                named = _NAMED_ARGUMENT.match(self.text, self.at)
                if named:
                    self.at = named.end() + 1
                    self._lines()
                if not self._expression(commas=False):
                    if named:
                        raise self._unexpected()
                    if not self._take(_WORD):
                        return
                self._lines()
                if self._peek() != ",":
                    return
                self.at += 1

    def _primary(self, command: bool = False) -> int:
        first = self._peek()
        if first == "$":
            if self._peek(2) == "$(":
                self._sub("$(")
                return self._postfix(_VALUE, command)
            if not self._variable():
                return _NONE
            return self._postfix(_TARGET, command)
        if first and first in _SINGLE:
            self._single()
        elif first and first in _DOUBLE:
            self._double()
        elif first == "@":
            if not self._at():
                return _NONE
        elif first == "(":
            kind = self._parenthesis()
            return self._postfix(kind, command)
        elif first == "{":
            self._script_block()
        elif first.isdigit() or (first == "." and self._peek(2)[1:].isdigit()):
            if not self._number():
                return _NONE
        else:
            return _NONE
        return self._postfix(_VALUE, command)

    def _number(self) -> bool:
        found = _NUMBER.match(self.text, self.at)
        following = self.text[found.end() : found.end() + 1] if found else ""
        if found is None or following.isalnum() or following == "_":
            return False
        # A redirection that begins a command: `2>&1`.
        if following == ">" and len(found.group()) == 1:
            return False
        self.at = found.end()
        return True

    def _at(self) -> bool:
        """`@(`, `@{`, a text over several lines."""
        following = self._peek(2)[1:]
        if following == "(":
            self._sub("@(")
        elif following == "{":
            self._table()
        elif following and following in _SINGLE + _DOUBLE:
            self._here()
        else:
            raise self._unexpected()
        return True

    def _sub(self, opening: str) -> None:
        with self._within(opening, ")", ";"):
            self._statements_until(")")

    def _parenthesis(self) -> int:
        """`( pipeline )`; what is in it may be assigned to."""
        start = self.at
        with self._within("(", ")"):
            self._lines()
            before, self._after = self._after, "("
            if not self._chain():
                raise self._refused("PowerShell wants something in it", start)
            self._after = before
            return self._kind

    def _script_block(self) -> None:
        with self._within("{", "}", ";"):
            before, self._after = self._after, "{"
            self.script("}")
            self._after = before

    def _table(self) -> None:
        """`@{ name = value; .. }`"""
        with self._within("@{", "}", ";"):
            more = False
            while True:
                self._lines(semicolons=more)
                more = True
                if self.at >= len(self.text) or self._peek() == "}":
                    return
                start = self.at
                if not self._take(_WORD) and not self._unary(commas=False):
                    raise self._unexpected()
                self._blanks()
                if self._peek() != "=":
                    raise self._refused("PowerShell wants a = after a name in @{", start)
                self.at += 1
                self._lines()
                if not self._value():
                    raise self._refused("PowerShell finds no value for it", start)
                self._blanks()
                if self._peek() and self._peek() not in "\r\n;}":
                    raise self._unexpected()

    def _postfix(self, kind: int, command: bool = False) -> int:
        """Members, indices and calls that follow without a blank."""
        while True:
            start, first, two = self.at, self._peek(), self._peek(2)
            if two in ("?.", "?[") and not command:
                self._newer("?.", self.at)
                self.at += 1
            elif two == "::" or (first == "." and two != ".."):
                kind = self._member(2 if two == "::" else 1, command) or kind
                if self.at == start:
                    return kind
            elif first == "[":
                self._index()
                kind = _TARGET
            else:
                break
        end = self.at
        self._blanks()
        if not command and self._take(_STEP):
            if kind != _TARGET:
                raise self._refused("PowerShell counts variables alone", end)
            return _VALUE
        self.at = end
        return kind

    def _member(self, length: int, command: bool) -> int:
        """A property, or a method with its arguments; none, and nothing is read, where no name follows in a command."""
        start = self.at
        self.at += length
        if not command:
            self._lines()
        first = self._peek()
        if first == "@":
            raise self._unexpected()
        named = bool(self._take(_MEMBER))
        if not named and first and first in "$(" + _SINGLE + _DOUBLE:
            named = bool(self._simple())
        if not named:
            if command:
                self.at = start
                return _NONE
            raise self._refused("PowerShell wants a name after it", start)
        if self._peek() == "(":
            self._call_arguments()
        elif self._peek() == "{" and not command:
            self._script_block()
        else:
            return _TARGET
        return _VALUE

    def _simple(self) -> bool:
        first = self._peek()
        if first == "(":
            self._parenthesis()
        elif self._peek(2) == "$(":
            self._sub("$(")
        elif first == "$":
            return self._variable()
        elif first in _SINGLE:
            self._single()
        else:
            self._double()
        return True

    def _call_arguments(self) -> None:
        with self._within("(", ")"):
            self._lines()
            if self._peek() == ")":
                return
            while True:
                self._lines()
                if not self._expression(commas=False):
                    raise self._unexpected()
                self._lines()
                if self._peek() != ",":
                    return
                self.at += 1

    def _index(self) -> None:
        with self._within("[", "]"):
            self._lines()
            if not self._expression():
                raise self._unexpected()

    # Strings and variables.

    def _single(self) -> None:
        start = self.at
        self.at += 1
        while True:
            found = _SINGLES.search(self.text, self.at)
            if found is None:
                raise self._refused("PowerShell finds no end of the string", start)
            self.at = found.end()
            if not self._peek() or self._peek() not in _SINGLE:
                return
            self.at += 1

    def _double(self) -> None:
        start = self.at
        self.at += 1
        while self.at < len(self.text):
            letter = self._peek()
            if letter == "`":
                self.at += 2
            elif letter == "$":
                self._dollar()
            elif letter in _DOUBLE:
                self.at += 1
                if not self._peek() or self._peek() not in _DOUBLE:
                    return
                self.at += 1
            else:
                self.at += 1
        raise self._refused("PowerShell finds no end of the string", start)

    def _here(self) -> None:
        start = self.at
        header = self._take(_HERE)
        if not header[-1:].isspace() or header[-1] not in "\r\n":
            raise self._refused("behind its first two letters a text over lines begins on the next one", start)
        quotes = _SINGLE if header[1] in _SINGLE else _DOUBLE
        # A footer may follow the header at once.
        footer = re.compile(rf"(?:\r\n?|\n)([^\S\r\n]*)[{quotes}]@")
        self.at -= 1
        while self.at < len(self.text):
            if found := footer.match(self.text, self.at):
                if found[1]:
                    raise self._refused(f"blanks stand before {found.group().strip()}", found.end() - 2)
                self.at = found.end()
                return
            letter = self._peek()
            if quotes == _DOUBLE and letter == "`" and self.text[self.at + 1 : self.at + 2] not in ("\r", "\n"):
                self.at += 2
            elif quotes == _DOUBLE and letter == "$":
                self._dollar()
            else:
                self.at += 1
        raise self._refused("PowerShell finds no end of the text", start)

    def _dollar(self) -> None:
        """A variable or a subexpression in a string or a word, or the letter itself."""
        if self._peek(2) == "$(":
            self._sub("$(")
        elif not self._variable():
            self.at += 1

    def _variable(self) -> bool:
        if self._peek(2) == "${":
            found = _BRACED.match(self.text, self.at)
            if found is None:
                raise self._refused("PowerShell finds no } for it")
            if found.group() == "${}":
                raise self._refused("PowerShell wants a name in it")
            self.at = found.end()
            return True
        if found := _BAD_VARIABLE.match(self.text, self.at):
            raise self._refused(f"PowerShell takes {found.group()} for a drive; write ${{{found.group()[1:-1]}}}:")
        return bool(self._take(_VARIABLE))


_NAMED_BLOCKS = ("begin", "process", "end", "dynamicparam", "clean")
_FLAGS = ("regex", "wildcard", "exact", "casesensitive", "file", "parallel")
_DOT_SOURCES = frozenset(["", " ", "\t", "\r", "\n", "$", "(", "{", *_SINGLE, *_DOUBLE])
_ALWAYS = re.compile(r"\s*(?:\$true|1)\s*", re.IGNORECASE)
_NEVER = re.compile(r"\s*(?:\$false|0)\s*", re.IGNORECASE)
