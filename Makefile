# make demo    makes an environment, builds, runs the reference programs and trains a network
# make test    makes an environment, builds, runs the tests (TEST="..." for a selection)
# make build   an editable install in .venv      make lint   ruff, mypy, cython-lint, stubtest
# make bench   benchmarks                        make dist   sdist and wheel in dist/
# make instructions  those of the hottest paths against benchmarks/instructions.json, under valgrind
# make programs  random in-place programs on this library, and on PEERS (docs/programs.md)
# make docs    docs/operators.md, the reference page, from the operator table
# make debug, sanitize, coverage, profile, symbols   special builds, each in build/<name>, and what they are for
# make clean   removes all of it
#
# PYTHON=...   the interpreter to start from (3.11 or newer, with its C headers).
# STRICT=...   more compiler flags for our own code alone, e.g. -Werror.
# PEERS="..."  extra packages for `make bench` and `make programs` to compare with, e.g. "torch paddlepaddle".

PYTHON ?= python3
VENV   ?= .venv
TEST   ?=
PEERS  ?=
STRICT ?=

BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip --disable-pip-version-check
MARK   := $(VENV)/.made

SOURCES := $(shell find eager_core python_api -path eager_core/_generated -prune -o \
	\( -name '*.py' -o -name '*.pyx' -o -name '*.pxd' -o -name '*.pxi' -o -name '*.c' -o -name '*.h' -o -name '*.pyi.in' \) -print 2>/dev/null)

# The requirements that pyproject.toml lists under the names given, one a line.
REQUIREMENTS = $(BIN)/python -c 'import sys, tomllib; \
	project = tomllib.load(open("pyproject.toml", "rb")); \
	groups = {"build": project["build-system"]["requires"] + project["project"]["dependencies"], \
	          **project["project"]["optional-dependencies"]}; \
	print(*(line for name in sys.argv[1:] for line in groups[name]), sep="\n")'

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
.PHONY: help build demo test lint docs bench instructions programs dist debug sanitize coverage profile symbols clean

help:
	@sed -n '/^#/!q; s/^# \{0,1\}//p' Makefile

# ---- the environment -----------------------------------------------------------------------------------------------------

$(MARK)-venv:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "$(PYTHON) is not Python 3.11 or newer; say make PYTHON=python3.11 ..."; exit 1; }
	@$(PYTHON) -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' || \
		{ echo "Python.h is missing: install the C headers of $(PYTHON) (python3-dev or the like)"; exit 1; }
	@$(PYTHON) -m venv $(VENV) || \
		{ rm -rf $(VENV); echo "$(PYTHON) cannot make an environment: install its venv module (python3-venv or the like)"; exit 1; }
	@touch $@

# .made-build, .made-test, ...: the requirements of that name are installed
$(MARK)-%: $(MARK)-venv pyproject.toml
	@echo "installing what '$*' needs"
	@$(REQUIREMENTS) $* > $@.txt
	@$(PIP) install -q -r $@.txt
	@touch $@

$(MARK)-editable: $(MARK)-build setup.py pyproject.toml $(SOURCES)
	@echo "building (about a minute the first time)"
	@CFLAGS="$(CFLAGS) $(STRICT)" $(PIP) install -q --no-build-isolation --no-deps -e .
	@touch $@

build: $(MARK)-editable

# ---- what one does with it -----------------------------------------------------------------------------------------------

demo: build $(MARK)-demo
	$(BIN)/python examples/reference_programs.py
	$(BIN)/python examples/digits.py

test: build $(MARK)-test
	$(BIN)/python -m pytest $(TEST)

lint: build $(MARK)-lint $(MARK)-test
	$(BIN)/ruff check .
	PATH="$(CURDIR)/$(BIN):$$PATH" cython-lint eager_core
	$(BIN)/python -m mypy
	$(BIN)/python -m mypy.stubtest python_api eager_core --concise --allowlist stubtest_allowlist.txt

docs: build
	$(BIN)/python -m eager_core.codegen.reference

instructions: build
	$(BIN)/python benchmarks/instructions.py --compare

bench: build $(MARK)-bench
	$(if $(PEERS),$(PIP) install -q $(PEERS))
	$(BIN)/python benchmarks/run.py

programs: build
	$(if $(PEERS),$(PIP) install -q $(PEERS))
	$(BIN)/python tests/compare_programs.py

dist: $(MARK)-venv
	@$(PIP) install -q build
	rm -rf dist
	$(BIN)/python -m build

# ---- special builds: never shipped, never in place -------------------------------------------------------------------------

IN = PYTHONPATH=build/$@/lib

define special_build
	@echo "building for $@ in build/$@"
	@EAGER_BUILD=$@ $(BIN)/python setup.py -q build --build-lib build/$@/lib --build-temp build/$@/temp
endef

debug: $(MARK)-build $(MARK)-test
	$(special_build)
	$(IN) $(BIN)/python -P -m pytest $(TEST)

# Python's own allocator would hide most mistakes, and what the interpreter leaks at exit is not ours. gcc's run-time libraries.
SANITIZED = env $(IN) PYTHONMALLOC=malloc ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
	LD_PRELOAD="$$($(or $(CC),cc) -print-file-name=libasan.so) $$($(or $(CC),cc) -print-file-name=libubsan.so)"
SANITIZE_TESTS ?= $(wildcard tests/test_inplace.py tests/test_views.py tests/test_engine.py tests/test_saved_tensors.py \
	tests/test_thread_pool.py)

sanitize: $(MARK)-build $(MARK)-test
	$(special_build)
	$(SANITIZED) $(BIN)/python -P examples/reference_programs.py
	$(if $(SANITIZE_TESTS),$(SANITIZED) $(BIN)/python -P -m pytest -q -m "not slow" $(SANITIZE_TESTS))
	$(CC) -g -O1 -Wall -Wextra -Werror -fsanitize=thread -Ieager_core tests/pool_races.c -o build/sanitize/pool_races -lpthread -lm
	TSAN_OPTIONS=die_after_fork=0 build/sanitize/pool_races

# Cython's coverage plugin wants sources, C files and extensions side by side: a copy of the tree.
coverage: $(MARK)-build $(MARK)-test
	@$(PIP) install -q coverage
	@echo "building for coverage in build/coverage"
	@mkdir -p build/coverage
	@tar cf - --exclude='*.so' --exclude=__pycache__ setup.py pyproject.toml README.md LICENSE MANIFEST.in eager_core python_api \
		examples tests $(wildcard benchmarks docs) | tar xf - -C build/coverage
	cd build/coverage && EAGER_BUILD=coverage $(CURDIR)/$(BIN)/python setup.py -q build_ext --inplace && \
		$(CURDIR)/$(BIN)/python -m coverage run -m pytest -q -m "not slow" $(TEST) && \
		$(CURDIR)/$(BIN)/python -m coverage report

profile: $(MARK)-build $(MARK)-demo
	$(special_build)
	$(IN) $(BIN)/python -P examples/digits.py --profile

symbols: $(MARK)-build
	$(special_build)
	@echo "the release with its functions' names: PYTHONPATH=build/symbols/lib perf record -g $(BIN)/python ..., see docs/profiling.md"

clean:
	rm -rf $(VENV) build dist *.egg-info .coverage .mypy_cache .pytest_cache .ruff_cache .hypothesis eager_core/_generated eager_core/eager_api.pyi
	find . -name __pycache__ -prune -exec rm -rf {} +
	find eager_core -name '*.so' -delete
