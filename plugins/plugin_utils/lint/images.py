# Copyright (c) 2026, The winkube.node authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an image's name says about its system and Windows build. No registry is asked."""

from __future__ import annotations

import re
from functools import lru_cache

from ..foreign.windows import Pattern
from .profile import BUILD_NAMES

_WINDOWS_REPOSITORY = Pattern(
    r"^mcr\.microsoft\.com/(windows(/|$)|dotnet/framework/|oss/kubernetes/windows-host-process)"
)
_WINDOWS_TAG = Pattern(r"(windowsservercore|nanoserver|(^|[-_.])windows|ltsc20\d\d)", re.IGNORECASE)
_BUILD_TAG = Pattern(
    r"ltsc(?P<ltsc>20\d\d)|(?:^|[-_.])10\.0\.(?P<number>\d{5})"
    r"|(?:nanoserver|servercore|windows|win)[-_.]?(?:amd64[-_.])?(?P<name>1709|1803|1809|1903|1909|2004|20h2|23h2)"
    r"|(?:^|[-_.])windows[-_.]?(?:server)?[-_.]?(?P<year>2019|2022|2025)(?:[-_.]|$)"
    r"|(?:^|[-_])(?P<bare>1709|1803|1809|1903|1909|2004|20h2)(?:-amd64)?$",
    re.IGNORECASE,
)
# Images that their publishers make for Linux alone. Only names that have no Windows variant belong here: golang,
# python, mongo, traefik or fluent-bit do not. Sources: the images' pages on Docker Hub (official images: "Supported
# architectures"), mcr.microsoft.com, quay.io, gallery.ecr.aws, GoogleContainerTools/distroless.
_LINUX_REPOSITORIES = frozenset(
    [
        "alpine",
        "almalinux",
        "amazonlinux",
        "archlinux",
        "busybox",
        "centos",
        "clearlinux",
        "debian",
        "fedora",
        "oraclelinux",
        "photon",
        "rockylinux",
        "ubuntu",
        "cassandra",
        "couchdb",
        "drupal",
        "elasticsearch",
        "ghost",
        "haproxy",
        "httpd",
        "influxdb",
        "joomla",
        "kibana",
        "kong",
        "logstash",
        "mariadb",
        "memcached",
        "mysql",
        "neo4j",
        "nextcloud",
        "nginx",
        "node",
        "percona",
        "perl",
        "php",
        "postgres",
        "postgis/postgis",
        "rabbitmq",
        "redis",
        "redmine",
        "ruby",
        "solr",
        "sonarqube",
        "varnish",
        "wordpress",
        "zookeeper",
        "adminer",
        "buildpack-deps",
        "consul",
        "erlang",
        "gcc",
        "jetty",
        "keycloak",
        "phpmyadmin",
        "rust",
        "tomcat",
        "vault",
        "gitlab/gitlab-ce",
        "gitlab/gitlab-ee",
        "grafana/grafana",
        "grafana/loki",
        "grafana/mimir",
        "grafana/promtail",
        "grafana/tempo",
        "hashicorp/consul",
        "hashicorp/vault",
        "kong/kong-gateway",
        "nginxinc/nginx-unprivileged",
        "opensearchproject/opensearch",
        "opensearchproject/opensearch-dashboards",
        "quay.io/argoproj/argocd",
        "quay.io/keycloak/keycloak",
        "quay.io/oauth2-proxy/oauth2-proxy",
        "rook/ceph",
        "sonatype/nexus3",
        "amazon/aws-cli",
        "aquasec/trivy",
        "fluent/fluentd-kubernetes-daemonset",
        "hashicorp/terraform",
        "moby/buildkit",
        "nicolaka/netshoot",
        "stakater/reloader",
        "timberio/vector",
        "envoyproxy/envoy",
        "jaegertracing/all-in-one",
        "mcr.microsoft.com/mssql/server",
        "mcr.microsoft.com/mssql-tools",
        "mcr.microsoft.com/azure-sql-edge",
        "mcr.microsoft.com/azure-cli",
        "prometheus/node-exporter",
        "quay.io/cilium/cilium",
        "quay.io/minio/minio",
        "minio/minio",
        "openzipkin/zipkin",
        "kindest/node",
        "groundnuty/k8s-wait-for",
        "activemq",
        "aerospike",
        "apache/airflow",
        "apache/kafka",
        "apache/nifi",
        "apache/spark",
        "apache/superset",
        "apachepulsar/pulsar",
        "arangodb",
        "cockroachdb/cockroach",
        "clickhouse",
        "clickhouse/clickhouse-server",
        "coredns/coredns",
        "couchbase",
        "crate",
        "directus/directus",
        "docker",
        "dpage/pgadmin4",
        "eclipse-mosquitto",
        "emqx",
        "emqx/emqx",
        "fluentd",
        "flink",
        "gitea/gitea",
        "jenkins/jenkins",
        "kapacitor",
        "chronograf",
        "telegraf",
        "mattermost/mattermost-team-edition",
        "matomo",
        "mediawiki",
        "metabase/metabase",
        "mongo-express",
        "mysql/mysql-server",
        "n8nio/n8n",
        "odoo",
        "ollama/ollama",
        "openpolicyagent/gatekeeper",
        "orientdb",
        "otel/ebpf-instrument",
        "postfixadmin",
        "rethinkdb",
        "rocket.chat",
        "rocketchat/rocket.chat",
        "scylladb/scylla",
        "spark",
        "storm",
        "timescale/timescaledb",
        "vllm/vllm-openai",
        "xwiki",
        "mcr.microsoft.com/playwright",
        "rancher/k3s",
        "kiwigrid/k8s-sidecar",
        "quay.io/kiwigrid/k8s-sidecar",
    ]
)
# Everything below these.
_LINUX_NAMESPACES = (
    "bitnami/",
    "confluentinc/",
    "strimzi/",
    "quay.io/strimzi/",
    "quay.io/metallb/",
    "selenium/",
    "nvidia/cuda",
    "nvcr.io/nvidia/",
    "rocm/",
    "tensorflow/",
    "pytorch/",
    "jupyter/",
    "quay.io/jupyter/",
    "ghcr.io/actions/",
    "ghcr.io/kyverno/",
    "ghcr.io/external-secrets/",
    "falcosecurity/",
    "otel/autoinstrumentation-",
    "ghcr.io/open-telemetry/opentelemetry-operator/autoinstrumentation-",
    "registry.k8s.io/coredns/",
    "registry.k8s.io/nfd/",
    "gcr.io/cadvisor/",
    "bitnamilegacy/",
    "public.ecr.aws/bitnami/",
    "public.ecr.aws/amazonlinux/",
    "istio/",
    "gcr.io/istio-release/",
    "registry.istio.io/",
    "gcr.io/distroless/",
    "cgr.dev/chainguard/",
    "linuxserver/",
    "lscr.io/linuxserver/",
    "registry.access.redhat.com/ubi",
    "mcr.microsoft.com/cbl-mariner/",
    "mcr.microsoft.com/azurelinux/",
    "mcr.microsoft.com/mirror/docker/library/",
    "mcr.microsoft.com/azure-functions/",
    "quay.io/centos/",
    "alpine/",
    "curlimages/",
    "jaegertracing/",
    "gcr.io/kaniko-project/",
    "gcr.io/google-samples/",
    "quay.io/buildah/",
    "quay.io/ceph/",
    "quay.io/podman/",
    "quay.io/jetstack/",
    "quay.io/prometheus/",
    "quay.io/thanos/",
    "prom/",
    "ghcr.io/dexidp/",
    "ghcr.io/fluxcd/",
    "longhornio/",
    "public.ecr.aws/nginx/",
    "registry.k8s.io/ingress-nginx/",
    "registry.k8s.io/kube-state-metrics/",
    "registry.k8s.io/metrics-server/",
    "docker.elastic.co/elasticsearch/",
    "docker.elastic.co/kibana/",
    "docker.elastic.co/logstash/",
)
_LINUX_TAG = Pattern(
    r"(^|[-_.])(alpine|bookworm|bullseye|buster|stretch|trixie|debian|jammy|noble|focal|bionic|ubuntu|slim|ubi\d*|linux"
    r"|(cbl-)?mariner|azurelinux|amazonlinux|al2023|distroless|rockylinux|centos)([-_.\d]|$)",
    re.IGNORECASE,
)
# Mirrors for the Windows tests of Kubernetes keep the names of tags and hold images for Windows behind them.
# Sources: kubernetes-sigs/windows-testing images and gce/prepull-1.21.yaml; kubernetes/kubernetes test/images
# BASEIMAGE.
_MIRRORS_WITH_WINDOWS = (
    "k8sprow.azurecr.io/kubernetes-e2e-test-images/",
    "gcr.io/kubernetes-e2e-test-images/",
    "gcr.io/authenticated-image-pulling/",
    "k8s.gcr.io/e2e-test-images/",
    "registry.k8s.io/e2e-test-images/",
    "e2eteam/",
)
# Registries whose publishers' own tags are what they say.
_PUBLIC_REGISTRIES = ("mcr.microsoft.com/", "quay.io/", "gcr.io/", "ghcr.io/", "public.ecr.aws/", "registry.k8s.io/")


def split_image(image: str) -> tuple[str, str]:
    """(repository, tag) of an image's name; Docker Hub's names without their host; an empty tag if there is none."""
    name = image.partition("@")[0]
    repository, _colon, tag = name.rpartition(":") if ":" in name.rpartition("/")[2] else (name, "", "")
    for prefix in ("index.docker.io/", "docker.io/", "public.ecr.aws/docker/", "mirror.gcr.io/", "library/"):
        repository = repository.removeprefix(prefix)
    return repository, tag


def _linux_repository(repository: str) -> bool:
    return repository in _LINUX_REPOSITORIES or repository.startswith(_LINUX_NAMESPACES)


@lru_cache(maxsize=4096)
def image_os(image: str) -> str:
    """`windows`, `linux`, or empty if the name does not tell."""
    repository, tag = split_image(image)
    if repository.startswith(_MIRRORS_WITH_WINDOWS):
        return ""
    if _WINDOWS_REPOSITORY.match(repository) or _WINDOWS_TAG.search(tag):
        return "windows"
    if _linux_repository(repository) or _LINUX_TAG.search(tag):
        return "linux"
    return ""


def linux_for_sure(image: str) -> bool:
    """Whether it is a publisher's own image for Linux. A private mirror may hold anything behind its tags."""
    repository = split_image(image)[0]
    host = repository.partition("/")[0]
    on_docker_hub = "/" not in repository or not re.search(r"[.:]|^localhost$", host)
    known = _linux_repository(repository) or on_docker_hub or repository.startswith(_PUBLIC_REGISTRIES)
    return image_os(image) == "linux" and known


def windows_for_sure(image: str) -> bool:
    """Whether it is one of Microsoft's base images for Windows."""
    return _WINDOWS_REPOSITORY.match(split_image(image)[0]) is not None


@lru_cache(maxsize=4096)
def image_build(image: str) -> int | None:
    """The Windows build in the tag, None if there is none (several systems, a digest, a plain version)."""
    repository, tag = split_image(image)
    match = _BUILD_TAG.search(tag)
    if match is None or (match["bare"] and not _WINDOWS_REPOSITORY.match(repository)):
        return None
    if match["number"]:
        return int(match["number"])
    return BUILD_NAMES.get((match["ltsc"] or match["name"] or match["year"] or match["bare"]).lower())
