# Everything sets itself up into .venv/; only CPython >= 3.11, make and a package registry are needed.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.ready

.PHONY: setup demo test kubectl lint soak bench lock clean

setup: $(STAMP)

$(STAMP): requirements/dev.txt pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "allaboard needs CPython 3.11 or newer; found " + sys.version.split()[0] + ". Say which with: make PYTHON=/path/to/python3.12 setup")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	touch $(STAMP)

demo: $(STAMP)
	$(BIN)/allaboard demo

test: $(STAMP)
	$(BIN)/python -m pytest -m "not soak" -n 2 --dist loadgroup

# Built once from its Go module into the user's cache; the tests do it too when it is missing.
kubectl: $(STAMP)
	command -v go >/dev/null && $(BIN)/python tests/clients/kubectl_binary.py || echo "no Go here: kubectl tests look for one on PATH"

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m pytest tests/test_tidy.py

soak: $(STAMP)
	$(BIN)/python -m pytest -m soak

bench: $(STAMP)
	$(BIN)/python -m bench

lock: $(STAMP)
	$(BIN)/uv pip compile --quiet pyproject.toml --extra dev --universal --generate-hashes --no-annotate --no-header --python-version 3.11 -o requirements/dev.txt
	$(BIN)/uv pip compile --quiet pyproject.toml --universal --generate-hashes --no-annotate --no-header --python-version 3.11 -o requirements/run.txt

clean:
	rm -rf .venv .cache dist
