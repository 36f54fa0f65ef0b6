# make demo    five challenges from nothing to their boards and reports, and a web site that runs them
# make test    install what is needed and run all tests
# The rest: coverage, test-postgres, test-django6, bench, lint, docs, lock, clean.

VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo test coverage test-postgres test-django6 bench lint docs format lock clean

demo: $(READY)
	$(BIN)/isocenter demo build/demo --serve

test: $(READY)
	sh tools/test-programs.sh
	$(BIN)/python -m pytest --numprocesses=auto
	sh tools/with-postgres.sh $(BIN)/python -m pytest --numprocesses=auto -m "not slow or database" tests/server

# The site on PostgreSQL, with its slow tests.
test-postgres: $(READY)
	sh tools/with-postgres.sh $(BIN)/python -m pytest --numprocesses=auto tests/server

coverage: $(READY)
	sh tools/test-programs.sh
	$(BIN)/python -m pytest --numprocesses=auto --cov --cov-report=term

# The site on the newest Django, which needs Python 3.12: PYTHON names one, if python3 is older.
test-django6:
	sh tools/test-django6.sh build/django6

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
