#!/usr/bin/env bash
# clean_debian.sh FOLDER [SUITE [PYTHON]]: a Debian of its own in FOLDER with Python and nothing else (needs root and debootstrap),
# into which the wheel in dist/ is installed; then the demo and the blocks of the README run there. Packages that the wheel
# needs are fetched here, so that nothing in there needs the network.
set -euo pipefail
folder=$(mkdir -p "$1" && cd "$1" && pwd) suite=${2:-sid} python=${3:-python3}
[ -e "$folder/usr/bin/$python" ] || debootstrap --variant=minbase --include="$python,$python-venv" "$suite" "$folder" >/dev/null
inside() { chroot "$folder" /usr/bin/env -i PATH=/try/env/bin:/usr/bin:/bin HOME=/root LANG=C.UTF-8 NO_COLOR=1 "$@"; }
version=$(inside "$python" -c 'import sys; print("%d%d" % sys.version_info[:2])')
rm -rf "$folder/try" && mkdir -p "$folder/try/wheels" "$folder/try/tests/docs" "$folder/try/work"
cp dist/wordferry-*-abi3-*.whl "$folder/try/wheels"
"${PYTHON:-python3}" -m pip download -q --disable-pip-version-check --only-binary :all: --python-version "$version" \
  --implementation cp --abi "cp$version" --abi abi3 --abi none --platform manylinux_2_28_x86_64 \
  --platform manylinux_2_27_x86_64 --platform manylinux_2_17_x86_64 --platform manylinux2014_x86_64 \
  --find-links dist -d "$folder/try/wheels" wordferry
cp README.md "$folder/try" && cp tests/__init__.py "$folder/try/tests" && cp tests/docs/{__init__,blocks}.py "$folder/try/tests/docs"
inside sh -c '! command -v cc && ! command -v gcc && ! command -v make' || { echo "there is a compiler"; exit 1; }
inside "$python" -m venv /try/env
inside pip install -q --no-index --find-links /try/wheels wordferry
inside wordferry --info
inside wordferry demo >/dev/null
inside env PYTHONPATH=/try sh -c 'cd /try/work && python -c "
from pathlib import Path
from tests.docs.blocks import run_page
print(run_page(Path(\"/try/README.md\"), Path.cwd()), \"blocks of the README run\")"'
