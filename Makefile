# Every target sets up .venv by itself.
#   make small        environment, then the whole job on 5,000 docstring sentences into runs/small, and its pages
#   make test         most tests, in six minutes on two cores; make test WORKERS=4
#   make test-all     the slow ones too                      make test-faults   those that kill processes and nodes
#   make check        ruff and mypy                          make bench         speed, as ratios
#   make interop      the tests with sae-lens, peft, gguf, delphi and others, in a separate environment
#   make fuzz         2,000 hostile commands, checked: half an hour on two cores; make fuzz SEED=7 COMMANDS=300 MINUTES=5
# On Linux the plain package index gives PyTorch with CUDA (several GB). For the small CPU build:
#   make small PIP_ARGS='--extra-index-url https://download.pytorch.org/whl/cpu'

PYTHON ?= python3
PIP_ARGS ?=
SMALL ?= runs/small
SEED ?= 0
COMMANDS ?= 2000
MINUTES ?= 60
WORKERS ?= 2
VENV := .venv
BIN := $(VENV)/bin
INTEROP := .venv-interop
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check $(PIP_ARGS) -c constraints.txt

.PHONY: venv venv-test small test test-all test-kills test-faults interop fuzz check format bench clean

venv: $(VENV)/.installed
venv-test: $(VENV)/.installed-test

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || \
		{ echo "Python 3.11 to 3.13 is needed; name one: make $(MAKECMDGOALS) PYTHON=python3.12"; exit 1; }
	$(PYTHON) -m venv $(VENV)

# What pip would compile at the end of its work, a second process compiles while the jobs' own code is compiled.
$(VENV)/.installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	@echo "installing the dependencies into $(VENV)"
	$(PIP) --no-compile -e .
	@$(BIN)/python -m compileall -q $(VENV)/lib >/dev/null 2>&1 & $(BIN)/atlas warm_up && wait
	@touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	@echo "installing what the tests need as well"
	$(PIP) -e '.[test]'
	@touch $@

small: venv
	$(BIN)/atlas run --out $(SMALL) --preset small --model sample --corpus pydocs --limit 5000
	@$(BIN)/atlas show --out $(SMALL) --neuron best
	@echo
	@$(BIN)/atlas report --out $(SMALL)
	@echo
	@echo "The tables are in $(SMALL)/ as Parquet: topk/ neurons/ sentences/ patterns/ profiles/ peaks/ explanations/ families/ corpus/"
	@echo "Another neuron: $(BIN)/atlas show --out $(SMALL) --neuron LAYER:UNIT [--pole bottom]"

test: venv-test
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadscope -m 'not faults and not slow'

test-all: venv-test
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadscope -m 'not faults'

# One job of each frame, killed and resumed.
test-kills: venv-test
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadscope -m kills

test-faults: venv-test
	$(BIN)/python -m pytest -m faults

$(INTEROP)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(INTEROP)
	$(INTEROP)/bin/python -m pip install --quiet --disable-pip-version-check $(PIP_ARGS) -c constraints.txt -e '.[test,dictionaries,interop]'
	@# Its dependencies are those of running language models: vllm, bitsandbytes. Reading its caches needs none of them.
	$(INTEROP)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps 'eai-delphi==0.1.3'
	@touch $@

interop: $(INTEROP)/.installed
	$(INTEROP)/bin/python -m pytest -m interop

fuzz: venv-test
	$(BIN)/python -m tests.fuzz --seed $(SEED) --commands $(COMMANDS) --minutes $(MINUTES)

check: venv-test
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: venv-test
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: venv-test
	$(BIN)/python -m bench all

clean:
	rm -rf $(VENV) $(INTEROP) runs .pytest_cache .mypy_cache .ruff_cache .hypothesis *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
