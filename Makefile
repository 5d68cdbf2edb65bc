# `make` lists the commands. Each one makes its own virtual environment when it is missing.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
OF_STORES := tests/contract tests/unit tests/integration
OF_BUS := tests/contract/test_buses.py $(wildcard tests/integration/test_bus_*.py) tests/system/test_bus_devices.py
EVERY_CORE := -n 2 --dist loadfile --no-loadscope-reorder
# Tests are compiled twice as slowly as they run, and start servers by the dozen: keep what was compiled.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test test-postgresql test-faults test-kafka check bench bench-quick bench-scaled serve format docs
help:
	@echo "make demo    start Tripline on an empty data folder, play real drives through MQTTS, print the scores"
	@echo "make test    the suite on SQLite, then what speaks to a store on PostgreSQL (installs what the tests need from the system when it is missing and allowed)"
	@echo "make test-postgresql  the suite on PostgreSQL"
	@echo "make test-faults  processes, servers, brokers and networks that fail under load"
	@echo "make test-kafka  the bus on brokers of the oldest release that docs/bus.md names, and producers of every release there"
	@echo "make check   format, lint, types, import contract, unit and house tests: under a minute"
	@echo "make bench   measure against mosquitto and amqtt, print the table with the gates' verdicts"
	@echo "make bench-quick  the same with fewer and shorter rounds"
	@echo "make bench-scaled measure on PostgreSQL and Kafka, about an hour"
	@echo "make serve   start the server on ./tripline-data"
	@echo "make format  rewrite the sources in the house format"
	@echo "make docs    write docs/reference and the map of ARCHITECTURE.md from the program"

$(STAMP): pyproject.toml constraints.txt
	@PYTHON=$(PYTHON) ./tests/support/install-system start
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $(STAMP)

demo: $(STAMP)
	$(BIN)/tripline demo

serve: $(STAMP)
	$(BIN)/tripline serve

test: $(STAMP)
	./tests/support/install-system
	@status=0; \
	$(BIN)/python -m pytest $(EVERY_CORE) --ignore=tests/faults || status=1; \
	$(BIN)/python -m pytest $(EVERY_CORE) --store=postgresql $(OF_STORES) || status=1; \
	exit $$status

test-postgresql: $(STAMP)
	./tests/support/install-system
	$(BIN)/python -m pytest $(EVERY_CORE) --ignore=tests/faults --store=postgresql

test-faults: $(STAMP)
	./tests/support/install-system
	$(BIN)/python -m pytest $(EVERY_CORE) tests/faults

test-kafka: $(STAMP)
	./tests/support/install-system
	$(BIN)/python -m pytest tests/faults/test_bus_producers.py
	KAFKA=3.9 $(BIN)/python -m pytest $(OF_BUS) tests/faults/test_bus_producers.py

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache
	$(BIN)/python -m pytest -q -n 2 --dist worksteal tests/unit tests/house

bench: $(STAMP)
	$(BIN)/python -m bench

bench-quick: $(STAMP)
	$(BIN)/python -m bench --quick

bench-scaled: $(STAMP)
	$(BIN)/python -m bench postgres buffered burst bus big_pages late_shared

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(STAMP)
	$(BIN)/python -m tests.support.reference
