"""The script that made the default vectors does what the loader undoes; the one that tries extras leaves none out."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import numpy as np
from tools import extras
from tools import make_default_vectors as tool

from wordferry import load_embeddings


def test_words_are_chosen_quantised_and_read_back(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    names = ["the", ",", "of", "3d", "naïve", "cat", "u.s.", "dog", "cow"]
    vectors = rng.normal(size=(len(names), 5))
    data = {
        "dimensions": 5,
        "words": names,
        "vectors": {name: [*vector, 1.0, i] for i, (name, vector) in enumerate(zip(names, vectors, strict=True))},
    }
    words, chosen = tool.select(data, 4)
    assert words == ["the", "of", "cat", "dog"]
    np.testing.assert_allclose(chosen, vectors[[0, 2, 5, 7]], rtol=1e-6)
    quantised, scale = tool.quantise(chosen)
    assert quantised.dtype == np.int8
    assert np.abs(quantised).max(axis=1).tolist() == [127] * 4
    tool.write(tmp_path, words, quantised, scale)
    back = load_embeddings(tmp_path / f"{tool.NAME}.npz", normalize=False)
    assert list(back.vocabulary) == words
    assert (np.abs(back.matrix - chosen) <= scale[:, None] / 2 + 1e-6).all()


def test_every_extra_is_tried() -> None:
    """Except those of who works on the package; one that brings other extras counts for them too."""
    text = (extras.ROOT / "pyproject.toml").read_text(encoding="utf-8")
    brings = tomllib.loads(text)["project"]["optional-dependencies"]
    tried = {extra for together in [*extras.PAGES, *extras.TESTS] for extra in together.split(",")}
    within = [found for extra in tried for name in brings[extra] for found in re.findall(r"wordferry\[(.*)\]", name)]
    assert tried | set(",".join(within).split(",")) == set(brings) - {"bench", "docs", "dev", "check"}
    assert all((extras.ROOT / "docs" / "howto" / f"{page}.md").exists() for page in extras.PAGES.values())
    assert set(extras.BESIDE) <= {*extras.PAGES, *extras.TESTS}
