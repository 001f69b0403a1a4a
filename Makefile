# Two commands do everything on a fresh machine with Python 3.11+: `make train` and `make test`. Each
# installs what it needs: `make test` also the tools for checks and what only some commands use.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
CHECKSUM := $(shell cat setup.cfg setup.py pyproject.toml allennlp_stand_ins.py bidaf_plugin/fast/kernels.cpp Makefile | cksum | cut -d' ' -f1)
INSTALLED := $(VENV)/.installed-$(CHECKSUM)
INSTALLED_TOOLS := $(VENV)/.installed-tools-$(CHECKSUM)
INSTALLED_DOCS := $(VENV)/.installed-docs-$(CHECKSUM)
# Most modules of torch and others are never imported, so each is compiled when it first is.
PIP_INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check --no-warn-conflicts --no-compile
export PYTHONDONTWRITEBYTECODE :=
SOURCES := bidaf_plugin benchmarks tests fixtures allennlp_stand_ins.py setup.py
# The data set for the checks on real data (see CONTRIBUTING.md); they are skipped where it is absent.
export BIDAF_DATA ?= $(wildcard ../shared/data)

.PHONY: help
help:  ## Show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*##/\t/' | expand -t 16

.PHONY: install
install: $(INSTALLED)  ## Create .venv and install what the commands need (once)

.PHONY: install-tools
install-tools: $(INSTALLED_TOOLS)  ## Also install what tests and benchmarks need (once)

# AllenNLP comes last and without its dependencies: its pins no longer resolve (see setup.cfg).
$(INSTALLED):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.11 ...")'
	@echo "Installing into $(VENV) (about a minute, once)"
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(PIP_INSTALL) -e .
	@$(PIP_INSTALL) --no-deps allennlp==2.10.1
	@rm -f $(VENV)/.installed-* && touch $@

$(INSTALLED_TOOLS): $(INSTALLED)
	@echo "Installing the tools for tests into $(VENV) (once)"
	@$(PIP_INSTALL) -e '.[dev]'
	@touch $@

.PHONY: train
train: install  ## Train on the embedded sample, answer some questions (a few minutes)
	@$(BIN)/allennlp bidaf quickstart runs/quickstart

# For example: make ask QUESTION='Who built it?' PASSAGE='The mill was built by Ada Orn in 1871.'
.PHONY: ask
ask: install  ## Answer QUESTION about PASSAGE with the packaged model
	@$(BIN)/allennlp bidaf ask "$$QUESTION" "$$PASSAGE"
ask: export QUESTION := $(value QUESTION)
ask: export PASSAGE := $(value PASSAGE)

# For example: make ensemble N=3 CONFIG=training_configs/bidaf_quickstart.jsonnet RUNS=runs/three
N ?= 12
CONFIG ?= training_configs/bidaf_squad.jsonnet
RUNS ?= runs/ensemble
.PHONY: ensemble
ensemble: install  ## Train N=12 models, resumable; score them alone and together
	@$(BIN)/allennlp bidaf train-ensemble $(CONFIG) -s $(RUNS) -n $(N) \
		$(if $(DATA),--data '$(DATA)') $(if $(OVERRIDES),-o '$(OVERRIDES)')

MINUTES ?= 180
.PHONY: reproduce
reproduce: install  ## Train the paper's model on SQuAD for MINUTES (180); run again to go on
	@$(BIN)/allennlp bidaf reproduce --minutes $(MINUTES)

# What the paper shows of its model, of MODEL, from the data in BIDAF_DATA: results/paper. What else is written, with
# passages in it, is in build/paper: the pages of attention, and errors/errors.html, the sheet for Table 4. Filled, it
# comes to results/paper/table4-judged.csv.
MODEL ?= pretrained/bidaf-squad.tar.gz
DEV = $(firstword $(wildcard $(BIDAF_DATA)/squad/dev-v1.1.json $(BIDAF_DATA)/squad/dev-v1.1.json.gz))
BASELINE = $(BIDAF_DATA)/squad/predictions/logistic-regression-baseline.json.gz
FIGURE_3 := 56be4db0acb8001400a502ee,57337ddc4776f41900660bba
.PHONY: paper
paper: install-tools  ## Table 2, Figures 2 and 3 and the sheet for Table 4 of the packaged model (10 minutes)
	@test -n "$(DEV)" || { echo "BIDAF_DATA must name a folder with squad/dev-v1.1.json"; exit 1; }
	@mkdir -p build/paper results/paper
	@$(BIN)/allennlp bidaf answer $(MODEL) $(DEV) -o build/paper/predictions.json
	@$(BIN)/allennlp bidaf neighbors $(MODEL) $(DEV) --occurrences --seed 1 -o build/paper
	@$(BIN)/allennlp bidaf tsne $(MODEL) $(DEV) -o build/paper
	@$(BIN)/allennlp bidaf compare $(DEV) $(BASELINE) build/paper/predictions.json --names Baseline BiDAF \
		-o build/paper > build/paper/comparison.txt
	@$(BIN)/allennlp bidaf attention $(MODEL) --data $(DEV) --ids $(FIGURE_3) --threshold 0.3 --whole-passage \
		-o build/paper
	@$(BIN)/allennlp bidaf errors $(DEV) build/paper/predictions.json -n 50 --seed 1 -o build/paper/errors
	@cd build/paper && for extension in png svg; do \
		cp tsne.$$extension ../../results/paper/figure2a.$$extension; \
		cp venn.$$extension ../../results/paper/figure2b.$$extension; \
		cp first_words.$$extension ../../results/paper/figure2c.$$extension; \
		number=1; for id in $$(echo $(FIGURE_3) | tr , ' '); do \
			cp $$id.$$extension ../../results/paper/figure3-$$number.$$extension; number=$$((number + 1)); \
		done; done
	@cp build/paper/neighbors.md results/paper/table2.md
	@cp build/paper/neighbors.csv results/paper/table2.csv
	@grep -v '^wrote ' build/paper/comparison.txt > results/paper/figure2.txt
	@cd results/paper && test ! -f table4-judged.csv || \
		$(abspath $(BIN))/allennlp bidaf errors --read table4-judged.csv > table4.txt

.PHONY: lint
lint: install-tools  ## Check style and types
	@$(BIN)/black --check --quiet $(SOURCES) || { $(BIN)/black --diff --quiet $(SOURCES); exit 1; }
	@$(BIN)/ruff check --quiet $(SOURCES)
	@$(BIN)/mypy --no-error-summary $(SOURCES)

.PHONY: test
test: lint  ## Lint, types and all tests, one process per core
	@OMP_NUM_THREADS=1 $(BIN)/pytest -q -n auto

.PHONY: test-fast
test-fast: install-tools  ## The tests of daily work: reader, network, predictors, rooms (a minute)
	@OMP_NUM_THREADS=1 $(BIN)/pytest -q -n auto tests/nn tests/data tests/fast tests/modules tests/models \
		tests/predictors tests/architecture_test.py

.PHONY: test-long
test-long: install-tools  ## The native LSTM against torch's, in 1,000 random cases
	@BIDAF_RANDOM_CASES=1000 $(BIN)/pytest -q tests/fast/bilstm_test.py -k random

.PHONY: test-browser
test-browser: install-tools  ## Only the tests of the page, in a Chromium
	@OMP_NUM_THREADS=1 $(BIN)/pytest -q tests/server/page

.PHONY: test-cluster
test-cluster: install-tools  ## Install Ray; killed workers, full disks, and two hosts that train together (10 minutes)
	@$(PIP_INSTALL) -e '.[cluster]'
	@BIDAF_CLUSTER_TESTS=1 OMP_NUM_THREADS=1 $(BIN)/pytest -q -rs tests/cluster

.PHONY: test-wheel
test-wheel: install-tools  ## Build a wheel, install it with AllenNLP in an empty environment, ask a question
	@BIDAF_WHOLE_WHEEL=1 $(BIN)/pytest -q tests/wheel_test.py

# For example: make fuzz SECONDS=60 SEED=7
SECONDS ?= 600
SEED ?= 0
.PHONY: fuzz
fuzz: install-tools  ## Give damaged files and requests to everything for SECONDS (600)
	@OMP_NUM_THREADS=1 $(BIN)/python -m tests.fuzz --seconds $(SECONDS) --seed $(SEED)

$(INSTALLED_DOCS): $(INSTALLED_TOOLS)
	@$(PIP_INSTALL) -e '.[docs]'
	@touch $@

# What the pages link to; mkdocs wants it in one folder.
PAGES := README.md CONTRIBUTING.md CHANGELOG.md LICENSE docs training_configs results pretrained benchmarks
.PHONY: docs
docs: $(INSTALLED_DOCS)  ## Check the documentation, and build its site: build/docs/index.html
	@$(BIN)/pytest -q tests/docs --ignore tests/docs/tutorial_test.py
	@rm -rf build/pages build/docs && mkdir -p build/pages
	@tar cf - --exclude='*.gz' --exclude='*.py' --exclude='.*' $(PAGES) | tar xf - -C build/pages
	@$(BIN)/mkdocs build --strict
	@echo "The site is in build/docs/index.html"

.PHONY: format
format: install-tools  ## Rewrite the sources in the project's style
	@$(BIN)/black --quiet $(SOURCES)
	@$(BIN)/ruff check --quiet --fix $(SOURCES)

.PHONY: sample
sample: install  ## Write the embedded sample anew
	@$(BIN)/python fixtures/make_sample.py
	@$(BIN)/python fixtures/make_cloze_sample.py

# allennlp-models is kept apart from .venv: AllenNLP imports it wherever it finds it. With it comes the
# last transformers that AllenNLP can import as it is, for comparisons of how long it takes to start.
PEER := benchmarks/.peer
$(PEER)/.installed: | install-tools
	@echo "Installing allennlp-models into $(PEER)"
	@rm -rf $(PEER)
	@$(PIP_INSTALL) --no-deps --target $(PEER) \
		allennlp-models==2.10.1 word2number==1.1 transformers==4.49.0 tokenizers==0.21.4
	@touch $@

.PHONY: bench
bench: install-tools $(PEER)/.installed  ## Compare with allennlp-models on real SQuAD (about an hour)
	@$(BIN)/python -m benchmarks.compare
	@$(BIN)/python -m benchmarks.trials
	@$(BIN)/python -m benchmarks.growth
	@$(BIN)/python -m benchmarks.agreement

.PHONY: bench-quick
bench-quick: install-tools  ## The same in tiny on the sample: does it run?
	@$(BIN)/python -m benchmarks.compare --quick
	@$(BIN)/python -m benchmarks.trials --quick --rounds 1 --output benchmarks/results/quick_trials.md
	@$(BIN)/python -m benchmarks.growth --quick
	@$(BIN)/python -m benchmarks.agreement --quick --steps 10

.PHONY: bench-learning
bench-learning: install-tools  ## Train until the F1 on SQuAD dev is 75 (half an hour); run again to go on
	@$(BIN)/python -m benchmarks.learning

# For example: make serve RUN=runs/squad PORT=8080
RUN ?=
PORT ?= 8000
.PHONY: serve
serve: install  ## Answer questions in the browser with the models RUN (or the packaged one)
	@$(BIN)/allennlp bidaf serve $(RUN) --port $(PORT)

.PHONY: bench-serving
bench-serving: install-tools  ## Load on the server of the model RUN (or the packaged one): 32 clients (3 minutes)
	@$(BIN)/python -m benchmarks.serving $(or $(RUN),pretrained/bidaf-squad.tar.gz) --output benchmarks/results/serving.json

.PHONY: export-check
export-check: install-tools  ## All questions of SQuAD dev by the packaged model and what export makes of it (15 minutes)
	@$(BIN)/python -m benchmarks.exported pretrained/bidaf-squad.tar.gz \
		--questions 10570 --singles 10570 --rounds 1

.PHONY: clean
clean:  ## Remove .venv and caches (runs/ stays)
	rm -rf $(VENV) benchmarks/.peer benchmarks/.work build *.egg-info .mypy_cache .ruff_cache .pytest_cache
