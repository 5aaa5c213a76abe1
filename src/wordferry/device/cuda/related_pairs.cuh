// rel-rwmd of chosen pairs, with the order of sums and the rounding of the kernels of the CPU: a warp is a pair. A bit for
// each word says whether the other document has it.
#pragma once

#include "lanes.cuh"

namespace wordferry {

WF_DEVICE void mark_words(unsigned* bits, const Documents& documents, Index document) {
  const Index begin = documents.indptr[document], end = documents.indptr[document + 1];
  WF_LANES(lane) {
    for (Index k = begin + lane; k < end; k += 32) {
      const unsigned word = static_cast<unsigned>(documents.words[k]);
      atomic_set_bits(bits + word / 32, 1u << (word % 32));
    }
  }
  WF_FENCE();
}

WF_DEVICE bool has_word(const unsigned* bits, int word) {
  return (bits[static_cast<unsigned>(word) / 32] >> (static_cast<unsigned>(word) % 32)) & 1u;
}

// The mass of a word that a document is known to have.
WF_DEVICE float mass_in(const Documents& documents, Index document, int word) {
  const Index begin = documents.indptr[document], end = documents.indptr[document + 1];
  for (Index k = begin; k < end; k += 32) {
    Lanes<bool> same;
    WF_LANES(lane) same[lane] = k + lane < end && documents.words[k + lane] == word;
    const unsigned found = warp_ballot(same);
    if (found != 0) return documents.masses[k + lowest_bit(found)];
  }
  return 0.0f;
}

// One side: the words of a document onto those of another, whose words are marked. A lane is a word.
WF_DEVICE float moved(const Documents& from, Index document, const Documents& onto, Index other, const unsigned* marked,
                      const Graph& graph, float c_max, bool keep) {
  float even = 0, odd = 0;
  const Index end = from.indptr[document + 1];
  for (Index first = from.indptr[document]; first < end; first += 32) {
    Lanes<int> word;
    Lanes<float> mass, cost;
    Lanes<bool> shared;
    WF_LANES(lane) {
      const bool there = first + lane < end;
      word[lane] = there ? from.words[first + lane] : 0;
      mass[lane] = there ? from.masses[first + lane] : 0.0f;
      shared[lane] = there && has_word(marked, word[lane]);
      cost[lane] = keep && shared[lane] ? 0.0f : c_max;
      const Index last = there ? graph.indptr[word[lane] + 1] : 0;
      for (Index e = there ? graph.indptr[word[lane]] : 0; e < last; ++e) {
        if (graph.costs[e] < cost[lane] && has_word(marked, graph.words[e])) cost[lane] = graph.costs[e];
      }
    }
    for (unsigned left = keep ? 0 : warp_ballot(shared); left != 0; left &= left - 1) {
      const int owner = lowest_bit(left);
      const float own = mass_in(onto, other, warp_from(word, owner));
      WF_LANES(lane) {
        if (lane == owner) mass[lane] = greater(mass[lane] - own, 0.0f);
      }
    }
    WF_UNROLL
    for (int k = 0; k < 32; k += 2) {  // behind the last word nothing is added
      even = unfused(warp_from(mass, k), warp_from(cost, k), even);
      odd = unfused(warp_from(mass, k + 1), warp_from(cost, k + 1), odd);
    }
  }
  return even + odd;
}

}  // namespace wordferry

// rows of x and columns, which are rows of y, make the pairs. side: 0 both, 1 left, 2 right.
WF_KERNEL(related_of_pairs)
(const long long* rows, const long long* columns, const wordferry::Index* x_indptr, const int* x_words,
 const float* x_masses, const wordferry::Index* y_indptr, const int* y_words, const float* y_masses,
 const wordferry::Index* graph_indptr, const int* graph_words, const float* graph_costs, wordferry::Index words,
 float c_max, int keep, int side, float* values) {
  using namespace wordferry;
  const Documents x{x_indptr, x_words, x_masses}, y{y_indptr, y_words, y_masses};
  const Graph graph{graph_indptr, graph_words, graph_costs};
  const Index room = (words + 31) / 32, row = rows[block_number()], other = columns[block_number()];
  unsigned* x_bits = reinterpret_cast<unsigned*>(shared_memory());
  unsigned* y_bits = x_bits + room;
  WF_WARPS(warp) {
    static_cast<void>(warp);
    WF_LANES(lane) {
      for (Index k = lane; k < 2 * room; k += 32) x_bits[k] = 0;
    }
    WF_FENCE();
    mark_words(x_bits, x, row);
    mark_words(y_bits, y, other);
    const float left = side == 2 ? 0.0f : moved(x, row, y, other, y_bits, graph, c_max, keep != 0);
    const float right = side == 1 ? 0.0f : moved(y, other, x, row, x_bits, graph, c_max, keep != 0);
    WF_LANES(lane) {
      if (lane == 0) values[block_number()] = greater(left, right);
    }
  }
}
