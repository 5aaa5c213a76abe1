#include <algorithm>

#include "support/at.hpp"
#include "support/buffer.hpp"
#include "support/word_distances.hpp"
#include "transport/document_pairs.hpp"

namespace wordferry {

namespace {

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

}  // namespace

double single_pair(const float* vectors, int dimensions, std::vector<CountedWord> x, std::vector<CountedWord> y,
                   Watch& watch) {
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
  const auto pairs =
      wmd_pairs(first.bags(), second.bags(), {costs.data(), first.place_of.data(), second.place_of.data(), columns},
                false, nullptr, watch);
  pairs->begin(0, 1);
  return pairs->solve(0);
}

}  // namespace wordferry
