"""What the papers printed, to set beside our own results. Every number names its table."""

from __future__ import annotations

ERROR_TABLE = "Werner & Laber (2020), Table 2: test error in %"
# By data set, then by distance. rel-rwmd is with r chosen by cross-validation.
ERRORS: dict[str, dict[str, float]] = {
    "20news": {"cosine": 30.45, "wcd": 36.2, "wmd": 24.09, "rwmd": 24.79, "rel-rwmd": 25.22},
    "amazon": {"cosine": 12.90, "wcd": 9.04, "wmd": 7.21, "rwmd": 6.87, "rel-rwmd": 6.98},
    "bbcsport": {"cosine": 4.82, "wcd": 11.9, "wmd": 5.36, "rwmd": 5.09, "rel-rwmd": 4.82},
    "classic": {"cosine": 6.34, "wcd": 8.93, "wmd": 3.04, "rwmd": 2.91, "rel-rwmd": 3.15},
    "ohsumed": {"cosine": 45.74, "wcd": 47.00, "wmd": 42.85, "rwmd": 43.49, "rel-rwmd": 41.26},
    "recipe": {"cosine": 45.71, "wcd": 49.20, "wmd": 46.56, "rwmd": 43.63, "rel-rwmd": 43.20},
    "reuters": {"cosine": 8.95, "wcd": 4.98, "wmd": 3.84, "rwmd": 3.97, "rel-rwmd": 4.39},
    "twitter": {"cosine": 31.97, "wcd": 29.4, "wmd": 29.14, "rwmd": 28.95, "rel-rwmd": 28.95},
}

MINUTES_TABLE = "Werner & Laber (2020), Table 3: minutes on one core of an Intel i7-6700"
MINUTES: dict[str, dict[str, float]] = {
    "20news": {"wcd": 1.87, "wmd": 6244.0, "rwmd": 68.0, "rel-rwmd": 13.4},
    "amazon": {"wcd": 0.30, "wmd": 351.0, "rwmd": 22.1, "rel-rwmd": 4.47},
    "bbcsport": {"wcd": 0.01, "wmd": 21.0, "rwmd": 1.38, "rel-rwmd": 0.27},
    "classic": {"wcd": 0.24, "wmd": 213.0, "rwmd": 10.8, "rel-rwmd": 2.26},
    "ohsumed": {"wcd": 0.47, "wmd": 1002.0, "rwmd": 25.1, "rel-rwmd": 5.20},
    "recipe": {"wcd": 0.09, "wmd": 106.0, "rwmd": 2.13, "rel-rwmd": 0.55},
    "reuters": {"wcd": 0.27, "wmd": 181.0, "rwmd": 10.9, "rel-rwmd": 1.67},
    "twitter": {"wcd": 0.04, "wmd": 3.32, "rwmd": 0.43, "rel-rwmd": 0.18},
}

ERRORS_BY_R_TABLE = "Werner & Laber (2020), Table 4: test error in % of rel-rwmd by r"
ERRORS_BY_R: dict[str, dict[str, float]] = {
    "20news": {"cv": 25.22, "1": 25.27, "2": 25.22, "16": 24.90, "128": 25.22},
    "amazon": {"cv": 6.98, "1": 9.66, "2": 9.21, "16": 7.94, "128": 7.02},
    "bbcsport": {"cv": 4.82, "1": 4.00, "2": 3.64, "16": 4.91, "128": 5.55},
    "classic": {"cv": 3.15, "1": 3.62, "2": 3.56, "16": 3.20, "128": 3.18},
    "ohsumed": {"cv": 41.26, "1": 42.44, "2": 42.83, "16": 41.26, "128": 41.55},
    "recipe": {"cv": 43.20, "1": 43.57, "2": 43.20, "16": 43.20, "128": 43.52},
    "reuters": {"cv": 4.39, "1": 4.93, "2": 4.52, "16": 4.02, "128": 4.20},
    "twitter": {"cv": 28.95, "1": 31.52, "2": 30.60, "16": 28.91, "128": 29.16},
}

TRIPLETS_TABLE = "Werner & Laber (2020), Table 6: test error in % on triplets"
TRIPLETS: dict[str, dict[str, float]] = {
    "arxiv": {"cosine": 28.83, "wcd": 29.99, "wmd": 22.77, "rwmd": 23.43, "rel-rwmd": 23.16},
    "wikipedia": {"cosine": 27.83, "wcd": 29.23, "wmd": 26.74, "rwmd": 27.01, "rel-rwmd": 26.90},
}
TRIPLET_COUNTS = {"arxiv": 19998, "wikipedia": 19336}

FAIR_TABLE = "Sato, Yamada & Kashima (2022), Table 3: test error in % without duplicates"
# k from validation data; the weights' names are ours: wmd+tfidf is their WMD-TF-IDF.
FAIR_ERRORS: dict[str, dict[str, float]] = {
    "20news": {"bow-l1": 29.2, "tfidf-l1": 25.9, "wmd": 26.9, "wmd+tfidf": 24.2},
    "amazon": {"bow-l1": 10.6, "tfidf-l1": 8.0, "wmd": 7.3, "wmd+tfidf": 6.6},
    "bbcsport": {"bow-l1": 3.7, "tfidf-l1": 2.3, "wmd": 5.5, "wmd+tfidf": 4.1},
    "classic": {"bow-l1": 4.2, "tfidf-l1": 3.5, "wmd": 3.4, "wmd+tfidf": 2.8},
    "ohsumed": {"bow-l1": 39.7, "tfidf-l1": 33.4, "wmd": 40.6, "wmd+tfidf": 35.7},
    "recipe": {"bow-l1": 42.9, "tfidf-l1": 40.0, "wmd": 42.9, "wmd+tfidf": 40.2},
    "reuters": {"bow-l1": 5.5, "tfidf-l1": 5.9, "wmd": 3.8, "wmd+tfidf": 4.3},
    "twitter": {"bow-l1": 30.6, "tfidf-l1": 30.2, "wmd": 30.6, "wmd+tfidf": 28.8},
}

LEARNED_ABOUT = (
    "Test error in %, first division. Distances by name: k-NN by the rule of the paper, counts. Learned: k-NN with "
    "vectors and weights that were learned from the training documents. wme + svm: Word Mover's Embedding by rwmd with "
    "4,096 documents drawn from the corpus, and a linear SVM; learned wme + svm: half of the features by learned "
    "vectors. All see the words that have a vector. tf-idf with a linear classifier is the simple thing to beat, and "
    "often the best. Published: Kusner et al. (2015) and Sato et al. (2022) for wmd; the supervised "
    "distances of Huang et al. (2016) and WME of Wu et al. (2018) are recalled."
)
# By data set, then by source, then by method. Those marked "recalled" were written down from memory.
LEARNED_ERRORS: dict[str, dict[str, dict[str, float]]] = {
    "20news": {
        "paper: Kusner 2015": {"wmd": 26.8},
        "paper: Sato 2022": {"wmd": 26.8},
        "recalled: Huang 2016": {"learned wcd": 33.6, "learned wmd": 26.8},
        "recalled: Wu 2018": {"wme + svm": 21.7},
    },
    "amazon": {
        "paper: Kusner 2015": {"wmd": 7.4},
        "paper: Sato 2022": {"wmd": 7.4},
        "recalled: Huang 2016": {"learned wcd": 7.6, "learned wmd": 5.8},
        "recalled: Wu 2018": {"wme + svm": 5.7},
    },
    "bbcsport": {
        "paper: Kusner 2015": {"wmd": 4.6},
        "paper: Sato 2022": {"wmd": 5.1},
        "recalled: Huang 2016": {"learned wcd": 4.6, "learned wmd": 2.1},
        "recalled: Wu 2018": {"wme + svm": 1.8},
    },
    "classic": {
        "paper: Kusner 2015": {"wmd": 2.8},
        "paper: Sato 2022": {"wmd": 2.9},
        "recalled: Huang 2016": {"learned wcd": 5.8, "learned wmd": 3.2},
        "recalled: Wu 2018": {"wme + svm": 2.9},
    },
    "ohsumed": {
        "paper: Kusner 2015": {"wmd": 44.5},
        "paper: Sato 2022": {"wmd": 44.5},
        "recalled: Huang 2016": {"learned wcd": 43.3, "learned wmd": 34.3},
        "recalled: Wu 2018": {"wme + svm": 35.5},
    },
    "recipe": {
        "paper: Kusner 2015": {"wmd": 42.6},
        "paper: Sato 2022": {"wmd": 42.9},
        "recalled: Huang 2016": {"learned wcd": 51.3, "learned wmd": 39.2},
        "recalled: Wu 2018": {"wme + svm": 38.2},
    },
    "reuters": {
        "paper: Kusner 2015": {"wmd": 3.5},
        "paper: Sato 2022": {"wmd": 4.0},
        "recalled: Huang 2016": {"learned wcd": 3.9, "learned wmd": 3.2},
        "recalled: Wu 2018": {"wme + svm": 2.8},
    },
    "twitter": {
        "paper: Kusner 2015": {"wmd": 28.7},
        "paper: Sato 2022": {"wmd": 29.6},
        "recalled: Huang 2016": {"learned wcd": 30.4, "learned wmd": 27.5},
        "recalled: Wu 2018": {"wme + svm": 25.5},
    },
}
