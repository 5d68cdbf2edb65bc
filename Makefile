# `make` lists the commands. Each one makes its own virtual environment when it is missing.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
OF_BUS := tests/contract/test_buses.py $(wildcard tests/integration/test_bus_*.py) tests/system/test_bus_devices.py
# Needs the jars of two releases of Kafka and a Java compiler.
OF_RELEASES := tests/faults/test_bus_producers.py
# More processes than most build machines have cores: some tests wait while others compute.
SPREAD := -n 4 --dist loadfile --no-loadscope-reorder
# Of `make check`: unit tests that touch no store, and house tests, in two processes. Those that make certificates or whole
# maps or run pytest take as long as a thousand others: `make test` runs them.
QUICKEST := -q -m "not deep" --store=none
LONGEST := tests/unit/adapters/maps tests/unit/adapters/tls tests/unit/support/test_suites.py
APART := tests/house tests/unit/scoring
# Tests are compiled twice as slowly as they run, and start servers by the dozen: keep what was compiled.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help screenshots pictures demo test test-deep test-postgresql test-kafka check bench bench-quick bench-scaled evaluate serve format docs
help:
	@echo "make demo    start Tripline on an empty data folder, play real drives through MQTTS, print the scores"
	@echo "make test    the tests of a change: all on SQLite, the store on PostgreSQL too; six minutes on two cores (installs what the tests need from the system when it is missing and allowed)"
	@echo "make test-deep  the rest: killed processes, failing networks and disks, fuzzing, Kafka, browsers, unit tests on PostgreSQL; sixteen minutes"
	@echo "make test-postgresql  the suite on PostgreSQL, servers too"
	@echo "make test-kafka  the bus on brokers of the oldest release that docs/bus.md names, and producers of every release there"
	@echo "make check   format, lint, types, import contract, house tests, unit tests that touch no store: half a minute on two cores, 40 the first time"
	@echo "make bench   measure against mosquitto and amqtt, print the table with the gates' verdicts"
	@echo "make bench-quick  the same with fewer and shorter rounds"
	@echo "make bench-scaled measure on PostgreSQL and Kafka, about an hour"
	@echo "make evaluate measure how right the scores and the limits of roads are: pages with plots in build/evaluation, in a minute; where Valhalla is installed, beside it, in two"
	@echo "make screenshots  a picture of every page of the portal in each theme, language and width, into build/screenshots (ONLY='vehicles ko' for some)"
	@echo "make pictures  take the portal's pictures in docs/pictures anew"
	@echo "make serve   start the server on ./tripline-data"
	@echo "make format  rewrite the sources in the house format"
	@echo "make docs    write docs/reference and docs/mqtt.md from the program"

$(STAMP): pyproject.toml constraints.txt
	@PYTHON=$(PYTHON) ./tests/support/install-system start
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $(STAMP)

demo: $(STAMP)
	$(BIN)/tripline demo --map evaluation/maps/liechtenstein.osm.pbf

serve: $(STAMP)
	$(BIN)/tripline serve

test: $(STAMP)
	./tests/support/install-system
	$(BIN)/python -m pytest $(SPREAD) --store=both -m "not deep"

test-deep: $(STAMP)
	./tests/support/install-system
	$(BIN)/python -m pytest $(SPREAD) --store=both -m deep --ignore=$(OF_RELEASES)

test-postgresql: $(STAMP)
	./tests/support/install-system
	$(BIN)/python -m pytest $(SPREAD) --ignore=tests/faults --store=postgresql

test-kafka: $(STAMP)
	./tests/support/install-system
	$(BIN)/python -m pytest $(OF_RELEASES)
	KAFKA=3.9 $(BIN)/python -m pytest $(OF_BUS) $(OF_RELEASES)

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	@answers=$$(mktemp -d); trap 'rm -rf "$$answers"' EXIT; failed=0; \
	$(BIN)/mypy >"$$answers/types" 2>&1 & types=$$!; \
	$(BIN)/python -m pytest $(QUICKEST) $(APART) >"$$answers/apart" 2>&1 & apart=$$!; \
	$(BIN)/python -m pytest $(QUICKEST) tests/unit $(patsubst %,--ignore=%,$(LONGEST) $(APART)) || failed=1; \
	for each in $$types $$apart; do wait $$each || failed=1; done; cat "$$answers"/*; exit $$failed

bench: $(STAMP)
	$(BIN)/python -m bench

bench-quick: $(STAMP)
	$(BIN)/python -m bench --quick

bench-scaled: $(STAMP)
	$(BIN)/python -m bench postgres buffered burst bus big_pages late_shared

evaluate: $(STAMP)
	@failed=0; for part in evaluation evaluation.valhalla evaluation.roads; do $(BIN)/python -m $$part || failed=1; done; exit $$failed

screenshots: $(STAMP)
	./tests/support/install-system
	$(BIN)/python -m tests.support.screenshots $(ONLY)

pictures: $(STAMP)
	./tests/support/install-system
	$(BIN)/python -m tests.support.doc_pictures

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(STAMP)
	$(BIN)/python -m tests.support.reference
	$(BIN)/python -m tests.support.explained_trips
