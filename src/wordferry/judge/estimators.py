"""scikit-learn estimators: nearest documents, the paper's k-NN classifier, and the k-NN graph as a transformer.

They take raw texts, token lists, or matrices of word counts, and work in pipelines, grid searches and pickles.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from wordferry.base.arrays import Float64Array
from wordferry.base.checks import real_number
from wordferry.base.lazy import sparse as sp
from wordferry.base.runtime import optional_import
from wordferry.compare.distances import find_distance
from wordferry.compare.measure import Measure, one
from wordferry.compare.nearest import check_k, within
from wordferry.errors import InputError
from wordferry.judge.choosing import Validation, cross_validate_r
from wordferry.judge.fitting import AUTO_WEIGHTS, WordMover, check_mode
from wordferry.judge.voters import VoteExplanation, Voter, shared_words
from wordferry.judge.voting import PAPER_K, RECOMMENDED_DISTANCE, RECOMMENDED_K, Votes, decide, gap_weights
from wordferry.words.embeddings import Embeddings
from wordferry.words.related.graph import RelatedWords

optional_import("sklearn", "sklearn")  # says which pip line brings it

from sklearn.base import ClassifierMixin, TransformerMixin  # noqa: E402
from sklearn.utils import multiclass, validation  # noqa: E402


class WordMoverNeighbors(WordMover):
    """Nearest documents under any distance of wordferry.

    Parameters
    ----------
    n_neighbors : number of neighbours that :meth:`kneighbors` gives.
    distance : a name of ``wordferry.DISTANCES``, or a sum of several. The default made the fewest errors of those that
        were tried on the training documents of seven collections (``benchmarks/quality.py --choose``).
    radius : the largest distance of the neighbours that :meth:`radius_neighbors` gives.
    r : number of related words of each word, for the distances that use them.
    overlap : what happens to words that both documents have: ``"keep"``, ``"omr"`` or ``"residual"``; None means the
        distance's own default.
    weights : what a word counts for: ``"counts"``, ``"idf"`` (also ``"tfidf"``), ``"log-idf"``, ``"bm25"``, ``"norm"``,
        ``"norm-idf"``, or weights of your own; document frequencies are those of the fitted documents. None leaves the
        numbers of a matrix, or the counts of texts, as they are. ``"auto"`` is ``"log-idf"`` for counts and None for a
        matrix of other numbers, since whoever made it has weighed the words.
    unknown : words without a vector: ``"match"`` keeps them, ``"drop"`` leaves them out, ``"error"`` refuses them.
    embeddings : word vectors; None means the default ones for texts. A matrix needs the vectors of its columns, unless
        the distance needs none.
    related : related words made before; None builds them.
    vocabulary : the words that related words are sought among: ``"train"``, the words of the fitted documents, so that
        an answer depends on nothing but them and the query; or ``"all"``, those of the fitted documents and of all
        queries asked at once, as in the paper (transductive: an answer may change with the company a query is in).
    tokenizer : from a text to its words; None means the default one.
    on_empty : ``"error"`` refuses a document without a word, ``"keep"`` puts it at distance inf from all others.
    threads : number of threads; None means ``WORDFERRY_THREADS``, else every usable core.

    Examples
    --------
    >>> near = WordMoverNeighbors(1, "wmd").fit(["the cat sleeps", "stocks fell sharply"])
    >>> near.kneighbors(["a dog is resting"], return_distance=False).tolist()
    [[0]]
    """

    def __init__(
        self,
        n_neighbors: int = PAPER_K,
        distance: str = RECOMMENDED_DISTANCE,
        *,
        radius: float = 1.0,
        r: int = 16,
        overlap: str | None = None,
        weights: Any = AUTO_WEIGHTS,
        unknown: str = "match",
        embeddings: Embeddings | None = None,
        related: RelatedWords | None = None,
        vocabulary: str = "train",
        tokenizer: Any = None,
        on_empty: str = "error",
        threads: int | None = None,
    ) -> None:
        super().__init__(
            n_neighbors,
            distance,
            r=r,
            overlap=overlap,
            weights=weights,
            unknown=unknown,
            embeddings=embeddings,
            related=related,
            vocabulary=vocabulary,
            tokenizer=tokenizer,
            on_empty=on_empty,
            threads=threads,
        )
        self.radius = radius

    def radius_neighbors(
        self, X: Any = None, radius: float | None = None, return_distance: bool = True, sort_results: bool = False
    ) -> Any:
        """All fitted documents at a distance of at most ``radius`` from each of X, as scikit-learn gives them.

        Two arrays, (distances, indices), with an array for each document of X: in the order of the fitted documents,
        or by distance with ``sort_results``. With ``X=None`` the fitted documents are asked, and none is its own
        neighbour.
        """
        validation.check_is_fitted(self)
        if sort_results and not return_distance:
            raise InputError("return_distance must be True if sort_results is True.")
        limit = self.radius if radius is None else radius
        limit = real_number(limit, "radius", what="a distance")
        found = self._documents if X is None else self._read(X, reset=False)
        problem = self._searcher(found).problem(found)
        rows, columns, values = _joined(within(problem, limit))
        if X is None:
            rows, columns, values = (part[rows != columns] for part in (rows, columns, values))
        order = np.lexsort((columns, values, rows) if sort_results else (columns, rows))
        cuts = np.cumsum(np.bincount(rows, minlength=problem.shape[0]))[:-1]
        indices = _ragged(np.split(columns[order], cuts))
        return (_ragged(np.split(values[order], cuts)), indices) if return_distance else indices

    def radius_neighbors_graph(
        self, X: Any = None, radius: float | None = None, mode: str = "connectivity", sort_results: bool = False
    ) -> sp.csr_matrix:
        """The documents within the radius as a matrix (queries, fitted documents) of ones or of distances."""
        check_mode(mode)
        distances, indices = self.radius_neighbors(X, radius, sort_results=sort_results)
        lengths = np.array([len(row) for row in indices], dtype=np.int64)
        return self._graph(lengths, np.concatenate([*indices, []]).astype(np.int64), np.concatenate(distances), mode)


def _joined(blocks: Any) -> tuple[Any, Any, Any]:
    found = [*blocks, (np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.float32))]
    rows, columns, values = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return rows, columns, values


def _ragged(rows: list[Any]) -> Any:
    """Arrays of any lengths in one array of objects."""
    found = np.empty(len(rows), dtype=object)
    for number, row in enumerate(rows):
        found[number] = row
    return found


class WordMoverTransformer(TransformerMixin, WordMover):  # type: ignore[misc]
    """The k-NN graph of documents as a sparse matrix, for estimators that take ``metric="precomputed"``.

    Parameters
    ----------
    n_neighbors : number of neighbours of each document in the graph.
    distance : a name of ``wordferry.DISTANCES``, or a sum of several. The default made the fewest errors of those that
        were tried on the training documents of seven collections (``benchmarks/quality.py --choose``).
    mode : ``"distance"``, where each document gets ``n_neighbors + 1`` entries because it is its own first neighbour
        (as scikit-learn's ``KNeighborsTransformer`` has it), or ``"connectivity"``.
    r : number of related words of each word, for the distances that use them.
    overlap : what happens to words that both documents have: ``"keep"``, ``"omr"`` or ``"residual"``; None means the
        distance's own default.
    weights : what a word counts for: ``"counts"``, ``"idf"`` (also ``"tfidf"``), ``"log-idf"``, ``"bm25"``, ``"norm"``,
        ``"norm-idf"``, or weights of your own; document frequencies are those of the fitted documents. None leaves the
        numbers of a matrix, or the counts of texts, as they are. ``"auto"`` is ``"log-idf"`` for counts and None for a
        matrix of other numbers, since whoever made it has weighed the words.
    unknown : words without a vector: ``"match"`` keeps them, ``"drop"`` leaves them out, ``"error"`` refuses them.
    embeddings : word vectors; None means the default ones for texts. A matrix needs the vectors of its columns, unless
        the distance needs none.
    related : related words made before; None builds them.
    vocabulary : the words that related words are sought among: ``"train"``, the words of the fitted documents, so that
        an answer depends on nothing but them and the query; or ``"all"``, those of the fitted documents and of all
        queries asked at once, as in the paper (transductive: an answer may change with the company a query is in).
    tokenizer : from a text to its words; None means the default one.
    on_empty : ``"error"`` refuses a document without a word, ``"keep"`` puts it at distance inf from all others, so
        that it has fewer entries.
    threads : number of threads; None means ``WORDFERRY_THREADS``, else every usable core.

    Examples
    --------
    >>> graph = WordMoverTransformer(1).fit_transform(["the cat sleeps", "stocks fell sharply", "a dog sleeps"])
    >>> graph.shape, graph.nnz
    ((3, 3), 6)
    """

    def __init__(
        self,
        n_neighbors: int = 5,
        distance: str = RECOMMENDED_DISTANCE,
        *,
        mode: str = "distance",
        r: int = 16,
        overlap: str | None = None,
        weights: Any = AUTO_WEIGHTS,
        unknown: str = "match",
        embeddings: Embeddings | None = None,
        related: RelatedWords | None = None,
        vocabulary: str = "train",
        tokenizer: Any = None,
        on_empty: str = "error",
        threads: int | None = None,
    ) -> None:
        super().__init__(
            n_neighbors,
            distance,
            r=r,
            overlap=overlap,
            weights=weights,
            unknown=unknown,
            embeddings=embeddings,
            related=related,
            vocabulary=vocabulary,
            tokenizer=tokenizer,
            on_empty=on_empty,
            threads=threads,
        )
        self.mode = mode

    def transform(self, X: Any) -> sp.csr_matrix:
        """The graph (documents of X, fitted documents)."""
        validation.check_is_fitted(self)
        return self.kneighbors_graph(X, int(self.n_neighbors) + (self.mode == "distance"), self.mode)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the columns, one for each fitted document."""
        validation.check_is_fitted(self)
        return np.array([f"document{i}" for i in range(self.n_samples_fit_)], dtype=object)


class WordMoverClassifier(ClassifierMixin, WordMover):  # type: ignore[misc]
    """A k-NN classifier: the nearest neighbours vote, each by how much nearer it is than the last of them.

    The rule of the paper is ``n_neighbors=19, voting="majority"``, with ``distance="rel-rwmd", weights="counts",
    unknown="drop"``; the defaults make fewer errors.

    Parameters
    ----------
    n_neighbors : number of neighbours that vote; all, where there are fewer documents.
    voting : ``"gap"`` lets a neighbour count by the gap of its distance to that of the last neighbour; with
        ``"majority"`` all count alike, and k is halved while classes tie.
    distance : a name of ``wordferry.DISTANCES``, or a sum of several. The default made the fewest errors of those that
        were tried on the training documents of seven collections (``benchmarks/quality.py --choose``).
    r : number of related words of each word, for the distances that use them. ``"cv"`` chooses
        among 1, 2, 4 ... 128 by cross-validation on the training documents: the smallest whose error is at most 1 %
        above the best.
    overlap : what happens to words that both documents have: ``"keep"``, ``"omr"`` or ``"residual"``; None means the
        distance's own default.
    weights : what a word counts for: ``"counts"``, ``"idf"`` (also ``"tfidf"``), ``"log-idf"``, ``"bm25"``, ``"norm"``,
        ``"norm-idf"``, or weights of your own; document frequencies are those of the fitted documents. None leaves the
        numbers of a matrix, or the counts of texts, as they are. ``"auto"`` is ``"log-idf"`` for counts and None for a
        matrix of other numbers, since whoever made it has weighed the words.
    unknown : words without a vector: ``"match"`` keeps them, ``"drop"`` leaves them out, ``"error"`` refuses them.
    embeddings : word vectors; None means the default ones for texts. A matrix needs the vectors of its columns, unless
        the distance needs none.
    related : related words made before; None builds them.
    vocabulary : the words that related words are sought among: ``"train"``, the words of the fitted documents, so that
        an answer depends on nothing but them and the query; or ``"all"``, those of the fitted documents and of all
        queries asked at once, as in the paper (transductive: an answer may change with the company a query is in).
    tokenizer : from a text to its words; None means the default one.
    on_empty : ``"error"`` refuses a document without a word, ``"keep"`` puts it at distance inf from all others. It
        is near to other such documents only; where there are none, it gets the most frequent class.
    threads : number of threads; None means ``WORDFERRY_THREADS``, else every usable core.
    folds : number of folds of ``r="cv"``.
    stratified : whether each fold gets its share of every class.
    random_state : seed of the shuffling before documents are dealt into folds.

    Fitted: ``classes_``, ``r_``, ``related_``, and with ``r="cv"`` ``cv_errors_`` (percent, by r).

    Examples
    --------
    >>> texts = ["the cat sleeps", "a dog barks", "stocks fell sharply", "the bank raised rates"]
    >>> model = WordMoverClassifier(1).fit(texts, ["pets", "pets", "money", "money"])
    >>> model.predict(["kittens and puppies", "shares and bonds"]).tolist()
    ['pets', 'money']
    """

    def __init__(
        self,
        n_neighbors: int = RECOMMENDED_K,
        distance: str = RECOMMENDED_DISTANCE,
        *,
        voting: str = "gap",
        r: int | str = 16,
        overlap: str | None = None,
        weights: Any = AUTO_WEIGHTS,
        unknown: str = "match",
        embeddings: Embeddings | None = None,
        related: RelatedWords | None = None,
        vocabulary: str = "train",
        tokenizer: Any = None,
        on_empty: str = "error",
        threads: int | None = None,
        folds: int = 5,
        stratified: bool = False,
        random_state: int = 0,
    ) -> None:
        super().__init__(
            n_neighbors,
            distance,
            r=r,
            overlap=overlap,
            weights=weights,
            unknown=unknown,
            embeddings=embeddings,
            related=related,
            vocabulary=vocabulary,
            tokenizer=tokenizer,
            on_empty=on_empty,
            threads=threads,
        )
        self.voting = voting
        self.folds = folds
        self.stratified = stratified
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> WordMoverClassifier:
        """Remember the training documents and their classes, and choose r if asked to."""
        if y is None:
            raise InputError("requires y to be passed, but the target y is None: a classifier needs classes.")
        labels = validation.column_or_1d(y, warn=True)
        multiclass.check_classification_targets(labels)
        self._fit_documents(X)
        validation.check_consistent_length(np.arange(self.n_samples_fit_), labels)
        self.classes_, self._classes = np.unique(labels, return_inverse=True)
        self._shares = np.bincount(self._classes, minlength=len(self.classes_)) / len(labels)
        if self._chooses_r():
            self._choose_r()
        else:
            self._fit_related(self._r())
        return self

    def predict(self, X: Any) -> Any:
        """The class of each document."""
        validation.check_is_fitted(self)
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X: Any) -> Float64Array:
        """The share of each class in the votes that decided."""
        validation.check_is_fitted(self)
        votes = self._votes(*self._voters(self._read(X, reset=False)))
        return np.where((votes.winner < 0)[:, None], self._shares, votes.shares)

    def explain(self, text: Any) -> VoteExplanation:
        """Why a document gets its class: the neighbours that voted, how much each counted, and the words they share.

        Parameters
        ----------
        text : a text, a list of tokens, or a matrix of one row: what :meth:`predict` takes in a list.

        Returns
        -------
        VoteExplanation
            ``label``, ``shares`` by class, and ``voters``, nearest first; it prints as a table.

        Examples
        --------
        >>> texts = ["the cat sleeps", "a dog barks", "stocks fell sharply", "the bank raised rates"]
        >>> model = WordMoverClassifier(2).fit(texts, ["pets", "pets", "money", "money"])
        >>> told = model.explain("my cat barks")
        >>> str(told.label), list(told.voters[0].words)
        ('pets', ['barks'])
        """
        validation.check_is_fitted(self)
        found = self._read(one(text), reset=False)
        distances, indices = self._voters(found)
        votes = self._votes(distances, indices)
        there = indices[0] >= 0
        near, far = indices[0][there], distances[0][there]
        counted = gap_weights(distances, there[None])[0][there] if self.voting == "gap" else np.zeros(len(near))
        if not counted.any():  # all alike, as many as it took to break ties
            counted = (np.arange(len(near)) < votes.used[0]).astype(np.float64)
        words = shared_words(self._searcher(found).problem(found), near.tolist())
        rows = zip(near.tolist(), far.tolist(), (counted / max(counted.sum(), 1e-300)).tolist(), words, strict=True)
        voters = tuple(Voter(i, self.classes_[self._classes[i]], d, share, common) for i, d, share, common in rows)
        shares = np.where(votes.winner[0] < 0, self._shares, votes.shares[0])
        named = dict(zip(self.classes_.tolist(), shares.tolist(), strict=True))
        return VoteExplanation(self.classes_[shares.argmax()], named, voters)

    def _voters(self, found: Any) -> tuple[Any, Any]:
        """Distances and numbers of the neighbours that vote: all, where there are fewer than asked for."""
        distances, indices = self._nearest(found, min(check_k(self.n_neighbors), self.n_samples_fit_), False)
        return distances, indices

    def _votes(self, distances: Any, indices: Any) -> Votes:
        classes = np.where(indices >= 0, self._classes[indices], -1)
        return decide(classes, distances, len(self.classes_), int(self.n_neighbors), self.voting)

    def _chooses_r(self) -> bool:
        if isinstance(self.r, str) and self.r != "cv":
            raise InputError(f"r must be a whole number of at least 1, or 'cv'; got {self.r!r}.")
        return self.r == "cv" and find_distance(self.distance).needs_related

    def _choose_r(self) -> None:
        """One graph with the largest r; the others are parts of it, and folds share distances."""
        k, seed = int(self.n_neighbors), self.random_state
        plan = Validation(k, folds=self.folds, seed=seed, stratified=self.stratified, voting=self.voting)
        filled = np.flatnonzero(self._lengths())
        largest = self.related or self._build_related(self._words(self._documents), max(plan.values))
        embeddings = self._vectors()
        assert embeddings is not None
        weights = "counts" if self.weighting_ is None else self.weighting_
        choice = cross_validate_r(
            self._documents.take(filled) if self.reads_texts_ else self._documents[filled],
            self._classes[filled],  # type: ignore[arg-type]
            Measure(self.distance, self.overlap, weights=weights, embeddings=embeddings, related=largest),
            validation=plan,
            threads=self.threads,
        )
        self.cv_errors_ = choice.errors
        self.r_ = choice.r
        if self.related is not None or self.vocabulary == "train":
            self.related_ = largest.restrict(choice.r) if choice.r != largest.r else largest
