"""Supervised Word Mover's Distance (Huang et al. 2016) as a scikit-learn estimator."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np

from wordferry.base.arrays import Float64Array
from wordferry.base.checks import real_number, whole_number
from wordferry.base.lazy import sparse as sp
from wordferry.base.runtime import ShowProgress, no_progress, optional_import, progress_for, thread_count
from wordferry.compare.nearest import check_k
from wordferry.errors import InputError
from wordferry.judge.fitting import WordMover
from wordferry.judge.voting import PAPER_K, vote_by_gap
from wordferry.learn.checkpoints import problem_digest, read_state, write_state
from wordferry.learn.metric import LabelledDocuments, Metric
from wordferry.learn.training import STAGES, Settings, State, Training, held_out_rows
from wordferry.texts import bow
from wordferry.texts.weights import fit_weights
from wordferry.words.embeddings import Embeddings

optional_import("sklearn", "sklearn")  # says which pip line brings it

from sklearn.base import ClassifierMixin, TransformerMixin  # noqa: E402
from sklearn.utils import multiclass, validation  # noqa: E402

_MOST_WORDS = 128
"""Words of a document that training looks at, the heaviest first; transport costs grow faster than the square."""
_MOST_HELD_OUT = 300


class SupervisedWordMover(ClassifierMixin, TransformerMixin, WordMover):  # type: ignore[misc]
    """Word Mover's Distance learned from classes: a linear map of the word vectors and a weight for every word.

    The map and the weights make near documents of one class nearer: they lower the loss of neighbourhood components
    analysis over transport costs, beginning with distances of centroids. :meth:`predict` is k-NN in the learned
    metric, with the votes of :class:`~wordferry.neighbors.WordMoverClassifier`: a neighbour counts by how much nearer
    it is than the last.

    Parameters
    ----------
    n_neighbors : number of neighbours that vote; all, where there are fewer documents.
    distance : the distance that :meth:`predict` compares by: ``"wmd"``, which is trained, or a faster relative such as
        ``"rel-rwmd"``.
    n_components : dimensions of the learned vectors; None keeps as many as the given ones have.
    max_iter : steps of training on transport costs, at most. 0 learns nothing: the vectors and weights given are used
        as they are, for instance those that were learned before.
    batch_size : documents of a step.
    candidates : nearest documents, by centroid, that the loss of a document compares it with.
    learning_rate : size of a step relative to the size of the map.
    validation_fraction : share of every class that is held out to choose when to stop; 0 trains to the end. (Held-out
        documents vote in :meth:`predict` like all others.)
    n_iter_no_change : looks at the held-out documents, one every 20 steps, without progress before training stops.
    weights : the weights to begin with: a scheme such as ``"idf"``, or weights of your own.
    r : number of related words of each word, for the distances that use them.
    unknown : words without a vector: ``"match"`` keeps them, ``"drop"`` leaves them out, ``"error"`` refuses them. They
        take no part in training.
    embeddings : word vectors; None means the default ones for texts. A matrix needs the vectors of its columns.
    tokenizer : from a text to its words; None means the default one.
    on_empty : ``"error"`` refuses a document without a word, ``"keep"`` puts it at distance inf from all others.
    warm_start : whether :meth:`fit` goes on from the metric of the last fit, if that had the same vectors.
    checkpoint : a folder to keep the state of the training in; a later fit of the same documents goes on from there.
    random_state : seed of all draws.
    progress : True shows a bar; a callable is told ``(done, total)`` steps.
    threads : number of threads; None means ``WORDFERRY_THREADS``, else every usable core.

    Ctrl-C ends the training early, with a warning, and keeps the best metric so far.

    Fitted: ``embeddings_`` (learned vectors; with ``weights="norm"`` every distance and every index uses the learned
    weights, which come with them), ``weights_`` (a mapping of words to learned weights), ``components_`` (the map),
    ``history_`` (stage, step, training loss and held-out loss), ``n_iter_``, ``classes_``.

    Examples
    --------
    >>> texts = ["the cat sleeps", "a dog barks", "stocks fell sharply", "the bank raised rates"]
    >>> model = SupervisedWordMover(1, max_iter=20).fit(texts, ["pets", "pets", "money", "money"])
    >>> model.predict(["kittens and puppies", "shares and bonds"]).tolist()
    ['pets', 'money']
    """

    def __init__(
        self,
        n_neighbors: int = PAPER_K,
        distance: str = "wmd",
        *,
        n_components: int | None = None,
        max_iter: int = 200,
        batch_size: int = 32,
        candidates: int = 32,
        learning_rate: float = 0.01,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 4,
        weights: Any = "idf",
        r: int = 16,
        unknown: str = "match",
        embeddings: Embeddings | None = None,
        tokenizer: Any = None,
        on_empty: str = "error",
        warm_start: bool = False,
        checkpoint: str | os.PathLike[str] | None = None,
        random_state: int = 0,
        progress: ShowProgress = None,
        threads: int | None = None,
    ) -> None:
        super().__init__(
            n_neighbors,
            distance,
            r=r,
            weights=weights,
            unknown=unknown,
            embeddings=embeddings,
            tokenizer=tokenizer,
            on_empty=on_empty,
            threads=threads,
        )
        self.n_components = n_components
        self.max_iter = max_iter
        self.batch_size = batch_size
        self.candidates = candidates
        self.learning_rate = learning_rate
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.progress = progress

    # Fitting ----------------------------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None) -> SupervisedWordMover:
        """Learn the metric from documents and their classes, and remember them for :meth:`predict`."""
        if y is None:
            raise InputError("requires y to be passed, but the target y is None: a classifier needs classes.")
        labels = validation.column_or_1d(y, warn=True)
        multiclass.check_classification_targets(labels)
        before = self.__dict__.pop("_metric", None), self.__dict__.pop("embeddings_", None)
        self._fit_documents(X)
        validation.check_consistent_length(np.arange(self.n_samples_fit_), labels)
        self.classes_, self._classes = np.unique(labels, return_inverse=True)
        self._shares = np.bincount(self._classes, minlength=len(self.classes_)) / len(labels)
        self._learn(*(before if self.warm_start else (None, None)))
        self._fit_related(self._r())
        return self

    def _settings(self) -> Settings:
        return Settings(
            whole_number(self.max_iter, "max_iter", 0, of="steps"),
            whole_number(self.batch_size, "batch_size", of="documents"),
            whole_number(self.candidates, "candidates", of="documents"),
            real_number(self.learning_rate, "learning_rate"),
            whole_number(self.n_iter_no_change, "n_iter_no_change"),
            whole_number(self.random_state, "random_state", 0),
            thread_count(self.threads),
        )

    def _learn(self, metric: Metric | None, learned: Embeddings | None) -> None:
        """Train, from the last metric if there is one, and put what was learned in the place of what was given."""
        settings, embeddings = self._settings(), self._vectors()
        assert embeddings is not None
        lengths = np.ones(len(embeddings))
        if self.weighting_ is not None:
            lengths = np.array(self.weighting_.of(np.arange(len(embeddings))))
        components, words_before = self._components(embeddings), None if learned is None else learned.vocabulary
        resumes = metric is not None and metric.map.shape == (components, embeddings.dimensions)
        if resumes and learned is not None and words_before == embeddings.vocabulary and learned.lengths is not None:
            lengths = learned.lengths.copy()
        else:
            metric = None
        words, documents = self._training_documents(embeddings, lengths)
        first = _first_map(documents.vectors, components) if metric is None else metric.map
        start = Metric(first, np.log(lengths[words]).astype(np.float32))
        state = State.of(start, stage=0 if metric is None else len(STAGES) - 1)
        if settings.steps and len(words):
            state = self._trained(documents, state, settings)
        self.history_ = state.history
        self.n_iter_ = max([1, *(step for _, step, *_ in self.history_)])
        self._metric, self.components_ = state.best, state.best.map
        lengths[words] = np.exp(state.best.logs.astype(np.float64))
        lengths /= lengths.mean() or 1.0  # a word without a vector weighs as much as the mean word: 1
        self.embeddings_ = Embeddings.weighed(embeddings.vocabulary, embeddings.matrix @ state.best.map.T, lengths)
        self.weighting_ = fit_weights("norm", sp.csr_array((0, len(embeddings))), self.embeddings_)

    def _components(self, embeddings: Embeddings) -> int:
        if self.n_components is None:
            return embeddings.dimensions
        return min(whole_number(self.n_components, "n_components", of="dimensions"), embeddings.dimensions)

    def _training_documents(self, embeddings: Embeddings, per_word: Float64Array) -> tuple[Any, LabelledDocuments]:
        """The words that training looks at, and the documents that have any of them."""
        found = self._documents
        counts = sp.csr_array(found.matrix if isinstance(found, bow.Encoded) else found)
        counts = _heaviest(counts[:, : len(embeddings)], per_word[: len(embeddings)])
        filled = np.flatnonzero(np.diff(counts.indptr))
        words = np.unique(counts.indices)
        kept = sp.csr_array(counts[filled][:, words], dtype=np.float32)
        kept.sort_indices()
        return words, LabelledDocuments(kept, embeddings.matrix[words], self._classes[filled])

    def _trained(self, documents: LabelledDocuments, state: State, settings: Settings) -> State:
        share = real_number(self.validation_fraction, "validation_fraction", what="a share below 1")
        if not 0 <= share < 1:
            raise InputError(f"validation_fraction must be a share from 0 to below 1; got {share:g}.")
        held_out = held_out_rows(documents.classes, share, _MOST_HELD_OUT, settings.seed)
        training = Training(documents, held_out, settings, state.metric)
        kept = [state]
        if self.checkpoint is not None:
            digest = problem_digest(documents, state.metric, settings)
            kept[0] = read_state(self.checkpoint, digest) or state

        def keep(reached: State) -> None:
            kept[0] = reached
            if self.checkpoint is not None:
                write_state(self.checkpoint, reached, digest)

        try:
            training.run(kept[0], progress_for(self.progress, "learning") or no_progress, keep)
        except KeyboardInterrupt:
            warnings.warn("Training was stopped; the best metric so far is kept.", RuntimeWarning, stacklevel=3)
        return kept[0]

    def _vectors(self) -> Embeddings | None:
        """The learned vectors, or until there are any those given."""
        learned: Embeddings | None = vars(self).get("embeddings_")
        return learned if learned is not None else self._given_vectors()

    def _given_vectors(self) -> Embeddings | None:
        return super()._vectors()

    # Using ------------------------------------------------------------------------------------------------------------

    @property
    def weights_(self) -> dict[str, float]:
        """The learned weight of each word; a word that is not named weighs 1."""
        validation.check_is_fitted(self)
        assert self.embeddings_.lengths is not None
        return dict(zip(self.embeddings_.vocabulary, self.embeddings_.lengths.tolist(), strict=True))

    def predict(self, X: Any) -> Any:
        """The class of each document."""
        validation.check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X: Any) -> Float64Array:
        """The share of each class among the votes of the nearest documents, each by its gap to the last of them."""
        validation.check_is_fitted(self)
        k = min(check_k(self.n_neighbors), self.n_samples_fit_)
        distances, indices = self._nearest(self._read(X, reset=False), k, False)
        classes = np.where(indices >= 0, self._classes[indices], -1)
        shares = vote_by_gap(classes, distances, len(self.classes_), k).shares
        return np.where(shares.any(axis=1, keepdims=True), shares, self._shares)

    def transform(self, X: Any) -> Any:
        """Learned vectors: of documents, or of words.

        Documents become their weighted centroids in the learned space, (documents, n_components), zero where no word
        has a vector. Word vectors, an :class:`~wordferry.Embeddings` of as many dimensions as those that were learned
        from, become Embeddings in the learned space, with the learned weight of every word that has one (else 1).
        """
        validation.check_is_fitted(self)
        if isinstance(X, Embeddings):
            if X.dimensions != self.components_.shape[1]:
                raise InputError(f"Expected vectors of {self.components_.shape[1]} dimensions, got {X.dimensions}.")
            known, own = self.embeddings_, np.ones(len(X))
            places = known.vocabulary.ids(X.vocabulary)
            assert known.lengths is not None
            own[places >= 0] = known.lengths[places[places >= 0]]
            return Embeddings.weighed(X.vocabulary, X.matrix @ self.components_.T, own)
        found = self._read(X, reset=False)
        size, weighting = len(self.embeddings_), self.weighting_
        assert weighting is not None
        counts = sp.csr_array(found.matrix if isinstance(found, bow.Encoded) else found)[:, :size]
        masses = sp.csr_array(counts.multiply(weighting.per_word[:size]))
        sums = np.asarray(masses.sum(axis=1)).ravel()
        centroids: Float64Array = masses @ self.embeddings_.matrix.astype(np.float64)
        return np.divide(centroids, sums[:, None], out=np.zeros_like(centroids), where=sums[:, None] > 0)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the learned dimensions."""
        validation.check_is_fitted(self)
        return np.array([f"component{i}" for i in range(len(self.components_))], dtype=object)


def _first_map(vectors: Any, components: int) -> Any:
    """The identity, or the principal axes of the words where there are to be fewer dimensions."""
    if components == vectors.shape[1]:
        return np.eye(components, dtype=np.float32)
    centred = vectors - vectors.mean(axis=0)
    _, axes = np.linalg.eigh((centred.T @ centred).astype(np.float64))
    return np.ascontiguousarray(axes[:, ::-1][:, :components].T, dtype=np.float32)


def _heaviest(counts: sp.csr_array, per_word: Float64Array) -> sp.csr_array:
    """Documents with their heaviest words only; words without weight are left out."""
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    weights = counts.data * per_word[counts.indices]
    order = np.lexsort((-weights, rows))
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order)) - counts.indptr[:-1][rows[order]]
    keep = (rank < _MOST_WORDS) & (weights > 0)
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows[keep], minlength=counts.shape[0]))])
    return sp.csr_array((counts.data[keep], counts.indices[keep], indptr), shape=counts.shape)
