# make demo    five challenges from nothing to their boards and reports
# make test    install what is needed and run all tests
# The rest: bench, lint, docs, lock, clean.

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test bench lint docs format lock clean

demo: $(READY)
	$(BIN)/isocenter demo build/demo

test: $(READY)
	sh tools/test-programs.sh
	$(BIN)/python -m pytest --numprocesses=auto --cov --cov-report=term

bench: $(READY)
	$(BIN)/python -m benchmarks

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

docs: $(READY)
	$(BIN)/python -m sphinx --fail-on-warning --keep-going --quiet -b html docs build/docs
	@echo "Open build/docs/index.html"

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Only when dependencies change; the file must not name the index it was made with.
lock: $(READY)
	$(BIN)/uv pip compile pyproject.toml --all-extras --universal --generate-hashes --no-header --upgrade --quiet -o requirements.lock

clean:
	rm -rf build $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache .coverage*

$(READY): requirements.lock pyproject.toml tools/install.sh
	sh tools/install.sh $(VENV)
	@touch $@
