# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The options of a component's module and the variables of its role, in one table: the fields of a frozen dataclass.

A field has its type, its default and, in its metadata, what `option` takes. The table generates the module's
documentation and argument_spec, and the role's defaults, specification, task and table of variables. The first task of
a run plans with it too: `list_templates` says what sets which option. `read` makes the dataclass of a module's
options, and from there on everything reads attributes. An option is secret (no_log) where its type is `Secret`, or a
dict of such.
"""

# Functions here make the fields of other classes.
# pylint: disable=invalid-field-call
from __future__ import annotations

import re
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass, replace
from functools import cache
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from ..engine.secret import Secret

T = TypeVar("T")

SECRET = "Secret. "
"""The start of the description of an option whose type is `Secret`."""


NETWORK = "winkube_network"
"""The variable with what was resolved of the variables about the cluster's network."""


class _Same:
    """Marks a variable whose default is its option's."""


SAME = _Same()


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of the component's own role. `default` may be a template; without one the option's counts. `text`
    is the role's description in Ansible's markup; without one the option's counts. `shown` replaces the default in
    the README if it explains more than the value."""

    name: str
    default: Any = SAME
    text: str = ""
    shown: str = ""


@dataclass(frozen=True, slots=True)
class Option:
    """An option of a module.

    `variable` sets it in the role: a variable of that role, or an expression of shared ones. An option without one has
    a variable per suboption, or none. `default` None: it has none. Several descriptions are paragraphs. `fragment`
    documents an option that modules share.
    """

    name: str
    type: str
    description: str | tuple[str, ...]
    default: Any = None
    required: bool = False
    elements: str = ""
    choices: tuple[str, ...] = ()
    options: tuple[Option, ...] = ()
    variable: Variable | str = ""
    fragment: str = ""

    @property
    def secret(self) -> bool:
        """Whether its values are never shown."""
        text = self.description
        return (text if isinstance(text, str) else text[0]).startswith(SECRET)

    def document(self) -> dict[str, Any]:
        """The option in the form of a module's documentation."""
        text = self.description
        found: dict[str, Any] = {"description": text if isinstance(text, str) else list(text), "type": self.type}
        if self.elements:
            found["elements"] = self.elements
        if self.choices:
            found["choices"] = list(self.choices)
        if self.required:
            found["required"] = True
        if self.default is not None:
            found["default"] = self.default
        if self.options:
            found["suboptions"] = document(self.options)
        return found


@dataclass(frozen=True, slots=True)
class Interface:
    """A component's module and role, as users see them.

    `module` is the module's name, `summary` the short description of both, `task` the title of the role's task.
    `options` is the dataclass of its options, `own` are those of its fields that are another option here, or none.
    `shared` are the fragments winkube.node.<name> of options that modules share. `places` are its folders, files and
    names of services on a node, each a field of `Layout` and a suboption of `node`; their variables belong to the role
    winkube.
    """

    module: str
    summary: str
    task: str
    options: type[Any]
    shared: tuple[str, ...] = ("node",)
    places: tuple[Option, ...] = ()
    own: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rows(self) -> tuple[Option, ...]:
        """The table of its options."""
        return _rows(self.options, self.own)

    def read(self, given: Mapping[str, Any]) -> Any:
        """Its options, of the module's: `read`."""
        return _read(self.options, self.own, given)


# The fields of a dataclass of options.

_ABOUT = "option"


@dataclass(frozen=True, slots=True)
class _About:
    """What a field's metadata says of the option. `of` is the class of a dict with suboptions of its own, `own` are
    those of its fields that are another option here, or none. `prefix` is not None where the fields of `of` are options
    of the same level; it begins the variables of those that name none."""

    description: str | tuple[str, ...]
    variable: Variable | str = ""
    kind: str = ""
    choices: tuple[str, ...] = ()
    flag: str = ""
    setting: str = ""
    fragment: str = ""
    default: Mapping[str, Any] | None = None
    of: type[Any] | None = None
    prefix: str | None = None
    own: Mapping[str, Field[Any] | None] = field(default_factory=dict)


def option(
    description: str | tuple[str, ...],
    *,
    default: Any = MISSING,
    variable: Variable | str = "",
    type: str = "",
    choices: tuple[str, ...] = (),
    flag: str = "",
    setting: str = "",
    fragment: str = "",
) -> Any:
    """A field of a dataclass of options. Without `default` the option is required.

    Args:
        description: Its documentation; several strings are paragraphs.
        default: A tuple for a list, a dict for a dict.
        variable: What sets it in the role (`Option`).
        type: Ansible's type, where the annotation does not tell it: `path`.
        choices: Where they are not a Literal's.
        flag: The program's flag that gets the value, without dashes.
        setting: The field of the program's configuration file that gets it.
        fragment: The one in doc_fragments/ that documents it, if modules share it.
    """
    metadata = {_ABOUT: _About(description, variable, type, choices, flag, setting, fragment)}
    if isinstance(default, Mapping):
        return field(default_factory=lambda: dict(default), metadata=metadata)
    return field(metadata=metadata) if default is MISSING else field(default=default, metadata=metadata)


def suboptions(
    of: type[T],
    description: str | tuple[str, ...],
    *,
    required: bool = False,
    default: Mapping[str, Any] | None = None,
    variable: Variable | str = "",
    fragment: str = "",
    **own: Any,
) -> T:
    """A field whose value is a dataclass of options itself. `own` are fields of it, by name, that are another option
    here than in the class; None: there is no such option here, and it has the class's default. The default is made of
    theirs; `default` is what the documentation says besides."""
    about = _About(description, variable, fragment=fragment, default=default, of=of, own=own)
    if required:
        return cast(T, field(metadata={_ABOUT: about}))
    return field(default_factory=lambda: _read(of, about.own, {}), metadata={_ABOUT: about})


def inlined(of: type[T], *, prefix: str = "", **own: Any) -> T:
    """A field whose value is a dataclass of options that are options of the class which has the field. One that names
    no variable gets the one of its name after `prefix`, where there is a prefix. `own` is as for `suboptions`."""
    about = _About("", of=of, prefix=prefix, own=own)
    return field(default_factory=lambda: _read(of, about.own, {}), metadata={_ABOUT: about})


def list_options(of: type[Any]) -> tuple[Option, ...]:
    """The table of a dataclass of options."""
    return _rows(of, {})


def _rows(of: type[Any], own: Mapping[str, Field[Any] | None]) -> tuple[Option, ...]:
    found: list[Option] = []
    for name, hint, each in _fields(of, own):
        about: _About = each.metadata[_ABOUT]
        if about.of is None or about.prefix is None:
            found.append(_row(name, hint, each))
            continue
        for row in _rows(about.of, about.own):
            named = row.variable or about.prefix == ""
            found.append(row if named else replace(row, variable=Variable(about.prefix + row.name)))
    return tuple(found)


def _fields(of: type[Any], own: Mapping[str, Field[Any] | None]) -> Iterator[tuple[str, Any, Field[Any]]]:
    hints = _hints(cast(Hashable, of))
    for each in fields(of):
        if _ABOUT in each.metadata and (found := own.get(each.name, each)) is not None:
            yield each.name, hints[each.name], found


def _documented_fields(of: type[Any], given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    hints = _hints(cast(Hashable, of))
    yield from (
        (each.name, hints[each.name]) for each in fields(of) if _ABOUT not in each.metadata if each.name in given
    )


@dataclass(frozen=True, slots=True)
class Flag:
    """An option that is one flag of a program (`flag`, without dashes), and one field of its configuration file
    (`setting`; empty: none)."""

    name: str
    flag: str
    setting: str


def list_flags(of: type[Any]) -> tuple[Flag, ...]:
    """The options that are flags as they stand, in the order of the table."""
    abouts: Iterator[tuple[str, _About]] = ((each.name, each.metadata[_ABOUT]) for each in fields(of))
    return tuple(Flag(name, about.flag, about.setting) for name, about in abouts if about.flag)


@cache
def _hints(of: Hashable) -> Mapping[str, Any]:
    return get_type_hints(of)


def _row(name: str, hint: Any, each: Field[Any]) -> Option:
    about: _About = each.metadata[_ABOUT]
    required, default = _is_required(each), None
    if about.of is not None:
        kind = Option(name, "dict", about.description, options=_rows(about.of, about.own))
        default = about.default
    else:
        kind = _kind(name, hint, about.description)
        default = None if required else _documented(_default_of(each))
    return Option(
        name,
        about.kind or kind.type,
        _mark_secret(about.description) if _is_secret(hint) else about.description,
        default,
        required,
        kind.elements,
        about.choices or kind.choices,
        kind.options,
        about.variable,
        about.fragment,
    )


def _is_secret(hint: Any) -> bool:
    """Whether values of this type are never shown, as a whole or each of a dict."""
    hint = _without_none(hint)
    return get_origin(hint) is Secret or (get_origin(hint) in {Mapping, dict} and _is_secret(get_args(hint)[1]))


def _mark_secret(description: str | tuple[str, ...]) -> str | tuple[str, ...]:
    if isinstance(description, str):
        return f"{SECRET}{description}"
    return (f"{SECRET}{description[0]}", *description[1:])


_TYPES = {str: "str", int: "int", bool: "bool", float: "float"}


def _kind(name: str, hint: Any, description: str | tuple[str, ...]) -> Option:
    """Type, elements, choices and suboptions by the annotation."""
    hint = _without_none(hint)
    origin, inner = get_origin(hint), get_args(hint)
    if origin is Literal:
        return Option(name, "str", description, choices=inner)
    if origin is tuple:
        element = inner[0]
        if is_dataclass(element):
            return Option(name, "list", description, elements="dict", options=_rows(cast(type[Any], element), {}))
        return Option(name, "list", description, elements=_kind(name, element, "").type)
    if origin in {Mapping, dict}:
        return Option(name, "dict", description)
    return Option(name, _TYPES.get(inner[0] if origin is Secret else hint, "raw"), description)


def _without_none(hint: Any) -> Any:
    """`int` of `int | None`."""
    if get_origin(hint) not in {Union, UnionType}:
        return hint
    (found,) = (each for each in get_args(hint) if each is not NoneType)
    return found


def _is_required(each: Field[Any]) -> bool:
    return each.default is MISSING and each.default_factory is MISSING


def _default_of(each: Field[Any]) -> Any:
    return each.default if each.default_factory is MISSING else each.default_factory()


def _documented(default: Any) -> Any:
    if isinstance(default, Secret):
        return default.reveal()
    return list(default) if isinstance(default, tuple) else default


def read(of: type[T], given: Mapping[str, Any], **more: Any) -> T:
    """The dataclass of a module's options, which are checked; others among them are left out, and one that is missing
    or None has its default. A field without `option` is an option that only the module's documentation describes, with
    the default that `given` has of it, or one of `more`. TypeError if a required one is missing."""
    return _read(of, {}, given, **more)


def _read(of: type[T], own: Mapping[str, Field[Any] | None], given: Mapping[str, Any], **more: Any) -> T:
    values: dict[str, Any] = {name: _plain(hint, given[name]) for name, hint in _documented_fields(of, given)} | more
    for name, hint, each in _fields(of, own):
        about: _About = each.metadata[_ABOUT]
        found = given if about.prefix is not None else given.get(name)
        if found is not None:
            values[name] = _value(hint, about, found)
        elif not _is_required(each):
            values[name] = _default_of(each)
    return of(**values)


def _value(hint: Any, about: _About, found: Any) -> Any:
    return _plain(hint, found) if about.of is None else _read(about.of, about.own, found)


def _plain(hint: Any, found: Any) -> Any:
    """A value of an option of this type; None for one that has none."""
    hint = _without_none(hint)
    if found is None:
        return None
    if is_dataclass(hint):
        return _read(cast(type[Any], hint), {}, found)
    if isinstance(found, Collection) and get_origin(hint) is tuple:
        element = get_args(hint)[0]
        return tuple(_read(cast(type[Any], element), {}, each) if is_dataclass(element) else each for each in found)
    if _is_secret(hint):
        return (
            {str(key): Secret(str(each)) for key, each in found.items()}
            if isinstance(found, Mapping)
            else Secret(str(found))
        )
    return found


def document(options: tuple[Option, ...]) -> dict[str, Any]:
    """Options by name, in the form of a module's documentation."""
    return {option.name: option.document() for option in options}


def list_secrets(interface: Interface) -> Iterator[tuple[str, tuple[str, ...]]]:
    """For each secret option the template that sets it and the keys of the value below, `{{ winkube_registries }}` and
    `auth`, `password`."""
    yield from _list_secrets(interface.rows, "", ())


def _list_secrets(
    rows: tuple[Option, ...], template: str, keys: tuple[str, ...]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    for row in rows:
        here, below = (_template(row), ()) if row.variable else (template, (*keys, row.name))
        if row.secret and here:
            yield here, below
        yield from _list_secrets(row.options, here, below)


def _template(option: Option) -> str:
    own = option.variable
    return "{{ " + (own.name if isinstance(own, Variable) else own) + " }}"


def list_templates(options: Iterable[Option]) -> dict[str, Any]:
    """Options by name as templates of the collection's variables, as a role's task passes them. The caller has Ansible
    fill them in."""
    found: dict[str, Any] = {}
    for option in options:
        if option.variable:
            found[option.name] = _template(option)
        elif inner := list_templates(option.options):
            found[option.name] = inner
    return found


@dataclass(frozen=True, slots=True)
class Given:
    """A variable of a role and the option it sets. `default` is the variable's; `text` is in Ansible's markup."""

    variable: Variable
    option: Option
    default: Any
    text: str


def role_variables(options: tuple[Option, ...]) -> tuple[Given, ...]:
    """The role's own variables, in the order of the table."""
    every = dict(_paths(options))
    names = {path: name for path, one in every.items() if (name := _variable_name(one))}
    found: list[Given] = []
    for option in every.values():
        if isinstance(option.variable, Variable):
            given = option.variable.default
            default = _default(option) if given is SAME else given
            found.append(Given(option.variable, option, default, option.variable.text or _describe(option, names)))
    return tuple(found)


def _paths(options: tuple[Option, ...], before: str = "") -> Iterator[tuple[str, Option]]:
    """Each option and suboption with its name as in `O()`."""
    for option in options:
        yield before + option.name, option
        yield from _paths(option.options, f"{before}{option.name}.")


def _variable_name(option: Option) -> str:
    """The variable that sets the option; empty for none."""
    if isinstance(option.variable, Variable):
        return option.variable.name
    return option.variable.partition(" ")[0].replace(f"{NETWORK}.", "winkube_")


def _default(option: Option) -> Any:
    """The option's default; for a dict without one, the defaults of its suboptions."""
    if option.default is None and option.options and option.type == "dict":
        return {one.name: _default(one) for one in option.options}
    return option.default


def _describe(option: Option, names: Mapping[str, str]) -> str:
    """The description for readers who know only variables: other options appear by their variables' names."""
    lines = (option.description,) if isinstance(option.description, str) else option.description
    text = " ".join(line.removeprefix(SECRET) for line in lines)
    return re.sub(r"\bO\(([\w.]+)", lambda found: f"C({names.get(found[1], found[1])}", text)
