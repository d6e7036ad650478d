"""The kubelet's credential providers: the file that is written, and settings with which a kubelet would end are
refused."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet import credentials, kubelet
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet.credentials import Provider
from ansible_collections.winkube.node.plugins.plugin_utils.components.kubelet.options import (
    CredentialProvider,
    ProviderSource,
)
from ansible_collections.winkube.node.plugins.plugin_utils.engine.plan import make_plan
from ansible_collections.winkube.node.plugins.plugin_utils.engine.plan import reads as reads_of
from ansible_collections.winkube.node.plugins.plugin_utils.engine.reading import Reading, file_key
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resource import Refused
from ansible_collections.winkube.node.plugins.plugin_utils.engine.resources.programs import Source
from ansible_collections.winkube.node.plugins.plugin_utils.facts.version import Version

from tests.lab.programs import kubelet_credentials
from tests.lab.programs.daemon import ExitError

from .nodes import LAYOUT, bare, lines
from .test_kubelet import MARK, arguments, plan, settings

NEWEST = Version.parse("1.37.1")
ECR = Provider(
    CredentialProvider(
        name="ecr-credential-provider",
        source=ProviderSource(url="https://mirror.example.com/ecr.exe"),
        match_images=("*.dkr.ecr.*.amazonaws.com",),
        args=("get-credentials",),
        env={"AWS_PROFILE": "node"},
    ),
    Source("https://mirror.example.com/ecr.exe", "0" * 64, "1.31.0"),
)
TOKENS = {"serviceAccountTokenAudience": "a", "requireServiceAccount": True, "cacheType": "Token"}


def wanted(*providers: Provider, version: str = "1.37.1") -> kubelet.KubeletArgs:
    asked = settings(version)
    options = replace(asked.options, credential_providers=tuple(each.option for each in providers))
    return arguments(wanted=replace(asked, options=options), providers=providers)


def changed(provider: Provider, **change: Any) -> Provider:
    return replace(provider, option=replace(provider.option, **change))


def refusal(provider: Provider, version: str = "1.37.1", **gates: bool) -> str:
    with pytest.raises(Refused) as refused:
        credentials.check([provider], Version.parse(version), gates)
    return str(refused.value)


def test_the_program_and_its_file_are_there_before_the_kubelet_is_told_of_them() -> None:
    layout = replace(LAYOUT, credential_providers=(ECR.name,))
    nssm = {file_key(LAYOUT.nssm): {"exists": True, "kind": "file", "version": "2.24"}}
    node = bare(kubelet.reads(layout)).merge(nssm)
    resources = kubelet.build_resources(wanted(ECR))
    assert not node.find_missing(query for query in reads_of(resources) if "credential" in query.key), "read at once"
    found = plan(node, wanted(ECR))
    done = lines(found.batch.ops if found.batch else ())
    assert r"mkdir C:\k\credential-providers" in done
    assert r"write C:\etc\kubernetes\credential-providers.json" in done
    line = credentials_of(wanted(ECR))
    assert r"--image-credential-provider-config=C:\etc\kubernetes\credential-providers.json" in line
    assert r"--image-credential-provider-bin-dir=C:\k\credential-providers" in line
    assert not any("credential" in word for word in credentials_of(wanted()))


def credentials_of(args: kubelet.KubeletArgs) -> tuple[str, ...]:
    return kubelet.command_arguments(args)


def test_a_change_of_the_file_restarts_the_kubelet_and_another_writing_of_it_does_not() -> None:
    layout, queries = LAYOUT, reads_of(credentials.build_resources(LAYOUT, [ECR], NEWEST, MARK))
    first = make_plan("kubelet", credentials.build_resources(layout, [ECR], NEWEST, MARK), bare(queries))
    there = first.predicted
    again = [one for one in credentials.build_resources(layout, [ECR], NEWEST, MARK) if "json" in one.label]
    assert make_plan("kubelet", again, Reading().merge(dict(there.parts), queries)).batch is None
    assert credentials.uses(LAYOUT, [ECR]) == (credentials.config_file(LAYOUT),)
    assert credentials.uses(LAYOUT, []) == ()


@pytest.mark.parametrize(
    ("version", "api"), [("1.24.17", "v1beta1"), ("1.25.16", "v1beta1"), ("1.26.15", "v1"), ("1.37.1", "v1")]
)
def test_the_file_is_of_the_api_that_the_release_has(version: str, api: str) -> None:
    assert json.loads(credentials.text([ECR], Version.parse(version))) == {
        "kind": "CredentialProviderConfig",
        "apiVersion": f"kubelet.config.k8s.io/{api}",
        "providers": [
            {
                "name": "ecr-credential-provider.exe",
                "matchImages": ["*.dkr.ecr.*.amazonaws.com"],
                "defaultCacheDuration": "12h",
                "apiVersion": f"credentialprovider.kubelet.k8s.io/{api}",
                "args": ["get-credentials"],
                "env": [{"name": "AWS_PROFILE", "value": "node"}],
            }
        ],
    }
    older = credentials.text([changed(ECR, api_version="v1beta1", token_attributes=TOKENS)], NEWEST)
    (provider,) = json.loads(older)["providers"]
    assert provider["apiVersion"].endswith("/v1beta1")
    assert provider["tokenAttributes"] == TOKENS


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"name": "a/b"}, "is not a program's name"),
        ({"match_images": ()}, "match_images is empty"),
        ({"match_images": ("https://a.example.com",)}, "leave out the scheme"),
        ({"match_images": ("*.azurecr.io/*",)}, "stands for itself"),
        ({"match_images": ("a.example.com/b:1",)}, "tags and digests are not looked at"),
        ({"match_images": ("a.example.com:*",)}, "not a host with a numeric port"),
        ({"match_images": ("a b",)}, "not a host"),
        ({"cache_duration": "12"}, "is not a duration such as 12h"),
        ({"cache_duration": "-1h"}, "is not a duration such as 12h"),
        ({"api_version": "v2"}, "knows v1, v1beta1, v1alpha1"),
        ({"token_attributes": {**TOKENS, "cacheType": "Pod"}}, "cacheType has to be one of"),
        ({"token_attributes": {**TOKENS, "audience": "a"}}, "audience is not one of"),
        ({"token_attributes": {"requireServiceAccount": "yes", "cacheType": "Token"}}, "should be bool"),
        ({"token_attributes": TOKENS, "api_version": "v1beta1"}, "only credentialprovider.kubelet.k8s.io/v1 has"),
        (
            {
                "token_attributes": {
                    **TOKENS,
                    "requireServiceAccount": False,
                    "requiredServiceAccountAnnotationKeys": ["a"],
                }
            },
            "want requireServiceAccount: true",
        ),
    ],
)
def test_what_a_kubelet_ends_on_or_asks_nobody_for_is_refused(change: dict[str, Any], sentence: str) -> None:
    assert sentence in refusal(changed(ECR, **change))


def test_by_release() -> None:
    assert "asks no credential providers (from 1.24 on it does)" in refusal(ECR, "1.23.17")
    assert "knows v1beta1, v1alpha1" in refusal(changed(ECR, api_version="v1"), "1.25.16")
    tokens = changed(ECR, token_attributes=TOKENS)
    assert "hands no tokens" in refusal(tokens, "1.32.13")
    assert "its feature gate" in refusal(tokens, "1.33.13")
    assert "cacheType is not one of" in refusal(tokens, "1.33.13", **{credentials.TOKEN_GATE: True})
    credentials.check([tokens], Version.parse("1.34.4"), {})
    assert "its feature gate" in refusal(tokens, "1.34.4", **{credentials.TOKEN_GATE: False})
    credentials.check([ECR], Version.parse("1.24.17"), {})
    with pytest.raises(Refused, match="appears twice"):
        credentials.check([ECR, changed(ECR, name="ECR-credential-provider.EXE")], NEWEST, {})


@pytest.mark.parametrize("minor", [24, 26, 29, 30, 37])
def test_the_labs_kubelet_starts_with_what_is_written_and_ends_without_its_program(minor: int) -> None:
    """The lab's kubelet looks for the program as upstream's does: up to 1.29 for exactly this name."""
    config, folder = credentials.config_file(LAYOUT), credentials.folder(LAYOUT)
    written = credentials.text([ECR], Version.parse(f"1.{minor}.0")).encode()
    there = {credentials.program(LAYOUT, ECR.name)}
    drive = SimpleNamespace(is_dir=lambda path: path == folder, is_file=there.__contains__, read=lambda _path: written)
    said = {"image-credential-provider-config": config, "image-credential-provider-bin-dir": folder}
    node: Any = SimpleNamespace(drive=drive)
    flags: Any = SimpleNamespace(text=said.get)
    kubelet_credentials.register(node, minor, flags)
    there.clear()
    with pytest.raises(ExitError, match=r"plugin binary executable .* did not exist"):
        kubelet_credentials.register(node, minor, flags)
