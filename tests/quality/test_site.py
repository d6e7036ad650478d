"""The documentation as a site: its order, its links, its pages of modules. `make docs` builds it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.quality.sanity import ROOT
from tests.quality.site import contents, reference

pytestmark = pytest.mark.quick

_INDEX = """# Documentation

## Make a node

| page | for whom |
|---|---|
| [whole](whole.md) | all |
| [rules](rules.md) | some |

## Contribute

| page | for whom |
|---|---|
| [how](../CONTRIBUTING.md) | all |
"""


@pytest.fixture
def clone(tmp_path: Path) -> contents.Clone:
    files = {
        "README.md": "# thing\n\n[whole](docs/whole.md)\n",
        "CONTRIBUTING.md": "# How\n",
        "docs/README.md": _INDEX,
        "docs/whole.md": "# Whole\n\n[host](../roles/host/README.md), [one rule](rules/a.md)\n",
        "docs/rules.md": "# Rules\n\n[a](rules/a.md#x) [b](rules/b.md)\n\n```\n[c](rules/c.md)\n```\n",
        "docs/rules/a.md": "# A\n",
        "docs/rules/b.md": "# B\n",
        "roles/host/README.md": "# Host\n",
        "docs/pictures/a.svg": "<svg/>\n",
        "examples/node.yml": "kind: Node\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return contents.Clone(tmp_path, contents.pages(tmp_path), "https://example.com/it")


def test_every_page_stands_in_the_index_once() -> None:
    """A page that is added to docs/ and not to docs/README.md fails here, and in `make docs`."""
    clone = contents.Clone(ROOT, contents.pages(ROOT), "")
    _, missing = contents.navigation(contents.sections((ROOT / contents.INDEX).read_text(encoding="utf-8")), clone)
    assert missing == []


def test_the_order_is_the_indexs(clone: contents.Clone) -> None:
    nav, missing = contents.navigation(contents.sections(_INDEX), clone)
    assert missing == []
    assert nav[1:] == [
        {
            "Make a node": [
                {"Whole": ["whole.md", "reference/role-host.md"]},
                {"Rules": ["rules.md", "rules/a.md", "rules/b.md"]},
            ]
        },
        {"Contribute": ["contributing.md"]},
    ]


def test_pages_that_are_not_to_be_found_are_named(clone: contents.Clone) -> None:
    """One in no table; one that only another folder's page, or code, links to."""
    for name in ("docs/lonely.md", "docs/rules/c.md", "docs/other/d.md"):
        (clone.root / name).parent.mkdir(exist_ok=True)
        (clone.root / name).write_text("# X\n", encoding="utf-8")
    (clone.root / "docs/whole.md").write_text("# Whole\n\n[lonely](lonely.md)\n", encoding="utf-8")
    more = contents.Clone(clone.root, contents.pages(clone.root), "")
    _, missing = contents.navigation(contents.sections(_INDEX), more)
    assert missing == ["docs/lonely.md", "docs/other/d.md", "docs/rules/c.md", "roles/host/README.md"]


@pytest.mark.parametrize(
    ("index", "said"),
    [("| [a](a.md) |\n", "before the first heading"), ("## X\n| [a](a.md) |\n| [b](./a.md) |\n", "stands twice")],
)
def test_an_index_with_a_mistake(index: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        contents.sections(index)


@pytest.mark.parametrize(
    ("source", "text", "wanted"),
    [
        ("docs/rules/a.md", "[x](../whole.md#part)", "[x](../whole.md#part)"),
        ("docs/whole.md", "[x](../roles/host/README.md#vars)", "[x](reference/role-host.md#vars)"),
        ("roles/host/README.md", "[x](../../docs/whole.md)", "[x](../whole.md)"),
        ("docs/whole.md", "[x](../README.md) [y](README.md)", "[x](index.md) [y](pages.md)"),
        ("docs/whole.md", "[x](../roles/host)", "[x](reference/role-host.md)"),
        ("docs/whole.md", "[x](../examples)", "[x](https://example.com/it/tree/main/examples)"),
        ("README.md", "[x](examples/node.yml)", "[x](https://example.com/it/blob/main/examples/node.yml)"),
        ("README.md", "![x](docs/pictures/a.svg)", "![x](pictures/a.svg)"),
        ("README.md", "[x](https://a.b/c.md) [y](#part)", "[x](https://a.b/c.md) [y](#part)"),
        ("docs/whole.md", "[x](nowhere.md) [y](../../out.md)", "[x](nowhere.md) [y](../../out.md)"),
        ("docs/whole.md", "`[x](../README.md)`\n\n~~~\n[x](../README.md)\n~~~\n", None),
    ],
)
def test_where_links_lead(source: str, text: str, wanted: str | None, clone: contents.Clone) -> None:
    assert clone.rewritten(text, source) == (text if wanted is None else wanted)


_DOC = {
    "doc": {
        "short_description": "Makes a C(thing)",
        "description": ["One & two.", "See M(a.b.other), M(ansible.builtin.copy) and O(deep.er)."],
        "options": {
            "deep": {
                "description": "Has V(<more>).",
                "type": "dict",
                "suboptions": {"er": {"description": "x", "type": "list", "elements": "str", "default": []}},
            },
            "name": {"description": "x", "required": True, "choices": ["a", "b"]},
        },
        "seealso": [{"module": "a.b.other", "description": "More."}],
    },
    "examples": "- a.b.thing:\n",
    "return": {"found": {"description": "x", "returned": "always", "type": "dict", "sample": {"a": 1}}},
}


def test_a_modules_page() -> None:
    known = [reference.Plugin("module", name, _DOC) for name in ("thing", "other")]
    page = reference.markdown(known[0], "a.b", reference.Links("a.b", known))
    for text in (
        "# thing\n",
        "<p>One &amp; two.</p>",
        "<a href='module-other.html'>a.b.other</a>",
        "https://docs.ansible.com/projects/ansible/latest/collections/ansible/builtin/copy_module.html",
        '<a href="#option-deep.er">deep.er</a>',
        '<code id="option-deep.er">deep.er</code></td><td>list of str</td>',
        "Default: <code>[]</code>",
        "<code>&lt;more&gt;</code>",
        "str<br><strong>required</strong>",
        "Choices: <code>a</code>, <code>b</code>",
        "```yaml\n- a.b.thing:\n```",
        '<code id="retval-found">found</code>',
        "<pre><code>{a: 1}</code></pre>",
    ):
        assert text in page, page


def test_wrong_markup_is_an_error() -> None:
    wrong = {"doc": {"short_description": "x", "description": "M(no collection)"}}
    plugin = reference.Plugin("module", "thing", wrong)
    with pytest.raises(ValueError, match="no collection"):
        reference.markdown(plugin, "a.b", reference.Links("a.b", [plugin]))
