"""Word Mover's Embedding (Wu et al. 2018): documents as vectors of distances to random documents."""

from __future__ import annotations

from typing import Any

import numpy as np

from wordferry.base.arrays import Float32Array, Float64Array
from wordferry.base.checks import real_number, whole_number
from wordferry.base.lazy import sparse as sp
from wordferry.base.runtime import Run, ShowProgress, optional_import
from wordferry.compare.distances import find_distance
from wordferry.compare.measure import Measure
from wordferry.compare.problem import fill
from wordferry.compare.search import Searcher
from wordferry.errors import InputError
from wordferry.judge.fitting import AUTO_WEIGHTS, WordMover
from wordferry.learn.supervised import SupervisedWordMover
from wordferry.texts import bow
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.graph import RelatedWords

optional_import("sklearn", "sklearn")  # says which pip line brings it

from sklearn.base import TransformerMixin  # noqa: E402
from sklearn.model_selection import cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.svm import LinearSVC  # noqa: E402
from sklearn.utils import validation  # noqa: E402

SOURCES = ("corpus", "uniform")
_MEASURED = 256
"""Documents from which the median distance is taken."""
_TRIED = (0.25, 0.5, 1.0, 2.0, 4.0)
"""Multiples of the median heuristic that ``gamma="cv"`` chooses among."""
_LEARNED_WITH = ("unknown", "tokenizer", "on_empty", "random_state", "progress", "threads")
"""Parameters that supervised training takes over."""
_CHOSEN_ON = 2000
"""Documents that cross-validation looks at, at most."""


class WordMoverEmbedding(TransformerMixin, WordMover):  # type: ignore[misc]
    """Documents as vectors whose inner products approximate a kernel made of Word Mover's Distance.

    Feature j of a document x is exp(-gamma * distance(x, w_j)) / sqrt(R) for R random documents w_j. Linear
    classifiers, clustering, maps and vector databases work on these features; classifiers gain from a
    ``StandardScaler`` before them, because all distances of a document are much alike.

    Parameters
    ----------
    n_components : number of random documents, R.
    distance : the distance inside: ``"rwmd"`` classifies as well as ``"wmd"`` and takes a fiftieth of its time;
        ``"rel-rwmd"`` or any other distance of wordferry.
    source : where the words of random documents come from: ``"corpus"`` draws fitted documents, and words of them;
        ``"uniform"`` draws vectors from the box that holds those of the fitted words, as in the paper, which needs a
        distance of vectors (``"wmd"``, ``"rwmd"``, ``"wcd"``).
    max_words : the most words of a random document; the number is drawn from 1 .. max_words.
    gamma : how fast features fall with distance. ``"median"`` is one over the median distance of fitted documents to
        random ones; ``"cv"`` chooses a multiple of that by 3-fold cross-validation of a linear SVM, and needs y.
    supervised : whether half of the features are those of the distance that
        :class:`~wordferry.learn.SupervisedWordMover` learns from y first, which takes its time. The other half, of the
        vectors as given, knows what the classes do not show.
    weights : what a word counts for, as in :class:`~wordferry.neighbors.WordMoverClassifier`; ``"norm"`` with learned
        vectors uses the learned weights.
    r : number of related words of each word, for the distances that use them.
    overlap : what happens to words that both documents have; None means the distance's own default.
    unknown : words without a vector: ``"match"`` keeps them, ``"drop"`` leaves them out, ``"error"`` refuses them. With
        ``source="uniform"`` nothing can match, and they are left out.
    embeddings : word vectors; None means the default ones for texts. A matrix needs the vectors of its columns.
    related : related words made before; None builds them.
    tokenizer : from a text to its words; None means the default one.
    on_empty : ``"error"`` refuses a document without a word, ``"keep"`` gives it features of 0.
    random_state : seed of all draws.
    progress : True shows a bar; a callable is told ``(done, total)`` while distances are computed.
    threads : number of threads; None means ``WORDFERRY_THREADS``, else every usable core.

    Fitted: ``gamma_``, with ``gamma="cv"`` ``cv_scores_`` (mean accuracy by gamma), and with ``supervised=True``
    ``learned_``, the embedding of the second half, whose ``embeddings`` are the learned vectors.

    Examples
    --------
    >>> model = WordMoverEmbedding(8).fit(["the cat sleeps", "a dog barks", "stocks fell sharply"])
    >>> model.transform(["kittens and puppies"]).shape
    (1, 8)
    """

    def __init__(
        self,
        n_components: int = 512,
        distance: str = "rwmd",
        *,
        source: str = "corpus",
        max_words: int = 64,
        gamma: float | str = "median",
        supervised: bool = False,
        weights: Any = AUTO_WEIGHTS,
        r: int = 16,
        overlap: str | None = None,
        unknown: str = "match",
        embeddings: Embeddings | None = None,
        related: RelatedWords | None = None,
        tokenizer: Any = None,
        on_empty: str = "error",
        random_state: int = 0,
        progress: ShowProgress = None,
        threads: int | None = None,
    ) -> None:
        super().__init__(
            1,
            distance,
            r=r,
            overlap=overlap,
            weights=weights,
            unknown=unknown,
            embeddings=embeddings,
            related=related,
            tokenizer=tokenizer,
            on_empty=on_empty,
            threads=threads,
        )
        self.n_components = n_components
        self.source = source
        self.max_words = max_words
        self.gamma = gamma
        self.supervised = supervised
        self.random_state = random_state
        self.progress = progress

    def fit(self, X: Any, y: Any = None) -> WordMoverEmbedding:
        """Draw the random documents, and choose gamma."""
        self._features(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Float64Array:
        """Fit, and the features of the fitted documents; where gamma is chosen, their distances are computed once."""
        distances = self._features(X, y)
        own = self._mapped(self._distances(self._documents) if distances is None else distances)
        return self._beside(own, X)

    def transform(self, X: Any) -> Float64Array:
        """Features (documents, n_components); zeros for a document without a word."""
        validation.check_is_fitted(self)
        return self._beside(self._mapped(self._distances(self._read(X, reset=False))), X)

    def _beside(self, own: Float64Array, X: Any) -> Float64Array:
        """Features by the given vectors, and by learned ones where there are any."""
        return own if self.learned_ is None else np.hstack([own, self.learned_.transform(X)]) / np.sqrt(2)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the features, one for each random document."""
        validation.check_is_fitted(self)
        return np.array([f"random{i}" for i in range(self.n_components)], dtype=object)

    # Fitting ----------------------------------------------------------------------------------------------------------

    def _features(self, X: Any, y: Any) -> Float32Array | None:
        """Fit; gives the distances of all fitted documents where choosing gamma has needed them."""
        if self.source not in SOURCES:
            raise InputError(f"source must be one of {', '.join(map(repr, SOURCES))}; got {self.source!r}.")
        if self.source == "uniform" and find_distance(self.distance).needs_related:
            raise InputError(f"{self.distance} knows the words of a vocabulary only: pass source='corpus'.")
        self._fit_documents(X)
        self._fit_related(self._r())
        rng = np.random.default_rng(whole_number(self.random_state, "random_state", 0))
        count = whole_number(self.n_components, "n_components", 1 + bool(self.supervised), of="random documents")
        self.learned_ = self._learned(X, y, count // 2) if self.supervised else None
        count -= count // 2 if self.supervised else 0
        sizes = rng.integers(1, whole_number(self.max_words, "max_words", of="words"), count, endpoint=True)
        self._random_vectors: Float32Array | None = None
        self._drawn = self._draw_words(sizes, rng) if self.source == "corpus" else self._draw_vectors(sizes, rng)
        if isinstance(self.gamma, str) and self.gamma not in ("median", "cv"):
            raise InputError(f"gamma must be a number, 'median' or 'cv'; got {self.gamma!r}.")
        if not isinstance(self.gamma, str):
            self.gamma_ = real_number(self.gamma, "gamma")
            return None
        some = rng.permutation(self.n_samples_fit_)[: _MEASURED if self.gamma == "median" else _CHOSEN_ON]
        distances = self._distances(self._taken(np.sort(some)))
        finite = distances[np.isfinite(distances)]
        middle = float(np.median(finite)) if len(finite) else 1.0
        self.gamma_ = 1.0 / middle if middle > 0 else 1.0
        if self.gamma == "cv":
            self._choose_gamma(distances, y, np.sort(some))
        return distances if len(some) == self.n_samples_fit_ else None

    def _learned(self, X: Any, y: Any, count: int) -> WordMoverEmbedding:
        """The embedding by vectors and weights that are learned from the classes."""
        given = {name: getattr(self, name) for name in _LEARNED_WITH}
        model = SupervisedWordMover(**given, embeddings=self.embeddings).fit(X, y)
        settings = {**self.get_params(deep=False), "n_components": count, "supervised": False, "weights": "norm"}
        settings |= {"embeddings": model.embeddings_, "related": None, "random_state": self.random_state + 1}
        return WordMoverEmbedding(**settings).fit(X, y)

    def _taken(self, rows: Any) -> Any:
        """Some of the fitted documents."""
        found = self._documents
        return found.take(rows) if isinstance(found, bow.Encoded) else found[rows]

    def _choose_gamma(self, distances: Float32Array, y: Any, rows: Any) -> None:
        if y is None:
            raise InputError("requires y to be passed, but the target y is None: gamma='cv' needs classes.")
        labels = validation.column_or_1d(y, warn=True)[rows]
        first, scores = self.gamma_, {}
        for factor in _TRIED:
            self.gamma_ = factor * first
            model = make_pipeline(StandardScaler(), LinearSVC(C=0.003, random_state=0))
            scores[self.gamma_] = float(cross_val_score(model, self._mapped(distances), labels, cv=3).mean())
        self.cv_scores_ = scores
        self.gamma_ = max(scores, key=lambda gamma: scores[gamma])

    def _draw_words(self, sizes: Any, rng: np.random.Generator) -> Any:
        """Fitted documents, and of each as many of its words as ``sizes`` says."""
        counts = _counts_of(self._documents)
        filled = np.flatnonzero(np.diff(counts.indptr))
        if not len(filled):
            raise InputError("No fitted document has a word, so none can be drawn.")
        rows = rng.choice(filled, len(sizes))
        parts = []
        for row, size in zip(rows.tolist(), sizes.tolist(), strict=True):
            span = np.arange(counts.indptr[row], counts.indptr[row + 1])
            parts.append(np.sort(rng.permutation(span)[:size]))
        kept = np.concatenate(parts)
        indptr = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
        shape = (len(sizes), counts.shape[1])
        return sp.csr_array((counts.data[kept], counts.indices[kept], indptr), shape=shape)

    def _draw_vectors(self, sizes: Any, rng: np.random.Generator) -> Any:
        """Documents of vectors drawn from the box of the fitted words' vectors."""
        embeddings = self._vectors()
        if embeddings is None:
            raise InputError("source='uniform' draws word vectors: pass embeddings=.")
        words = self._words(self._documents)
        box = embeddings.matrix[words] if len(words) else embeddings.matrix
        drawn = rng.uniform(box.min(axis=0), box.max(axis=0), (int(sizes.sum()), embeddings.dimensions))
        self._random_vectors = drawn.astype(np.float32)
        indptr = np.concatenate([[0], np.cumsum(sizes)])
        return sp.csr_array((np.ones(indptr[-1]), np.arange(indptr[-1]), indptr), shape=(len(sizes), int(indptr[-1])))

    # Distances --------------------------------------------------------------------------------------------------------

    def _mapped(self, distances: Float32Array) -> Float64Array:
        features: Float64Array = np.exp(-self.gamma_ * distances.astype(np.float64)) / np.sqrt(distances.shape[1])
        return features

    def _distances(self, found: Any) -> Float32Array:
        """Distances of documents that were read to the random documents; inf for those without a word."""
        run = Run(threads=self.threads, progress=self.progress)
        if self._random_vectors is not None:
            return self._distances_to_vectors(_counts_of(found), run)
        drawn: Any = self._drawn
        if isinstance(self._documents, bow.Encoded):
            drawn = bow.Encoded.of(drawn, self._documents.vocabulary)
        measure = Measure(
            self.distance,
            self.overlap,
            weights="counts" if self.weighting_ is None else self.weighting_,
            embeddings=self._vectors(),
            related=self.related_,
            on_empty="keep",
        )
        problem = Searcher.of(measure, drawn, run).problem(found)
        return fill(problem, np.empty(problem.shape, dtype=np.float32))

    def _distances_to_vectors(self, counts: sp.csr_array, run: Run) -> Float32Array:
        embeddings, vectors = self._vectors(), self._random_vectors
        assert embeddings is not None
        assert vectors is not None
        counts = sp.csr_array(counts[:, : len(embeddings)], dtype=np.float64)
        if self.weighting_ is not None:
            rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
            counts.data = self.weighting_.apply(counts.data, counts.indices, rows, counts.shape[0])
            counts.eliminate_zeros()
        words = np.unique(counts.indices)
        both = np.concatenate([embeddings.matrix[words], vectors])
        small = Embeddings([f"w{i}" for i in range(len(both))], both, normalize=False)
        left = sp.hstack([counts[:, words], sp.csr_array((counts.shape[0], len(vectors)))], format="csr")
        right = sp.hstack([sp.csr_array((self._drawn.shape[0], len(words))), self._drawn], format="csr")
        measure = Measure(self.distance, self.overlap, embeddings=small, on_empty="keep")
        return measure.pairwise(left, right, run=run)


def _counts_of(documents: Any) -> sp.csr_array:
    return documents.matrix if isinstance(documents, bow.Encoded) else documents
