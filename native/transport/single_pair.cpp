// wmd of two documents given as counts of words, without anything that is shared between many.
#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "support/at.hpp"
#include "support/bind.hpp"
#include "support/buffer.hpp"
#include "support/view.hpp"
#include "support/word_distances.hpp"
#include "transport/document_pairs.hpp"

namespace wordferry {

namespace {

struct CountedWord {
  std::int64_t word;
  Mass count;  // positive
};

// One document in compact ids, with what points from those ids to its words.
struct CompactDocument {
  std::vector<std::int64_t> indptr, counts;
  std::vector<std::int32_t> ids, place_of;
  std::vector<float> vectors;

  Bags bags() const { return {indptr.data(), ids.data(), counts.data(), 1}; }
  VectorRows rows(std::int64_t dimensions) const { return {vectors.data(), std::ssize(ids), dimensions}; }
  std::vector<float> squares(std::int64_t dimensions, Watch& watch) const {
    std::vector<float> found(ids.size());
    squared_lengths(rows(dimensions), found.data(), watch);
    return found;
  }
};

CompactDocument compacted(const std::vector<CountedWord>& words, const std::vector<std::int64_t>& all,
                          const float* vectors, std::size_t dimensions) {
  CompactDocument made;
  made.indptr = {0, static_cast<std::int64_t>(words.size())};
  made.place_of.assign(all.size(), -1);
  made.vectors.reserve(words.size() * dimensions);
  std::size_t id = 0;
  for (const CountedWord& entry : words) {
    while (all[id] != entry.word) ++id;
    made.place_of[id] = static_cast<std::int32_t>(made.ids.size());
    made.ids.push_back(static_cast<std::int32_t>(id));
    made.counts.push_back(entry.count);
    const float* vector = vectors + at(entry.word) * dimensions;
    made.vectors.insert(made.vectors.end(), vector, vector + dimensions);
  }
  return made;
}

// `vectors` has a row of `dimensions` for each word; the words of x and of y rise. Throws Unsolved where a distance of
// words is not finite.
double solve_pair(const float* vectors, std::int64_t dimensions, const std::vector<CountedWord>& x,
                  const std::vector<CountedWord>& y, Watch& watch) {
  std::vector<std::int64_t> all;
  for (const auto* words : {&x, &y}) {
    for (const CountedWord& entry : *words) all.push_back(entry.word);
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  const CompactDocument first = compacted(x, all, vectors, at(dimensions));
  const CompactDocument second = compacted(y, all, vectors, at(dimensions));
  const auto columns = static_cast<std::ptrdiff_t>(y.size());
  Buffer<float> costs;
  costs.reserve(x.size() * y.size());
  word_distances(first.rows(dimensions), first.squares(dimensions, watch).data(), second.rows(dimensions),
                 second.squares(dimensions, watch).data(), costs.data(), columns, 1, watch);
  const auto pairs = wmd_pairs(first.bags(), second.bags(),
                               {costs.data(), first.place_of.data(), second.place_of.data(), columns}, {}, watch);
  pairs->begin(0, 1);
  return pairs->solve(0);
}

std::vector<CountedWord> counted(const In<std::int64_t>& words, const In<std::int64_t>& counts, std::int64_t known,
                                 std::int64_t& sum) {
  require(words.length() == counts.length(), "as many words as counts, please");
  require_range(words, 0, known, "a word out of range");
  std::vector<CountedWord> made(at(words.length()));
  for (std::size_t k = 0; k < made.size(); ++k) {
    made[k] = {words.data()[k], counts.data()[k]};
    require(made[k].count >= 1 && made[k].count <= largest_mass - sum, "counts must be positive and fit in 2^61");
    sum += made[k].count;
  }
  std::sort(made.begin(), made.end(), [](const CountedWord& a, const CountedWord& b) { return a.word < b.word; });
  for (std::size_t k = 1; k < made.size(); ++k) require(made[k].word != made[k - 1].word, "a word comes twice");
  return made;
}

// The distance, or NaN where a distance of words is not finite.
double transport_pair(const In<float, 2>& vectors, const In<std::int64_t>& x_words, const In<std::int64_t>& x_counts,
                      const In<std::int64_t>& y_words, const In<std::int64_t>& y_counts) {
  double value = std::numeric_limits<double>::quiet_NaN();
  run_native([&](Watch& watch) {
    std::int64_t x_sum = 0, y_sum = 0;
    const auto x = counted(x_words, x_counts, vectors.length(), x_sum);
    const auto y = counted(y_words, y_counts, vectors.length(), y_sum);
    require_multiplies(x_sum, x_sum, y_sum, y_sum);
    try {
      value = solve_pair(vectors.data(), vectors.length(1), x, y, watch);
    } catch (const Unsolved&) {
    }
  });
  return value;
}

}  // namespace

void bind_transport_pair(nb::module_& m) {
  m.def("transport_pair", &transport_pair, "vectors"_in, "x_words"_in, "x_counts"_in, "y_words"_in, "y_counts"_in,
        "wmd of two documents from their words' counts; NaN where a distance of words is not finite.");
}

}  // namespace wordferry
