"""Install every extra alone into a clean environment and run the how-to page that needs it: ``python tools/extras.py``.

    python tools/extras.py [EXTRA ...]

The package comes from a wheel in dist/ (``make wheel``), everything else from the package index. Pages run as the tests
run them (tests/docs/blocks.py), in an empty folder.
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
BESIDE = {"serving": ["httpx2"], "from-gensim": ["POT"]}
"""What a page tells its reader to install beside the extras: a test client, what gensim's own distance needs."""
RUN = "import sys; from pathlib import Path; from tests.docs.blocks import run_page; "
RUN += "print(run_page(Path(sys.argv[1]), Path.cwd()), 'blocks run')"


def try_extras(extras: str, page: str) -> None:
    """Install the extras, see that ``wordferry --info`` lists them as installed, and run the page."""
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder, "env", "bin", "python")
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": f"{python.parent}:{os.environ['PATH']}"}
        install = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--find-links", ROOT / "dist"]
        work = Path(folder, "work")
        work.mkdir()
        subprocess.run([sys.executable, "-m", "venv", python.parents[1]], check=True)
        packages = [f"wordferry[{extras}]", *BESIDE.get(page, [])]
        subprocess.run([*install, "--only-binary", "wordferry", *packages], check=True)
        told = subprocess.run([python, "-m", "wordferry", "--info"], check=True, capture_output=True, cwd=work)
        installed = json.loads(told.stdout)["extras"]
        if missing := [extra for extra in extras.split(",") if not installed[extra]]:
            raise SystemExit(f"wordferry --info does not list {', '.join(missing)} as installed")
        place = ROOT / "docs" / "howto" / f"{page}.md"
        subprocess.run([python, "-c", RUN, place], check=True, cwd=work, env=environment)


if __name__ == "__main__":
    wanted = {extra for argument in sys.argv[1:] for extra in argument.split(",")}
    for extras, page in PAGES.items():
        if wanted and not wanted & set(extras.split(",")):
            continue
        if extras == "spark" and shutil.which("java") is None:
            print("spark: there is no Java runtime; left out")
            continue
        print(f"{extras}: {page}", flush=True)
        try_extras(extras, page)
