# make demo and make test do all the set-up: Python 3.11+, make and a C++20 compiler are enough. make help prints this:
#
#   make demo       what wordferry does, on the data it carries
#   make quick      lint, types and some tests of every part, in under a minute
#   make test       lint, types and every test but the long ones (PYTEST_OPTIONS="-k loaders" for some)
#   make editable   install the package from where it lies: changes of Python are seen at once
#   make check      everything there is: test, test-slow, and the kernel tests on the other builds below
#   make browser    chromium for the tests of the page, where it can be installed
#   make test-slow  the long tests, and those that need libraries of their own
#   make test-spark  the jobs on a Spark cluster of processes (installs PySpark, and a Java runtime where it can)
#   make test-gpu   the tests of the GPU's kernels on the GPU of this machine (CuPy must be there)
#   make bench      benchmarks (BENCH="benchmarks/loaders.py" for some); results are kept in benchmarks/results
#   make bench-report  those results as one page of the documentation, beside peers, and the README's table
#   make docs       the documentation, into docs/_build/html
#   make sanitize   kernel tests under AddressSanitizer and UndefinedBehaviorSanitizer
#   make tsan       two threads with every class of the kernels, under ThreadSanitizer
#   make unity      all kernels as one source: no name stands for two things
#   make plain      kernel tests on a build in standard C++ alone
#   make clang      kernel tests on a build by Clang with libc++
#   make arm64      a wheel for Linux on ARM64; the demo and tests of kernels and the index with it, under QEMU
#   make wheel      wheels for Linux on x86-64 and the source package into dist, checked and tried in clean environments
#   make debian     the wheel in dist in a Debian with Python 3.14 or 3.15 and nothing else (needs root and debootstrap)
#   make extras     every extra alone in a clean environment, with the pages that need it (EXTRAS="spark" for some)
#   make stub       the types of the extension module (src/wordferry/_native.pyi)
#   make clean      removes what was built and installed
#
# Tests run in three processes, one of which waits for servers, browsers and clusters while the others compute;
# PROCESSES=0 runs them in one, as a debugger needs it.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install -q --disable-pip-version-check
WERROR := $(if $(CI),ON,OFF)
BENCH  ?= $(sort $(filter-out %/harness.py %/report.py,$(wildcard benchmarks/*.py)))
CODE   := src tests benchmarks tools docs/conf.py
PROCESSES ?= 3
PYTEST := $(BIN)/python -m pytest -n $(PROCESSES) --dist loadfile --no-loadscope-reorder
FORMATTED := $(shell find native -name '*.?pp') $(wildcard src/wordferry/device/cuda/*.cuh)
# Tests that call kernels, for the builds below.
KERNEL_TESTS ?= tests/kernels tests/related tests/relaxed tests/transport tests/device
# A part of the tests of every part, for make quick.
QUICK_TESTS ?= tests/reference tests/data_model tests/compare tests/relaxed/test_top_k.py tests/transport/test_golden.py \
  tests/find tests/index/test_index.py tests/index/test_words.py tests/shards/test_batch.py tests/tables/test_lines.py \
  tests/cli/test_index.py tests/web/test_bad_requests.py tests/project

# Four stamps: the package, what its tests need, what the long ones need beside that, what its benchmarks need. The
# package is reinstalled when one of its sources changed (only the kernels that changed are compiled again), the others
# when pyproject.toml did. After make editable, Python is used from src, so that only kernels count as sources.
PACKAGE := $(VENV)/.package
EDITABLE := $(VENV)/.editable
TOOLS   := $(VENV)/.tools
CHECKS  := $(VENV)/.checks
RIVALS  := $(VENV)/.rivals
SOURCES := $(shell find native $(if $(wildcard $(EDITABLE)),,src) -type f ! -name '*.so' ! -path '*/__pycache__/*') CMakeLists.txt pyproject.toml README.md

.PHONY: debian help demo quick editable test check browser test-slow test-spark test-gpu lint types bench bench-report docs sanitize tsan unity plain clang arm64 wheel extras stub clean

help:
	@sed -n '/^# make demo/,/^PYTHON/ s/^# \{0,1\}//p' Makefile

demo: $(PACKAGE)
	@$(BIN)/wordferry demo

quick: lint types
	$(PYTEST) $(QUICK_TESTS) $(PYTEST_OPTIONS)

# From now on, until make clean.
editable: $(BIN)/python
	@[ -e $(EDITABLE) ] || { touch $(EDITABLE); rm -f $(PACKAGE); }
	@$(MAKE) $(PACKAGE)

test: lint types browser
	$(PYTEST) $(PYTEST_OPTIONS)

check: test test-slow sanitize tsan unity plain clang arm64

# In one process: many of these say how long something may take.
test-slow: $(CHECKS) browser
	$(BIN)/python -m pytest -m slow $(PYTEST_OPTIONS)

test-spark: $(TOOLS)
	@command -v java >/dev/null \
	  || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	       && { apt-get install -y -qq --no-install-recommends default-jre-headless >/dev/null 2>&1 \
	            || { apt-get update -qq && apt-get install -y -qq --no-install-recommends default-jre-headless >/dev/null; }; }; } \
	  || echo "a Java runtime cannot be had here; the tests on Spark will be skipped"
	$(PIP) "wordferry[spark]"
	$(BIN)/python -m pytest -m spark tests/engines $(PYTEST_OPTIONS)

# The same tests that make test runs on kernels in plain C++; then those that launch every kernel of ours (CuPy's are left
# out) under compute-sanitizer, where it is installed: accesses outside of arrays, and races in shared memory.
EVERY_KERNEL := all_pairs or as_they_are or lists_are or act_has or sinkhorn_has or cosine or batches or clouds or candidates
test-gpu: $(TOOLS)
	WORDFERRY_TEST_GPU=1 $(BIN)/python -m pytest tests/device $(PYTEST_OPTIONS)
	@command -v compute-sanitizer >/dev/null || echo "compute-sanitizer is not here; memory accesses are not checked"
	@! command -v compute-sanitizer >/dev/null || for tool in memcheck racecheck; do \
	  WORDFERRY_TEST_GPU=alone compute-sanitizer --tool $$tool --kernel-name-exclude kns=cupy_ --error-exitcode 1 \
	  $(BIN)/python -m pytest -p no:cacheprovider tests/device -k "$(EVERY_KERNEL)" $(PYTEST_OPTIONS) || exit 1; done

lint: $(TOOLS)
	$(BIN)/ruff check $(CODE)
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/clang-format --dry-run -Werror $(FORMATTED)

# The test of the page drives chromium; without it that test is skipped and says so.
browser:
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null \
	  || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null \
	       && { apt-get install -y -qq --no-install-recommends chromium >/dev/null 2>&1 \
	            || { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium >/dev/null; }; }; } \
	  || echo "chromium cannot be had here; the test of the page will be skipped"

types: $(TOOLS)
	$(BIN)/mypy

bench: $(RIVALS)
	@set -e; for script in $(BENCH); do echo "== $$script"; $(BIN)/python $$script --save; done

bench-report: $(RIVALS)
	$(BIN)/python benchmarks/report.py

docs: $(CHECKS)
	$(BIN)/python tools/make_cli_reference.py
	$(BIN)/sphinx-build -W -q -b html docs docs/_build/html
	$(BIN)/python tools/check_docs.py docs docs/_build/html
	@echo "open docs/_build/html/index.html"

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(PACKAGE): $(BIN)/python $(SOURCES)
	$(PIP) "scikit-build-core>=0.10" "nanobind>=2.4" "cmake>=3.26" ninja
	$(PIP) --no-build-isolation -C cmake.define.WORDFERRY_WERROR=$(WERROR) $(if $(wildcard $(EDITABLE)),-e) .
	@touch $@

# The package is installed already, so these bring only what the extra adds.
$(TOOLS): $(PACKAGE) pyproject.toml
	$(PIP) "wordferry[dev]"
	@touch $@

$(CHECKS): $(TOOLS) pyproject.toml
	$(PIP) "wordferry[check]"
	@touch $@

$(RIVALS): $(PACKAGE) pyproject.toml
	$(PIP) "wordferry[bench]"
	@touch $@

# Other builds of the kernels, each in a folder of its own, with the package copied beside it so that it is imported
# instead of the installed one.
STAGE = rm -rf build/$@/package && mkdir -p build/$@/package && cp -r src/wordferry build/$@/package/ \
	&& rm -f build/$@/package/wordferry/_native*.so && cp build/$@/_native*.so build/$@/package/wordferry/
CONFIGURE = PATH="$(abspath $(BIN)):$$PATH" cmake -S . -B build/$@ -G Ninja -DWORDFERRY_WERROR=$(WERROR) \
	-DPython_EXECUTABLE=$(abspath $(BIN))/python
BUILD = PATH="$(abspath $(BIN)):$$PATH" cmake --build build/$@

# The sanitizers' library must be in the process before Python, and the C++ library with it so that throwing works.
PRELOAD = $(shell $(CXX) -print-file-name=libasan.so) $(shell $(CXX) -print-file-name=libstdc++.so)

sanitize: $(TOOLS)
	$(CONFIGURE) -DWORDFERRY_SANITIZE=ON >/dev/null
	$(BUILD)
	@$(STAGE)
	WORDFERRY_SANITIZE=1 WORDFERRY_EXPECT_VARIANT=plain PYTHONPATH=build/$@/package LD_PRELOAD="$(PRELOAD)" ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 \
	  $(PYTEST) -p no:cacheprovider tests/project/test_native_build.py $(KERNEL_TESTS) $(PYTEST_OPTIONS)

# As above; Python itself is not instrumented, but its locks are seen.
TSAN_SECONDS ?= 60
tsan: $(TOOLS)
	$(CONFIGURE) -DWORDFERRY_SANITIZE=thread >/dev/null
	$(BUILD)
	@$(STAGE)
	PYTHONPATH=build/$@/package LD_PRELOAD="$(shell $(CXX) -print-file-name=libtsan.so)" \
	  TSAN_OPTIONS="halt_on_error=1 suppressions=tests/kernels/tsan.txt" OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 \
	  $(BIN)/python -m tests.kernels.pairs build/$@/last $(TSAN_SECONDS)

# Not run, only compiled.
unity: $(TOOLS)
	$(CONFIGURE) -DWORDFERRY_UNITY=ON >/dev/null
	$(BUILD)

# Standard C++ alone, as a compiler without the extensions of GCC gets it.
plain: $(TOOLS)
	$(CONFIGURE) -DWORDFERRY_PLAIN=ON >/dev/null
	$(BUILD)
	@$(STAGE)
	PYTHONPATH=build/$@/package WORDFERRY_EXPECT_VARIANT=plain \
	  $(PYTEST) -p no:cacheprovider tests/project/test_native_build.py $(KERNEL_TESTS) $(PYTEST_OPTIONS)

# Clang with its own C++ library. The unwinder of GCC comes first: the C library ends threads by it, and two of them in
# one process fail where Python ends beside a kernel.
clang: $(TOOLS)
	@command -v clang++ >/dev/null || { echo "make clang needs Debian's packages clang, libc++-dev and libc++abi-dev"; exit 1; }
	$(CONFIGURE) -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_CXX_FLAGS=-stdlib=libc++ >/dev/null
	$(BUILD)
	@$(STAGE)
	PYTHONPATH=build/$@/package LD_PRELOAD="$(shell $(CXX) -print-file-name=libgcc_s.so.1)" \
	  $(PYTEST) -p no:cacheprovider tests/project/test_native_build.py $(KERNEL_TESTS) $(PYTEST_OPTIONS)

# Run by QEMU with the ARM64 Python of Debian: a part of the tests, as it is slow.
ARM64_TESTS ?= tests/transport/test_word_distances.py tests/transport/test_golden.py tests/relaxed/test_values.py \
  tests/index/test_lists.py
arm64: $(TOOLS)
	BIN=$(abspath $(BIN)) tools/arm64.sh build/$@ $(ARM64_TESTS)

# WHEEL_PYTHONS names Pythons to build for and to try; by default those that can be found.
wheel:
	tools/wheel.sh build/$@ $(WHEEL_PYTHONS)

# The wheel in dist/ in a Debian with Python and nothing else, for two versions of Python; needs root and debootstrap.
debian:
	tools/clean_debian.sh build/debian
	tools/clean_debian.sh build/debian-next sid python3.15

# Into environments of their own, from the wheel in dist; without one, from one that is built here.
extras:
	@ls dist/*.whl >/dev/null 2>&1 || $(PYTHON) -m pip wheel -q --no-deps -w dist .
	$(PYTHON) tools/extras.py $(EXTRAS)

# The types of the extension module, from the module.
stub: $(TOOLS)
	$(BIN)/python tools/make_native_stub.py

clean:
	rm -rf build dist $(VENV) docs/_build
