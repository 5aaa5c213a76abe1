// New words among known ones: the lists that change, and the rows of the graph that change with them. What stays as it
// was is only read, so that joining a few words to many costs little more than comparing them.
#pragma once

#include <cstdint>
#include <vector>

#include "related/related.hpp"

namespace wordferry {

// Vectors of more words than are in play: word i has row rows[i].
struct GraphVectors {
  const float* values;
  std::int64_t dimensions;
  const std::int64_t* rows;
  std::int64_t words;
  const float* of(std::int64_t word) const { return values + rows[word] * dimensions; }
};

// The own lists of words, r nearest first. Those of words whose lists changed later stand in a second place.
struct OwnLists {
  const std::int32_t* own;
  const float* distances;
  std::int64_t rows;
  const std::int32_t* later_own;
  const float* later_distances;
  const std::int32_t* places;  // of each word: below `rows` in the first place, from there on in the second
  std::int64_t words, r;

  const std::int32_t* list(std::int64_t word) const {
    const std::int64_t row = places[word];
    return row < rows ? own + row * r : later_own + (row - rows) * r;
  }
  const float* distances_of(std::int64_t word) const {
    const std::int64_t row = places[word];
    return row < rows ? distances + row * r : later_distances + (row - rows) * r;
  }
};

// The lists of the words that change: old ones, rising, then all new ones.
struct ChangedLists {
  std::vector<std::int32_t> words;
  std::vector<std::int32_t> own;  // r for each
  std::vector<float> distances;   // the same
  std::vector<double> rank_sums;  // by how much the sum of the distances at each place of all lists grows
  double total = 0;               // the sum of the distances of all ordered pairs that have a new word
  double largest = 0;  // the largest squared length of a vector; where it leaves the range of float, the rest is void
};

// The lists after the words from lists.words on have come. Their distances are true ones, ties go to the smaller id.
ChangedLists join_lists(const GraphVectors& vectors, const OwnLists& lists, int threads, Watch& watch);

// The graph: the edges of word i are from starts[i] to ends[i], which may lie in a second place as well.
struct StoredLinks {
  const std::int32_t* indices;
  const float* data;
  std::int64_t entries;
  const std::int32_t* later_indices;
  const float* later_data;
  const std::int32_t* starts;
  const std::int32_t* ends;

  const std::int32_t* row(std::int64_t word) const {
    return starts[word] < entries ? indices + starts[word] : later_indices + (starts[word] - entries);
  }
  const float* distances_of(std::int64_t word) const {
    return starts[word] < entries ? data + starts[word] : later_data + (starts[word] - entries);
  }
  std::int64_t degree(std::int64_t word) const { return ends[word] - starts[word]; }
};

// An edge that comes or goes, seen from one of its ends.
struct LinkChange {
  std::int32_t word, other;
  float distance;
  bool gone;
};

// The edges that come and go with the lists, by (word, other), each once.
std::vector<LinkChange> changed_links(const ChangedLists& changed, const OwnLists& lists);

// How many edges the rows of the words in `changes` have at most in the end.
std::int64_t changed_entries(const std::vector<LinkChange>& changes, const StoredLinks& links, std::int64_t old);

// Writes these rows one after another, and where they are: from `first` on.
void write_links(const std::vector<LinkChange>& changes, const StoredLinks& links, std::int64_t old, std::int64_t first,
                 std::int32_t* indices, float* data, std::int32_t* starts, std::int32_t* ends);

}  // namespace wordferry
