// New words among known ones: the lists that change, and the rows of the graph that change with them. What stays as it
// was is only read, so that joining a few words to many costs little more than comparing them.
#pragma once

#include <cstdint>
#include <vector>

#include "related/related.hpp"

namespace wordferry {

// An array whose end stands elsewhere: what came later.
template <class T>
struct InTwo {
  const T* first;
  std::int64_t size;
  const T* later;
  const T* from(std::int64_t place) const { return place < size ? first + place : later + (place - size); }
};

// The own lists of words, r nearest first.
struct OwnLists {
  InTwo<std::int32_t> own;
  InTwo<float> distances;
  const std::int32_t* places;  // the row of each word
  std::int64_t words, r;

  const std::int32_t* list(std::int64_t word) const { return own.from(places[word] * r); }
  const float* distances_of(std::int64_t word) const { return distances.from(places[word] * r); }
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

// The lists after the words from lists.words on have come, of `words` in all; norms are made here. Their distances are
// true ones, ties go to the smaller id.
ChangedLists join_lists(Points points, std::int64_t words, const OwnLists& lists, int threads, Watch& watch);

// The graph: the edges of word i are from starts[i] to ends[i].
struct StoredLinks {
  InTwo<std::int32_t> indices;
  InTwo<float> data;
  const std::int32_t* starts;
  const std::int32_t* ends;

  const std::int32_t* row(std::int64_t word) const { return indices.from(starts[word]); }
  const float* distances_of(std::int64_t word) const { return data.from(starts[word]); }
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
