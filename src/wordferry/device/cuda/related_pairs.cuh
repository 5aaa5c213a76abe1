// rel-rwmd of chosen pairs, with the order of sums and the rounding of the kernels of the CPU: a block is a pair. A bit
// for each word says whether the other document has it.
#pragma once

#include "lanes.cuh"

namespace wordferry {

WF_DEVICE void mark_words(unsigned* bits, const Documents& documents, Index document, int warp) {
  WF_LANES(lane) {
    const Index begin = documents.indptr[document] + 32 * warp + lane;
    for (Index k = begin; k < documents.indptr[document + 1]; k += 32 * warp_total()) {
      const unsigned word = static_cast<unsigned>(documents.words[k]);
      atomic_set_bits(bits + word / 32, 1u << (word % 32));
    }
  }
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

// What 32 words of a document cost onto another, whose words are marked: a lane is a word.
WF_DEVICE void enter_moved(const Documents& from, Index first, Index end, const Documents& onto, Index other,
                           const unsigned* marked, const Graph& graph, float c_max, bool keep, float* moved) {
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
  WF_LANES(lane) moved[lane] = unfused(mass[lane], cost[lane], 0.0f);
}

}  // namespace wordferry

// rows of x and columns, which are rows of y, make the pairs. side: 0 both, 1 left, 2 right.
WF_KERNEL(related_of_pairs)
(const long long* rows, const long long* columns, const wordferry::Index* x_indptr, const int* x_words,
 const float* x_masses, const wordferry::Index* y_indptr, const int* y_words, const float* y_masses,
 const wordferry::Index* graph_indptr, const int* graph_words, const float* graph_costs, wordferry::Index words,
 float c_max, int keep, int side, float* values) {
  using namespace wordferry;
  const Documents sides[2] = {{x_indptr, x_words, x_masses}, {y_indptr, y_words, y_masses}};
  const Index pair[2] = {rows[block_number()], columns[block_number()]}, room = (words + 31) / 32;
  const Graph graph{graph_indptr, graph_words, graph_costs};
  unsigned* bits = reinterpret_cast<unsigned*>(shared_memory());
  float* moved = reinterpret_cast<float*>(bits + 2 * room);
  float* sums = moved + 32 * warp_total();  // of each document two by turns
  WF_WARPS(warp) {
    WF_LANES(lane) {
      for (Index k = 32 * warp + lane; k < 2 * room; k += 32 * warp_total()) bits[k] = 0;
      if (warp == 0 && lane < 4) sums[lane] = 0;
    }
  }
  WF_BARRIER();
  WF_WARPS(warp) {
    for (int k = 0; k < 2; ++k) mark_words(bits + k * room, sides[k], pair[k], warp);
  }
  WF_BARRIER();
  for (int k = side == 2 ? 1 : 0; k < (side == 1 ? 1 : 2); ++k) {
    const Documents from = sides[k], onto = sides[1 - k];
    const Index end = from.indptr[pair[k] + 1];
    for (Index first = from.indptr[pair[k]]; first < end; first += 32 * warp_total()) {
      WF_WARPS(warp) {
        enter_moved(from, first + 32 * warp, end, onto, pair[1 - k], bits + (1 - k) * room, graph, c_max, keep != 0,
                    moved + 32 * warp);
      }
      WF_BARRIER();
      WF_WARPS(warp) {
        WF_LANES(lane) {
          if (warp == 0 && lane < 2) {
            float sum = sums[2 * k + lane];
            for (int p = lane; p < 32 * warp_total() && first + p < end; p += 2) sum += moved[p];
            sums[2 * k + lane] = sum;
          }
        }
      }
      WF_BARRIER();
    }
  }
  WF_WARPS(warp) {
    WF_LANES(lane) {
      if (warp == 0 && lane == 0) values[block_number()] = greater(sums[0] + sums[1], sums[2] + sums[3]);
    }
  }
}
