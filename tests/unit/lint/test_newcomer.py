"""The command's messages for wrong usage, and how it ends when it is stopped."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.lint import cli

from .command import COMMAND, ENVIRONMENT
from .test_reports import TEXT, folder, run

__all__ = ["folder"]


@pytest.mark.parametrize(
    ("content", "sentence", "status"),
    [
        (
            b"kind: Pod\n metadata: x\n",
            "f.yml:2:10: this is not valid YAML: mapping values are not allowed in this context.",
            cli.FINDINGS,
        ),
        (b"spec:\n\t- x\n", "A tab stands there; YAML is indented with blanks.", cli.OK),
        (b"spec: {a: [1, 2}\n", "f.yml:1:", cli.OK),
        (
            b"\x89PNG\r\n\x1a\n\x00\xff\xfe",
            "f.yml: this is not text: byte 0 is not utf-8. Save it as UTF-8, or leave it out.",
            cli.OK,
        ),
        (b"MZ\x00\x01", "f.yml: this is not text: it holds the character U+0000.", cli.OK),
    ],
    ids=["typing error", "tab", "bracket", "picture", "program"],
)
def test_a_file_that_is_no_manifest(folder: Path, content: bytes, sentence: str, status: int) -> None:
    """It was named: what claims to be a manifest is an error, what does not was not checked."""
    (folder / "f.yml").write_bytes(content)
    code, out, err = run("f.yml")
    assert (code, err) == (status, "")
    assert sentence in out.replace(" error:" if status else " info:", "") and out.startswith("f.yml:")
    assert ("[unreadable-file]" if status else "[not-checked]") in out
    assert run("f.yml", "--fail-on-unchecked")[0] == cli.FINDINGS


def test_a_template_alone_is_no_error(folder: Path) -> None:
    (folder / "f.yml").write_bytes(b"{{ if .x }}\nkind: Pod\n{{ end }}\n")
    code, out, err = run("f.yml")
    assert (code, err) == (cli.OK, "")
    assert (
        "looks like an unrendered template: render it first" in out
        and "0 objects checked, 1 template not checked" in out
    )


def test_a_folder_without_manifests_is_not_taken_for_a_clean_one(folder: Path) -> None:
    (folder / "charts" / ".git").mkdir(parents=True)
    (folder / "charts" / ".git" / "hidden.yml").write_text(TEXT, encoding="utf-8")
    code, _, err = run("charts")
    assert code == cli.UNUSABLE
    assert err == "workload-lint: charts: there is no manifest, chart or kustomization in this folder.\n"


@pytest.mark.parametrize("content", ["", "---\n", "just: settings\n", "hello\n"])
def test_input_without_a_kubernetes_object_is_told(folder: Path, content: str) -> None:
    (folder / "values.yml").write_text(content, encoding="utf-8")
    code, out, _ = run("values.yml")
    assert code == cli.OK
    assert "Nothing was checked: the input has no Kubernetes object." in out


def test_windows_line_ends_and_byte_order_marks(folder: Path) -> None:
    expected = run("--format", "json", "web.yml")[1]
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        (folder / "web.yml").write_bytes(TEXT.replace("\n", "\r\n").encode(encoding))
        assert run("--format", "json", "web.yml") == (cli.FINDINGS, expected, "")


def test_json_may_say_what_yaml_cannot(folder: Path) -> None:
    (folder / "f.json").write_text(
        '{\t"kind": "Pod", "apiVersion": "v1", "x": "\\\\ud83d \\ud83d\\ude00", "y": 1,}', "utf-8"
    )
    code, out, err = run("f.json")
    assert (code, err) == (cli.OK, "") and "1 object checked; " in out


def test_help_names_the_exit_statuses_and_every_setting(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        run("--help")
    text = " ".join(capsys.readouterr().out.split())
    assert caught.value.code == 0
    assert "0 nothing at or above the level, 1 findings, 2 wrong use" in text
    assert "Examples:" in text and "--unknown-pods" in text


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """A report that is longer than a pipe holds."""
    accepted = ("host-ipc", "sysctls", "dns-policy", "sub-path")
    text = "---\n".join([TEXT.replace("termination-grace-period", accepted[number % 4]) for number in range(400)])
    (tmp_path / "many.yml").write_text(text, encoding="utf-8")
    return tmp_path


def test_control_c_ends_it_without_a_traceback(tmp_path: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "-"],
        cwd=tmp_path,
        env=ENVIRONMENT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdin is not None
        # More than a pipe holds: when it is written, the command is at work and has read most of it.
        process.stdin.write(b"# a comment\n" * 100_000)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out, err) == (130, b"", b"workload-lint: interrupted.\n")


def test_a_reader_that_goes_away_is_no_error(many: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, "many.yml"],
        cwd=many,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        err = process.stderr.read()
        code = process.wait(timeout=60)
    assert (code, err) == (141, b"")
