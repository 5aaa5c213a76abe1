#!/usr/bin/env bash
# arm64.sh FOLDER TESTS...: build the kernels for ARM64 with Debian's cross compiler and run tests under QEMU, with the
# ARM64 Python, NumPy and SciPy of Debian unpacked (not installed) into FOLDER. Needs g++-aarch64-linux-gnu, qemu-user
# and the architecture known to apt: dpkg --add-architecture arm64 && apt-get update.
set -euo pipefail
folder=$(mkdir -p "$1" && cd "$1" && pwd); shift
for tool in aarch64-linux-gnu-g++ qemu-aarch64 dpkg; do
  command -v $tool >/dev/null || { echo "make arm64 needs $tool: apt-get install g++-aarch64-linux-gnu qemu-user"; exit 1; }
done
root=$folder/root
if [ ! -e "$folder/.unpacked" ]; then
  rm -rf "$folder/debs" "$root" && mkdir -p "$folder/debs" "$root" "$folder/headers"
  apt="apt-get -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State::status=/dev/null"
  packages=$($apt install -s --no-install-recommends python3.11:arm64 python3-numpy:arm64 python3-scipy:arm64 \
    python3-pytest python3-hypothesis python3-typing-extensions 2>/dev/null | awk '/^Inst/{print $2}')
  [ -n "$packages" ] || { echo "apt knows no ARM64 packages: dpkg --add-architecture arm64 && apt-get update"; exit 1; }
  (cd "$folder/debs" && $apt download $packages >/dev/null 2>&1)
  for package in "$folder"/debs/*.deb; do dpkg -x "$package" "$root"; done
  (cd "$folder/headers" && $apt download libpython3.11-dev >/dev/null 2>&1 && dpkg -x ./*.deb .)
  touch "$folder/.unpacked"
fi
PATH="$BIN:$PATH" cmake -S . -B "$folder" -G Ninja -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 \
  -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ -DPython_EXECUTABLE="$BIN/python" \
  -DPython_INCLUDE_DIR="$folder/headers/usr/include/python3.11" -DCMAKE_CXX_FLAGS="-I$folder/headers/usr/include" >/dev/null
PATH="$BIN:$PATH" cmake --build "$folder"
rm -rf "$folder/package" && mkdir -p "$folder/package" && cp -r src/wordferry "$folder/package/"
rm -f "$folder"/package/wordferry/_native*.so
cp "$folder"/_native*.so "$folder/package/wordferry/_native.so"
# The pure Python packages of the tools that Debian's are too old for come from the environment of the tests.
pure=$("$BIN/python" -c 'import pathlib, threadpoolctl; print(pathlib.Path(threadpoolctl.__file__).parent)')
mkdir -p "$folder/pure"
for name in threadpoolctl.py click rich markdown_it mdurl pygments pytest_timeout.py; do
  [ -e "$pure/$name" ] && cp -r "$pure/$name" "$folder/pure/" || true
done
PYTHONPATH="$folder/package:$folder/pure:$PWD" PYTHONHOME="$root/usr" QEMU_LD_PREFIX="$root" \
  LD_LIBRARY_PATH="$root/usr/lib/aarch64-linux-gnu/blas:$root/usr/lib/aarch64-linux-gnu/lapack" \
  qemu-aarch64 -L "$root" "$root/usr/bin/python3.11" -m pytest -q -p no:cacheprovider -o addopts= -o timeout= \
  --import-mode=importlib "$@"
