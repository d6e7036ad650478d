"""One table says what a module's options, a role's variables, and the way from these to those are."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Set
from dataclasses import MISSING, dataclass, fields, is_dataclass, make_dataclass
from importlib import import_module
from pathlib import Path
from types import NoneType
from typing import Any, Literal, cast, get_args, get_type_hints

import pytest
from ansible_collections.winkube.node.plugins import action
from ansible_collections.winkube.node.plugins.plugin_utils.components import options as tables
from ansible_collections.winkube.node.plugins.plugin_utils.components.declaration import Component
from ansible_collections.winkube.node.plugins.plugin_utils.components.layout import Layout
from ansible_collections.winkube.node.plugins.plugin_utils.components.options import (
    Interface,
    Option,
    Variable,
    inlined,
    option,
    suboptions,
)
from ansible_collections.winkube.node.plugins.plugin_utils.components.registry import COMPONENTS, PLACES
from ansible_collections.winkube.node.plugins.plugin_utils.components.shared_options import (
    ServiceOptions,
    SharedOptions,
    arguments,
    start_option,
    stop_option,
)
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.network_report import HnsCheckOptions
from ansible_collections.winkube.node.plugins.plugin_utils.diagnosis.tried import Looking
from ansible_collections.winkube.node.plugins.plugin_utils.engine.secret import NO_TEXT, Secret
from ansible_collections.winkube.node.plugins.plugin_utils.task import argument_spec


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSource:
    """Where an agent comes from."""

    url: str = option("For O(port).", default="", variable=Variable("winkube_agent_url", "{{ x }}/a"))
    header: Secret[str] = option(("With O(source.url).", "Not with O(join=kubeadm)."), default=NO_TEXT)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentOptions:
    """Of an agent."""

    port: int = option("Its port.", default=80, variable=Variable("winkube_agent_port"))
    join: str = option("How.", variable="winkube_join | default('')")
    source: AgentSource = suboptions(AgentSource, "Where it comes from.")
    service: ServiceOptions = suboptions(
        ServiceOptions,
        "How it runs.",
        variable=Variable("winkube_agent_service"),
        manager=None,
        environment=None,
        depends_on=None,
        start_timeout=start_option("Seconds.", 60),
        stop_timeout=stop_option(30),
    )


TABLE = Interface("win_agent", "Runs an agent", "Install the agent", AgentOptions, shared=("inbound",))


def test_what_a_module_is_told_becomes_a_value_with_types() -> None:
    found = TABLE.read({"join": "kubeadm", "source": {"header": "x"}, "port": None, "more": 1})
    assert found == AgentOptions(join="kubeadm", source=AgentSource(header=Secret("x")))
    assert (found.port, found.service.stop_timeout, found.service.depends_on) == (80, 30, ())
    with pytest.raises(TypeError, match="join"):
        TABLE.read({})


@dataclass(frozen=True, slots=True, kw_only=True)
class KindsOptions:
    """One option of each kind."""

    way: Literal["a", "b"] = option("W.", default="a")
    names: tuple[str, ...] = option("N.", default=("x",))
    several: tuple[AgentSource, ...] = option("S.", default=())
    labels: Mapping[str, Any] = option("L.", default={})
    variables: Mapping[str, Secret[str]] = option("V.", default={})
    limit: int | None = option("M.", default=None)
    file: str = option("F.", type="path")
    agent: AgentSource = inlined(AgentSource, prefix="winkube_agent_")


def test_the_annotation_tells_type_elements_choices_and_suboptions() -> None:
    found = tables.document(tables.list_options(KindsOptions))
    kinds = {name: {key: each for key, each in one.items() if key != "description"} for name, one in found.items()}
    assert kinds == {
        "way": {"type": "str", "choices": ["a", "b"], "default": "a"},
        "names": {"type": "list", "elements": "str", "default": ["x"]},
        "several": {
            "type": "list",
            "elements": "dict",
            "default": [],
            "suboptions": tables.document(tables.list_options(AgentSource)),
        },
        "labels": {"type": "dict", "default": {}},
        "variables": {"type": "dict", "default": {}},
        "limit": {"type": "int"},
        "file": {"type": "path", "required": True},
        "url": {"type": "str", "default": ""},
        "header": {"type": "str", "default": ""},
    }
    read = tables.read(KindsOptions, {"file": "f", "url": "u", "names": ["y"], "several": [{"header": "h"}]})
    assert (read.names, read.several, read.agent.url) == (("y",), (AgentSource(header=Secret("h")),), "u")
    variables = {
        each.option.name: each.variable.name for each in tables.role_variables(tables.list_options(KindsOptions))
    }
    assert variables == {"url": "winkube_agent_url", "header": "winkube_agent_header"}


def test_arguments_are_templates_of_the_variables() -> None:
    assert arguments(TABLE) == {
        "port": "{{ winkube_agent_port }}",
        "join": "{{ winkube_join | default('') }}",
        "source": {"url": "{{ winkube_agent_url }}"},
        "service": "{{ winkube_agent_service }}",
        "firewall": {"enabled": "{{ winkube_firewall }}", "sources": "{{ winkube_firewall_sources }}"},
    }


def test_a_role_tells_of_its_own_variables_and_calls_others_by_their_names() -> None:
    found = {each.variable.name: (each.default, each.text) for each in tables.role_variables(TABLE.rows)}
    assert found == {
        "winkube_agent_port": (80, "Its port."),
        "winkube_agent_url": ("{{ x }}/a", "For C(winkube_agent_port)."),
        "winkube_agent_service": ({"start_timeout": 60, "stop_timeout": 30}, "How it runs."),
    }
    told = tables.role_variables((Option("all", "dict", "See O(b.c) and O(d=e).", variable=Variable("winkube_all")),))
    assert told[0].text == "See C(b.c) and C(d=e)."


def test_a_secret_is_one_by_its_type_in_the_documentation_the_spec_and_what_is_read() -> None:
    documented = tables.document(TABLE.rows)["source"]["suboptions"]["header"]["description"]
    assert documented == ["Secret. With O(source.url).", "Not with O(join=kubeadm)."]
    spec = argument_spec.options_spec(tables.document(TABLE.rows))
    assert spec["source"]["options"]["header"]["no_log"] is True
    assert spec["port"] == {"type": "int", "default": 80, "no_log": False}
    assert argument_spec.options_spec(tables.document(tables.list_options(KindsOptions)))["variables"]["no_log"] is True
    read = tables.read(KindsOptions, {"file": "f", "header": "hunter2", "variables": {"A": 4711}})
    assert read.agent.header == Secret("hunter2") and read.variables == {"A": Secret("4711")}
    assert "hunter2" not in repr(read) and "4711" not in repr(read)


def test_no_table_says_by_hand_what_the_type_says() -> None:
    """What is documented as secret has the type, so that nothing behind it is a plain text."""
    folder = Path(tables.__file__).parent
    strings = (
        (file.name, node.value)
        for file in folder.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    assert [(name, text) for name, text in strings if text.startswith(tables.SECRET)] == [("options.py", tables.SECRET)]


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda each: each.role)
def test_module_and_table_agree(component: Component) -> None:
    interface = component.interface
    documentation = argument_spec.read_documentation(interface.module)
    fragments = {each.removeprefix("winkube.node.") for each in documentation["extends_documentation_fragment"]}
    assert documentation["short_description"] == interface.summary
    assert fragments == {*interface.shared, f"components.{component.role}", "attributes"}
    assert "options" not in documentation, "they stand in the table"
    assert set(arguments(interface)) <= set(argument_spec.load_spec(interface.module))
    required = {option.name for option in interface.rows if option.required}
    assert required <= set(arguments(interface)), "the role gives every option that has to be given"


def test_every_place_of_the_layout_is_declared_by_what_lies_there() -> None:
    assert sorted(place.name for place in PLACES) == sorted(field.name for field in fields(Layout))
    assert set(argument_spec.load_spec("win_containerd")["node"]["options"]) == {place.name for place in PLACES}
    where = Layout.of({place.name: place.default for place in PLACES})
    assert (where.kubelet_binary, where.registry_hosts) == (r"C:\k\kubelet.exe", ())


def _kinds(documented: Mapping[str, Any]) -> dict[str, Any]:
    """Type, default and suboptions of each option; a documentation without a type means a text."""
    return {
        name: (each.get("type", "str"), each.get("default"), _kinds(each.get("suboptions") or {}))
        for name, each in documented.items()
    }


@pytest.mark.parametrize(
    ("of", "modules"),
    [
        (SharedOptions, ("win_kubelet", "win_containerd", "win_kube_proxy", "win_windows_exporter")),
        (Looking, ("win_k8s_diagnose",)),
        (HnsCheckOptions, ("hns_check",)),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_what_is_documented_elsewhere_has_the_same_types_and_defaults(of: type[Any], modules: tuple[str, ...]) -> None:
    """These classes read options whose documentation is text: a default that differs would be a second truth."""
    documented: dict[str, Any] = {}
    for module in modules:
        documented |= argument_spec.read_options(module)
    own = _kinds({name: each for name, each in tables.document(tables.list_options(of)).items() if name != "node"})
    assert own == {name: each for name, each in _kinds(documented).items() if name in own}


ACTIONS = Path(action.__path__[0])


def _list_read() -> list[tuple[str, type[Any], set[str]]]:
    """Each module, the class of which its action says `read(<class>, options)`, and what it gives besides."""
    found = []
    for file in sorted(ACTIONS.glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(func=ast.Name("read"), args=[ast.Name(name), ast.Name("options")], keywords=more):
                    of = getattr(import_module(f"{action.__name__}.{file.stem}"), name)
                    found.append((file.stem, of, {str(each.arg) for each in more}))
    return found


def _frozen(default: Any) -> Any:
    return tuple(default) if isinstance(default, list) else default


def _find_differences(
    of: type[Any], documented: Mapping[str, Any], at: str = "", more: Set[str] = frozenset()
) -> Iterator[str]:
    """Where fields without `option` are not the options that are documented."""
    hints = get_type_hints(of)
    for each in fields(of):
        if each.metadata or each.name in more:
            continue
        hint, said, here = hints[each.name], documented.get(each.name), f"{at}{each.name}"
        if said is None:
            yield f"{here}: there is no such option"
            continue
        (row,) = tables.list_options(make_dataclass("_", [(each.name, hint, option(""))]))
        kind, elements = (said.get(key, "").replace("path", "str") for key in ("type", "elements"))
        kind = kind or "str"
        if is_dataclass(hint):
            yield from _find_differences(cast(type[Any], hint), said["suboptions"], f"{here}.")
        elif (row.type, row.elements) != (kind, elements):
            yield f"{here}: {row.type} {row.elements}, documented as {kind} {elements}"
        if row.choices and row.choices != tuple(said.get("choices") or ()):
            yield f"{here}: {row.choices}, documented as {said.get('choices')}"
        if each.default not in (MISSING, _frozen(said.get("default"))) or each.default_factory is not MISSING:
            yield f"{here}: the default stands in the documentation"
        given = said.get("required") or said.get("default") is not None or (kind == "dict" and "suboptions" in said)
        if (NoneType in get_args(hint)) == bool(given):
            yield f"{here}: whether it may be None"


@pytest.mark.parametrize(("module", "of", "more"), _list_read(), ids=lambda each: getattr(each, "__name__", each))
def test_what_an_action_reads_is_what_its_module_documents(module: str, of: type[Any], more: set[str]) -> None:
    assert list(_find_differences(of, argument_spec.read_options(module), more=more)) == []


@dataclass(frozen=True, slots=True)
class ToldSource:
    """Suboptions that a documentation describes."""

    url: str


@dataclass(frozen=True, slots=True)
class ToldOptions:
    """Options that a documentation describes."""

    file: str
    numbers: tuple[int, ...]
    source: ToldSource
    way: Literal["a", "b"]
    limit: int | None


TOLD = {
    "file": {"type": "path", "default": ""},
    "numbers": {"type": "list", "elements": "int", "required": True},
    "source": {"type": "dict", "default": {}, "suboptions": {"url": {"required": True}}},
    "way": {"type": "str", "choices": ["a", "b"], "default": "a"},
    "limit": {"type": "int"},
}


def test_an_option_that_only_a_documentation_describes_has_its_default_of_there() -> None:
    assert list(_find_differences(ToldOptions, TOLD)) == []
    given = {"file": "f", "numbers": [1], "source": {"url": "u"}, "way": "b", "limit": None, "more": 1}
    assert tables.read(ToldOptions, given) == ToldOptions("f", (1,), ToldSource("u"), "b", None)
    with pytest.raises(TypeError, match="way"):
        tables.read(ToldOptions, {name: each for name, each in given.items() if name != "way"})


@pytest.mark.parametrize(
    ("name", "documented", "said"),
    [
        ("file", {}, "file: there is no such option"),
        ("file", {"type": "int", "default": 0}, "file: str , documented as int "),
        ("file", {"type": "path"}, "file: whether it may be None"),
        ("numbers", {"type": "list", "elements": "str", "required": True}, "numbers: list int, documented as list str"),
        ("way", {"choices": ["a"], "default": "a"}, "way: ('a', 'b'), documented as ['a']"),
        ("limit", {"type": "int", "default": 3}, "limit: whether it may be None"),
        (
            "source",
            {"type": "dict", "default": {}, "suboptions": {"url": {"type": "bool", "default": False}}},
            "source.url: str , documented as bool ",
        ),
    ],
)
def test_a_field_that_is_not_as_documented_is_found(name: str, documented: dict[str, Any], said: str) -> None:
    others = {each: one for each, one in TOLD.items() if each != name}
    assert list(_find_differences(ToldOptions, others | ({name: documented} if documented else {}))) == [said]
