"""What a release consists of, in build/release: archive, bill of materials, provenance, checksums, changelog, tag.

    python -m tests.release [--into FOLDER] [--key FILE]

With `--key`, an OpenSSH key of the maintainer's (a file, or its public half where an agent or a security key has the
other), SHA256SUMS is signed: SHA256SUMS.sig, and `allowed_signers`, the line that `ssh-keygen -Y verify` wants.

galaxy-importer judges the archive as Galaxy would when it is published (importer.py).

It is made in a clone of the last commit, which gets one commit more (the changelog) and the tag. Nothing is published,
and the clone that one works in stays as it is: the last line says how commit and tag are taken over.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import yaml

from tests.release import importer, nightly
from tests.release.materials import bill_of_materials
from tests.release.provenance import sha256, statement

ROOT = Path(__file__).resolve().parents[2]
_VERSION = re.compile(r"\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?")


class NotReadyError(Exception):
    """Why there can be no release; a sentence."""


def run(*words: str | Path, cwd: Path = ROOT) -> str:
    """The output of a program; NotReadyError with what it said where it fails."""
    path = f"{Path(sys.prefix) / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path}
    done = subprocess.run(
        [str(word) for word in words], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise NotReadyError(f"{' '.join(str(word) for word in words)}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def version_of(tree: Path) -> str:
    """The version in galaxy.yml."""
    found = str(yaml.safe_load((tree / "galaxy.yml").read_text(encoding="utf-8"))["version"])
    if _VERSION.fullmatch(found) is None:
        raise NotReadyError(f"galaxy.yml: version: '{found}' is not a version such as 1.2.0 or 1.2.0-beta.1.")
    return found


def objections(tree: Path, version: str) -> list[str]:
    """What stands in the way, a sentence each."""
    found = []
    if changed := run("git", "status", "--porcelain", cwd=tree).strip():
        found.append(f"There are changes that are not committed:\n{changed}")
    if run("git", "tag", "--list", f"v{version}", cwd=tree).strip():
        found.append(f"There is a tag v{version} already: raise the version in galaxy.yml.")
    if not list((tree / "changelogs" / "fragments").glob("*.yml")):
        found.append("There is no fragment in changelogs/fragments: nothing has changed since the last release.")
    if missing := nightly.objection(tree):
        found.append(missing)
    return found


def release(
    tree: Path, into: Path, key: Path | None = None, judge: Callable[[Path], list[str]] = importer.judge
) -> str:
    """Make it; what to do next. NotReadyError, also where `judge` objects to the archive."""
    version = version_of(tree)
    if found := objections(tree, version):
        raise NotReadyError("\n".join(found))
    shutil.rmtree(into, ignore_errors=True)
    into.mkdir(parents=True)
    source = into / "source"
    run("git", "clone", "--quiet", "--no-hardlinks", tree, source)
    commit = run("git", "rev-parse", "HEAD", cwd=source).strip()
    run("antsibull-changelog", "release", "--version", version, cwd=source)
    run("git", "checkout", "--quiet", "-b", f"release-{version}", cwd=source)
    run("git", "add", "--all", cwd=source)
    for setting in ("user.name", "user.email"):
        run("git", "config", setting, run("git", "config", setting, cwd=tree).strip(), cwd=source)
    run("git", "commit", "--quiet", "--message", f"Release {version}", cwd=source)
    notes = section(source / "CHANGELOG.md", version)
    (into / "tag.txt").write_text(f"winkube.node {version}\n\n{notes}\n", encoding="utf-8")
    run("git", "tag", "--annotate", f"v{version}", "--cleanup=verbatim", "--file", into / "tag.txt", cwd=source)
    run("ansible-galaxy", "collection", "build", "--output-path", into, cwd=source)
    archive = into / f"winkube-node-{version}.tar.gz"
    show(archive, judge)
    bill = into / f"winkube-node-{version}.cdx.json"
    bill.write_text(bill_of_materials(source, archive), encoding="utf-8")
    repository = str(yaml.safe_load((source / "galaxy.yml").read_text(encoding="utf-8"))["repository"])
    made = into / f"winkube-node-{version}.intoto.json"
    made.write_text(statement(repository, version, commit, source, (archive, bill)), encoding="utf-8")
    sums = [f"{sha256(path)}  {path.name}" for path in (archive, bill, made)]
    (into / "SHA256SUMS").write_text("\n".join(sums) + "\n", encoding="utf-8")
    said = "SHA256SUMS is not signed: say --key." if key is None else sign(into, key)
    return f"{archive}\n{said}\ngit pull --tags {source} release-{version}"


def show(archive: Path, judge: Callable[[Path], list[str]]) -> None:
    """NotReadyError with what the judge objects to."""
    if found := judge(archive):
        raise NotReadyError("galaxy-importer would not take the archive:\n" + "\n".join(found))


SIGNER, NAMESPACE = "winkube.node", "file"


def sign(into: Path, key: Path) -> str:
    """Sign SHA256SUMS; the command that checks it. NotReadyError with ssh-keygen's words."""
    public = key if key.suffix == ".pub" else key.with_name(f"{key.name}.pub")
    if not public.is_file():
        raise NotReadyError(f"{public}: there is no such file: the public half of the key that signs has to lie there.")
    run("ssh-keygen", "-q", "-Y", "sign", "-f", key, "-n", NAMESPACE, into / "SHA256SUMS")
    kind, text = public.read_text(encoding="utf-8").split()[:2]
    signers = f'{SIGNER} namespaces="{NAMESPACE}" {kind} {text}\n'
    (into / "allowed_signers").write_text(signers, encoding="utf-8")
    return f"ssh-keygen -Y verify -f allowed_signers -I {SIGNER} -n {NAMESPACE} -s SHA256SUMS.sig < SHA256SUMS"


def section(changelog: Path, version: str) -> str:
    """What the changelog says of one version, as plain text: without its headline, anchors, and escapes of Markdown."""
    text = re.sub(r"\\([^\w\s])", r"\1", changelog.read_text(encoding="utf-8"))
    begin = re.search(rf"^## v{re.escape(version)}$", text, re.MULTILINE)
    if begin is None:
        raise NotReadyError(f"{changelog.name} has no section v{version}.")
    rest = text[begin.end() :]
    end = re.search(r"^## v|^<a id=\"v", rest, re.MULTILINE)
    return re.sub(r"^<a id=.*\n", "", rest[: end.start()] if end else rest, flags=re.MULTILINE).strip()


def main(arguments: list[str]) -> int:
    """Exit status 1 where there can be no release."""
    parser = argparse.ArgumentParser(prog="python -m tests.release", description="Make a release from the last commit.")
    parser.add_argument("--into", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--key", type=Path, help="an OpenSSH key that signs SHA256SUMS")
    options = parser.parse_args(arguments)
    try:
        print(release(ROOT, options.into, options.key))
    except NotReadyError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
