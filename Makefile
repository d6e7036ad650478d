# Every target makes its environment first, so a fresh clone needs nothing but `make <target>`.
# Needed on the machine: CPython 3.11 or newer with venv, git, make, an OpenSSH client, PyPI. No root.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON := .venv/bin/python
OLDEST := .venv-oldest/bin/python
# Tests start ansible-playbook and friends by name: they must be the environment's own.
export PATH := $(CURDIR)/.venv/bin:$(PATH)
# The one collection path of the clone; a user's own must not change what is tested.
unexport ANSIBLE_CONFIG ANSIBLE_COLLECTIONS_PATH

PYTEST_ARGS ?=
# Processes that share the tests (pytest-xdist): one more than two cores, since a scenario waits for its processes. Each gets
# a part in the files' order and takes from another's end when it has none left: what a file's tests share is made once or
# twice, and no process is left alone with the last long file.
PYTEST_JOBS ?= 3
PYTEST = -m pytest -n $(PYTEST_JOBS) --dist worksteal

.PHONY: bisect fields members picture pictures recording pairs pins redaction doors help figures walls generate lookups docs judge setup setup-oldest demo lab test test-whole test-oldest quick lint sanity real wine windows soak rows molecule molecule-pytest bench mutate check check-whole check-with build clean faults contract-archive contract-judge corpus release walk loop mesh makers ledger newest

help: ## this list
	@echo "winkube.node: make TARGET"
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1\t\2/p' $(MAKEFILE_LIST) | while IFS=$$'\t' read -r target text; do printf '  %-16s %s\n' "$$target" "$$text"; done

setup: ## .venv with the newest Python and ansible at hand (fast when it is there)
	@.ci/setup main

setup-oldest: ## .venv-oldest: Python 3.11 with ansible-core 2.19
	@.ci/setup oldest

demo: setup ## a simulated Windows node gets containerd, step by step
	@$(PYTHON) -m tests.demo

bisect: setup ## git bisect run with push.yml's script, twenty planted regressions in a Go program (minutes, needs Go)
	@$(PYTHON) -m tests.bisect $(ARGS)

loop: setup ## edit, build, push, crash, fix, push, and usageNanoCores before and after, on a simulated node
	@$(PYTHON) -m tests.demo.loop

mesh: setup ## job slices of ansible-runner over a receptor mesh, 200 simulated nodes, a worker killed (minutes)
	@$(PYTHON) -m tests.mesh

walk: setup ## a fresh environment with plain ansible-core executes the commands of the pages that one reads first, and what ten nodes show is judged; the last line is one JSON object (minutes; PAGES="docs/drift.md ..." or ten-nodes)
	@$(PYTHON) -m tests.walk $(PAGES)

lab: setup ## leave simulated Windows nodes and clusters running and print what to try on them
	@$(PYTHON) -m tests.demo.lab

# What is exhaustive (a marker: tests/exhaustive.py) is left to `make check-whole`.
test: setup ## every test but the exhaustive ones; FILES="plugins/... roles/..." for those that belong to a change
	@if [ -n "$(FILES)" ]; then \
	  chosen=$$($(PYTHON) -m tests.select $(FILES)) && $(PYTHON) $(PYTEST) -m 'not exhaustive' $$chosen $(PYTEST_ARGS); \
	else $(PYTHON) $(PYTEST) -m 'not exhaustive' $(PYTEST_ARGS); fi

test-whole: setup ## every test, the exhaustive ones too
	@$(PYTHON) $(PYTEST) $(PYTEST_ARGS)

# Exit status 3 of .ci/setup: no Python 3.11 here. A developer is told and goes on; CI has to have it.
# A sample: Python 3.11 (the unit tests of plugins/ that are quick, the contract), and what ansible-core itself does for the
# collection: connections and payloads, facts between tasks, inventory, no_log, and both whole nodes once.
OLDEST_WITH = $(filter-out unit/docs unit/lab unit/powershell,$(patsubst tests/%/,%,$(wildcard tests/unit/*/))) \
	contract/test_contract.py $(addprefix integration/test_,$(addsuffix .py,demo first_landing inventory lab_reaches_ansible \
	node_info seams secrets stale winrm))
test-oldest: ## a sample of the tests on ansible-core 2.19 and Python 3.11
	@status=0; .ci/setup oldest || status=$$?; \
	if [ $$status -eq 3 ] && [ "$${CI:-}" != true ]; then echo "lane oldest: skipped, no CPython 3.11 at hand"; exit 0; fi; \
	if [ $$status -ne 0 ]; then echo "lane oldest: failed, its environment cannot be made"; exit 1; fi; \
	PATH="$(CURDIR)/.venv-oldest/bin:$$PATH" $(OLDEST) $(PYTEST) -m 'not slow and not exhaustive' $(addprefix tests/,$(OLDEST_WITH)) $(PYTEST_ARGS)

# By name: collecting all the others would take longer than running these. They only compute: a third process does not help.
quick: setup ## unit tests but the slow ones and one scenario on the lab, in under 60 seconds
	@$(PYTHON) $(PYTEST) -n 2 -m quick tests/unit tests/quality tests/integration/test_first_landing.py $(PYTEST_ARGS)

lint: setup ## ruff, mypy, yamllint, actionlint, ansible-lint, PowerShell, documentation and its site, ansible-test sanity
	@$(PYTHON) -m tests.quality.lint

sanity: setup ## ansible-test sanity alone, on a copy (TESTS="validate-modules ..." for some of them)
	@$(PYTHON) -m tests.quality.sanity $(TESTS)

.PHONY: pwsh
pwsh: setup ## the .ps1 files under a real PowerShell, where one is found; the last line is one JSON object (ARGS="--wine", "--whole"; minutes)
	@$(PYTHON) -m tests.pwsh $(ARGS)

.PHONY: pwsh-trace
pwsh-trace: setup ## which statements of the scripts `make pwsh` executes, and which nothing does; the last line is one JSON object (ARGS="--wine")
	@$(PYTHON) -m tests.pwsh.trace $(ARGS)

real: setup ## config.toml against real containerd of several releases (needs Go; builds for minutes)
	@$(PYTHON) -m tests.real.build
	@$(PYTHON) -m tests.real.apiserver_judge.record --build
	@$(PYTHON) -m tests.real.exec_server
	@$(PYTHON) -m tests.real.kubeconfig_reader
	@$(PYTHON) -m tests.mesh --set-up
	@$(PYTHON) -m pytest tests/real $(PYTEST_ARGS)

wine: setup ## plans against the real nssm.exe and Wine's sc.exe; sets Wine 10 up in a cache folder where it can (root, apt-get)
	@.ci/wine
	@$(PYTHON) -m pytest tests/wine $(PYTEST_ARGS)

windows: setup ## upstream's programs for Windows judge on Wine what we render for them (needs Go; builds for an hour; ARGS="--newest", "--judge -k ...")
	@$(PYTHON) -m tests.windows $(ARGS)

.PHONY: wine-node
wine-node: setup ## a whole node on Wine, its scripts executed by PowerShell for Windows, without the lab's twin (at night); the last line is one JSON object
	@PYTHONPATH=.venv/collections $(PYTHON) -m tests.wine_node $(ARGS)

contract-archive: setup ## the contract for a Windows machine without Ansible, in build/ (ARGS="--containerd 2.3.7")
	@$(PYTHON) -m tests.contract.carried.build $(ARGS)

contract-judge: setup ## what the report of such a machine says (REPORT=winkube-report-NAME.jsonl)
	@$(PYTHON) -m tests.contract.carried.judge $(REPORT)

fields: setup ## reads the API's fields of each minor from Go's module proxy; facts/api_fields.txt, evidence.txt
	@$(PYTHON) -m tests.fields
	@$(PYTHON) -m tests.evidence

corpus: setup ## how right the linter is on public manifests, whole repositories and planted mistakes; the last line is one JSON object (minutes; ARGS=--build builds helm and kubectl first)
	@$(PYTHON) -m tests.corpus $(ARGS)

.PHONY: reading
reading: setup ## how long the linter reads the files of the corpus' repositories, beside yaml.CSafeLoader; the last line is one JSON object
	@PYTHONPATH=.venv/collections $(PYTHON) -m tests.corpus.reading

pins: setup ## a maintainer's: the sums of the publishers' files that come with the collection, from their sum files (ARGS="--mirror ...")
	@PYTHONPATH=.venv/collections $(PYTHON) -m tests.pins $(ARGS)

members: setup ## a maintainer's: what the PowerShell uses of .NET, from .NET Framework's members (FRAMEWORK=file.tsv.xz, where they do not lie beside the clone)
	@PYTHONPATH=.venv/collections $(PYTHON) -m tests.members $(FRAMEWORK)

doors: setup ## lies in each leaf of what nodes and clusters answer; the last line is one JSON object (EVERY=n: each of n lies in readings; 10 minutes)
	@PYTHONPATH=.venv/collections $(PYTHON) -m tests.doors --every $(or $(EVERY),1)

redaction: setup ## which forms of secrets a log bundle would still show, which harmless texts it changes; the last line is one JSON object
	@PYTHONPATH=.venv/collections $(PYTHON) -m tests.redaction

.PHONY: linear
linear: setup ## how time grows with a text, for each pattern and for explain, the linter and the redaction (minutes; ARGS="explain lint"); the last line is one JSON object
	@$(PYTHON) -m tests.linear $(ARGS)

generate: setup ## the files of roles that only repeat a component's declaration, and CRI's descriptors
	@$(PYTHON) -m tests.quality.generated
	@$(PYTHON) -m tests.quality.cri_descriptors

picture: setup ## the picture of the rooms in docs/architecture.md, from the imports (make generate draws it, too)
	@$(PYTHON) -m tests.quality.picture

walls: setup ## one import planted across every wall of the house and of the lab; the last line is one JSON object
	@$(PYTHON) -m tests.quality.walls

pictures: setup ## the pages as Chromium shows them: the pictures in docs, and at 400, 800 and 1300 pixels in build/pictures (needs Chromium)
	@PYTHONPATH=.venv/collections $(PYTHON) -m tests.browser.pictures

recording: setup ## README's terminal that plays: runs the demo and draws it (minutes)
	@$(PYTHON) -m tests.demo.recording

pairs: setup ## places of the tree that say the same thing twice: six lines or more (ARGS="--least 8 tests")
	@$(PYTHON) -m tests.quality.pairs $(ARGS)

lookups: setup ## which programs upstream's start or look up by name on Windows, from their sources (Go, its module proxy; WHAT="kubeadm ...")
	@$(PYTHON) -m tests.lookups $(WHAT)

newest: setup ## which releases that the project names are not the newest any more (Go, its module proxy); the last line is one JSON object
	@PYTHONPATH=.venv/collections $(PYTHON) -m tests.newest

ledger: setup ## facts/kubernetes_fixes.json beside Kubernetes' own notes (Go, its module proxy; ARGS="1.38.0"); the last line is one JSON object
	@PYTHONPATH=.venv/collections $(PYTHON) -m tests.ledger $(ARGS)

docs: setup ## the documentation as a site, in build/site; a link that leads nowhere or a page in no table is an error; the last line is JSON: how many public questions its search answers
	@$(PYTHON) -m tests.quality.lint site
	@$(PYTHON) -m tests.quality.site.asked

judge: setup ## public cases told to the diagnosis: is the cause named first, is a healthy node left alone (ARGS=--rows: how often each row decides; ARGS=--frozen: what unseen texts get)
	@PYTHONPATH=.venv/collections $(PYTHON) -m tests.judge $(ARGS)

rows: setup ## how far each piece of work is (ROW=<id> for one row, RESULTS=file for another run's results)
	@$(PYTHON) -m tests.rows $(if $(ROW),--row $(ROW)) $(if $(RESULTS),--results $(RESULTS))

faults: setup ## fault injection: both whole nodes cut at every op of every batch (minutes; WINKUBE_SEED=n for other moments)
	@WINKUBE_FAULTS=$${WINKUBE_FAULTS:-some} $(PYTHON) -m pytest -s tests/integration/test_fault_injection.py -k every_op $(PYTEST_ARGS)

makers: setup ## a node joins the clusters of kubeadm, kubespray, rke2, k3s and k0s as the lab has them, or is refused before a change; the last line is JSON (minutes)
	@$(PYTHON) -m tests.makers

.PHONY: leaks
leaks: setup ## secrets of a whole node at -vvv and with ANSIBLE_DEBUG: where each one is after an install, a change, one in vain and a removal; the last line is one JSON object
	@PYTHONPATH=.venv/collections $(PYTHON) -m tests.leaks

.PHONY: reconcile
reconcile: setup ## keep.yml, look.yml and a person at once over 23 simulated nodes; runs killed before a real API server; the last line is one JSON object (SEED=n KILLS=n, half an hour)
	@PYTHONPATH=.venv/collections $(PYTHON) -W ignore -m tests.reconcile --seed $(or $(SEED),1) --kills $(or $(KILLS),200)

soak: setup ## 300 joins, upgrades, pushes and resets of random nodes while something goes wrong; the last line is one JSON object (SEED=n RUNS=n; an hour)
	@$(PYTHON) -m tests.soak --seed $(or $(SEED),1) --runs $(or $(RUNS),300)

SCENARIOS = default l2bridge overlay setup matrix provisioner network_l2bridge network_overlay smoke rejoin reset
molecule: setup ## every molecule scenario on the lab (MOLECULE="default setup" for some of them)
	@for scenario in $(or $(MOLECULE),$(SCENARIOS)); do .venv/bin/molecule test -s $$scenario || exit 1; done

# CI runs the scenario default so, and all of them at night. docs/molecule.md says until when.
molecule-pytest: setup ## molecule scenarios as tests of pytest, by pytest-ansible (MOLECULE="default setup" for some of them)
	@$(PYTHON) -m pytest --molecule $(addprefix molecule/,$(or $(MOLECULE),$(SCENARIOS) windows))

bench: setup ## what site.yml costs, as one JSON object (minutes; ARGS="--many 1000" half an hour)
	@$(PYTHON) -m tests.bench $(ARGS)

.PHONY: scale
scale: setup ## what look.yml and keep.yml cost for a slice of 2,000 simulated nodes, as one JSON object (an hour; ARGS="--nodes 10000 --slices 200 --no-keep")
	@PYTHONPATH=.venv/collections $(PYTHON) -W ignore -m tests.bench.scale $(ARGS)

figures: setup ## how large the project is, for the last commit and the last tag side by side (ARGS="REVISION ..." for others)
	@$(PYTHON) -m tests.figures $(ARGS)

mutate: setup ## values behind rows changed in the code; each must be noticed by its test (SEED=n, COUNT=n; SCRIPTS=60: statements of the scripts, after make pwsh-trace; long)
	@$(PYTHON) -m $(if $(SCRIPTS),tests.pwsh.mutate --count $(SCRIPTS),tests.mutate) --seed $(or $(SEED),1) $(if $(COUNT),--count $(COUNT))

check: ## what CI runs: linters, the sample on the oldest ansible-core, the tests, the scripts under PowerShell; all, even if one fails
	@$(MAKE) check-with TESTS=test

check-whole: ## what CI runs at night: the same with the exhaustive tests; make release wants it green for its commit
	@$(MAKE) check-with TESTS=test-whole PWSH=--whole
	@$(PYTHON) -m tests.release.nightly

# The linters need one core, so they run beside the sample; what they say is printed behind it.
check-with: setup
	@mkdir -p .cache; status=0; \
	$(MAKE) lint > .cache/lint.txt 2>&1 & lint=$$!; trap 'kill $$lint 2> /dev/null || true' EXIT; \
	$(MAKE) test-oldest || status=1; \
	wait $$lint || status=1; cat .cache/lint.txt; \
	$(MAKE) molecule-pytest MOLECULE="$(if $(filter test-whole,$(TESTS)),$(SCENARIOS),default)" || status=1; \
	$(MAKE) $(TESTS) || status=1; \
	$(MAKE) pwsh ARGS="$(PWSH)" || status=1; \
	if [ -n "$(PWSH)" ]; then $(MAKE) pwsh ARGS="$(PWSH) --wine" || status=1; fi; exit $$status

build: setup ## the collection archive, in build/
	@.venv/bin/ansible-galaxy collection build --force --output-path build

lock: setup ## a maintainer's: the versions and hashes that CI installs, from the newest that fit the requirements
	@$(PYTHON) -m tests.release.lock

release: setup ## what a release of the last commit consists of, in build/release; publishes nothing (KEY=file signs its sums)
	@$(PYTHON) -m tests.release $(if $(KEY),--key $(KEY))

clean: ## remove everything that make has made
	rm -rf .venv .venv-oldest .cache .lab .ansible build tests/output .mypy_cache .ruff_cache .pytest_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
