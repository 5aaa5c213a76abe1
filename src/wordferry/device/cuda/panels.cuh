// Relaxed distances of many documents to panels of documents.
//
// A panel's table has a row for each word that may move, and in it an entry for each document of the panel: the least
// cost of the word onto the document's other words, and the document's own mass of the word. The cost is a fixed-point
// share of `scale` in the upper 23 bits, the mass a code in the lower 9 (0: none): 4 bytes instead of 8, because the
// tables are read out of the cache as often as there are words times documents. Where a document has more different
// masses than there are codes, and for cosine, entries are wide: two float32.
#pragma once

#include "lanes.cuh"

namespace wordferry {

constexpr int code_bits = 9;
constexpr unsigned code_mask = (1u << code_bits) - 1;
constexpr unsigned most_steps = (1u << 23) - 1;
constexpr int panel_rows = 64;   // documents of a panel of packed entries; half as many of wide ones
constexpr int passed_rows = 32;  // documents that a block of panel_sums passes over
constexpr int tile_stride = panel_rows + 1;
constexpr int nearest_columns = 128;  // moving words of enter_nearest, four for each lane
constexpr int nearest_stride = nearest_columns + 4;

WF_DEVICE unsigned packed_cost(float cost, float steps) {
  const float share = cost * steps + 0.5f;
  const unsigned whole = share >= static_cast<float>(most_steps) ? most_steps : static_cast<unsigned>(share);
  return whole << code_bits;
}

struct Passed {
  Documents documents;
  Index first, rows;
};

// sum over the words of one document of max(mass - own mass, 0) * cost, for every document of a packed panel.
WF_DEVICE void packed_sums(const unsigned* table, const float* mass_of_code, const Documents& moving, Index document,
                           LaneArray<float, 2>& sums) {
  const Index begin = moving.indptr[document], end = moving.indptr[document + 1];
  WF_LANES(lane) {
    float sum[2][2] = {};  // of each document two by turns, as the CPU has them: short sums lose less
    WF_UNROLL_SOME
    for (Index k = begin; k < end; ++k) {
      const unsigned* entries = table + static_cast<Index>(moving.words[k]) * panel_rows + lane;
      const float mass = moving.masses[k];
      WF_UNROLL
      for (int s = 0; s < 2; ++s) {
        const unsigned entry = entries[32 * s];
        const float cost = float_of((entry >> code_bits) | 0x3f800000u) - 1.0f;
        const unsigned own = (entry & code_mask) * panel_rows + static_cast<unsigned>(32 * s + lane);
        sum[s][0] = fused(greater(mass - mass_of_code[own], 0.0f), cost, sum[s][0]);
      }
      const float first = sum[0][0], second = sum[1][0];
      sum[0][0] = sum[0][1];
      sum[1][0] = sum[1][1];
      sum[0][1] = first;
      sum[1][1] = second;
    }
    sums(lane, 0) = sum[0][0] + sum[0][1];
    sums(lane, 1) = sum[1][0] + sum[1][1];
  }
}

// The same of a wide panel, with the order and the rounding of the kernels of the CPU: in two sums by turns, or in one.
WF_DEVICE void wide_sums(const float* table, const Documents& moving, Index document, bool one_sum,
                         LaneArray<float, 2>& sums) {
  const Index begin = moving.indptr[document], end = moving.indptr[document + 1];
  WF_LANES(lane) {
    float even = 0, odd = 0;
    for (Index k = begin; k < end; k += 2) {
      const float* entry = table + (static_cast<Index>(moving.words[k]) * 32 + lane) * 2;
      even = unfused(greater(moving.masses[k] - entry[1], 0.0f), entry[0], even);
      if (k + 1 == end) break;
      const float* next = table + (static_cast<Index>(moving.words[k + 1]) * 32 + lane) * 2;
      const float excess = greater(moving.masses[k + 1] - next[1], 0.0f);
      if (one_sum) {
        even = unfused(excess, next[0], even);
      } else {
        odd = unfused(excess, next[0], odd);
      }
    }
    sums(lane, 0) = even + odd;
    sums(lane, 1) = 0;
  }
}

// The larger of `out` and the sums of a block: panel documents are its columns, or its rows when `transposed`.
WF_DEVICE void store_sums(const float* tile, float scale, const Passed& passed, Index panel_first, Index panel_count,
                          float* out, Index stride, int transposed, int warp) {
  const int outer = transposed ? static_cast<int>(panel_count) : static_cast<int>(passed.rows);
  const int inner = transposed ? static_cast<int>(passed.rows) : static_cast<int>(panel_count);
  for (int i = warp; i < outer; i += warp_total()) {
    float* target =
        out + (transposed ? (panel_first + i) * stride + passed.first : (passed.first + i) * stride + panel_first);
    WF_LANES(lane) {
      for (int j = lane; j < inner; j += 32) {
        const float value = scale * (transposed ? tile[j * tile_stride + i] : tile[i * tile_stride + j]);
        target[j] = greater(target[j], value);
      }
    }
  }
}

}  // namespace wordferry

// Tables without a document: every cost `entry`, and no own masses. A lane has two entries of a packed table or one
// wide.
WF_KERNEL(empty_tables)
(wordferry::Two* table, wordferry::Index count, unsigned entry, int wide) {
  using namespace wordferry;
  WF_WARPS(warp) {
    WF_LANES(lane) {
      const Index place = (block_number() * warp_total() + warp) * 32 + lane;
      if (place < count) table[place] = {{entry, wide ? 0 : entry}};
    }
  }
}

// Enters the related words of each document of some panels: a block is a document.
WF_KERNEL(enter_related)
(unsigned* table, const wordferry::Index* indptr, const int* words, const wordferry::Index* graph_indptr,
 const int* graph_words, const float* graph_costs, const int* row_of, wordferry::Index rows, wordferry::Index first,
 float steps, int wide) {
  using namespace wordferry;
  const Index place = block_number();
  const Index begin = indptr[first + place], end = indptr[first + place + 1];
  const Index width = wide ? 32 : panel_rows, lane_of = place % width;
  unsigned* panel = table + place / width * rows * panel_rows;
  WF_WARPS(warp) {
    for (Index k = begin + warp; k < end; k += warp_total()) {
      const int word = words[k];
      const Index low = graph_indptr[word], high = graph_indptr[word + 1];
      WF_LANES(lane) {
        for (Index e = low + lane; e < high; e += 32) {
          const int row = row_of[graph_words[e]];
          if (row < 0) continue;
          const float cost = graph_costs[e];
          unsigned* entry = panel + row * Index{panel_rows} + (wide ? 2 * lane_of : lane_of);
          atomic_least(entry, wide ? bits_of(cost) : packed_cost(cost, steps));
        }
      }
    }
  }
}

// Then the documents' own words: their masses (codes in packed tables), or a cost of 0 where shared words move too.
WF_KERNEL(enter_own)
(unsigned* table, const wordferry::Index* indptr, const int* words, const float* masses, const unsigned short* codes,
 const int* row_of, wordferry::Index rows, wordferry::Index first, int wide, int keep) {
  using namespace wordferry;
  const Index place = block_number();
  const Index begin = indptr[first + place], end = indptr[first + place + 1];
  const Index width = wide ? 32 : panel_rows, lane_of = place % width;
  unsigned* panel = table + place / width * rows * panel_rows;
  WF_WARPS(warp) {
    WF_LANES(lane) {
      for (Index k = begin + 32 * warp + lane; k < end; k += 32 * warp_total()) {
        const int row = row_of[words[k]];
        if (row < 0) continue;
        unsigned* entry = panel + row * Index{panel_rows} + (wide ? 2 * lane_of : lane_of);
        if (keep) {
          *entry = wide && keep == 2 ? bits_of(masses[k]) : 0;  // 2: products of masses, for cosine
        } else if (wide) {
          entry[1] = bits_of(masses[k]);
        } else {
          *entry = (*entry & ~code_mask) | codes[k];
        }
      }
    }
  }
}

// Nearest distances of words onto the documents of some panels, from the costs of all target words (rows) to a block of
// moving words, nearest_columns of them or fewer: a warp is a document, and a block eight of one panel. Words without a
// vector have row `unknown` of the costs.
WF_KERNEL(enter_nearest)
(unsigned* table, const wordferry::Index* indptr, const int* words, const float* costs, wordferry::Index unknown,
 wordferry::Index columns, wordferry::Index first_row, wordferry::Index rows, wordferry::Index first,
 wordferry::Index documents, float steps, int wide) {
  using namespace wordferry;
  const Index start = block_number() * warp_total();
  const Index width = wide ? 32 : panel_rows, lane_of = start % width;
  unsigned* panel = table + (start / width * rows + first_row) * panel_rows + (wide ? 2 * lane_of : lane_of);
  const Index count = documents - start < warp_total() ? documents - start : warp_total();
  float* tile = reinterpret_cast<float*>(shared_memory());
  WF_WARPS(warp) {
    if (warp < count) {
      const Index begin = indptr[first + start + warp], end = indptr[first + start + warp + 1];
      WF_LANES(lane) {
        Four nearest{{no_cost, no_cost, no_cost, no_cost}};
        WF_UNROLL_SOME
        for (Index k = begin; k < end; ++k) {
          const Index word = words[k] < 0 ? unknown : words[k];
          const Four cost = *reinterpret_cast<const Four*>(costs + word * nearest_columns + 4 * lane);
          WF_UNROLL
          for (int s = 0; s < 4; ++s) nearest.value[s] = lesser(nearest.value[s], cost.value[s]);
        }
        *reinterpret_cast<Four*>(tile + warp * nearest_stride + 4 * lane) = nearest;
      }
    }
  }
  WF_BARRIER();
  WF_WARPS(warp) {  // entries of neighbouring documents lie side by side, and are written so
    WF_LANES(lane) {
      for (Index at = 32 * warp + lane; at < columns * warp_total(); at += 32 * warp_total()) {
        const Index document = at % warp_total(), column = at / warp_total();
        if (document >= count) continue;
        const float cost = tile[document * nearest_stride + column];
        panel[column * panel_rows + (wide ? 2 * document : document)] = wide ? bits_of(cost) : packed_cost(cost, steps);
      }
    }
  }
}

// All documents passed over (blocks of 32) against all panels of a table. wide: 0 no, 1 in two sums, 2 in one.
WF_KERNEL(panel_sums)
(const unsigned* table, const float* mass_of_code, wordferry::Index codes, wordferry::Index rows,
 const wordferry::Index* indptr, const int* words, const float* masses, wordferry::Index documents,
 wordferry::Index panel_documents, float* out, wordferry::Index stride, float scale, int wide, int transposed) {
  using namespace wordferry;
  const Index chunks = (documents + passed_rows - 1) / passed_rows;
  const Index panel = block_number() / chunks, first = block_number() % chunks * passed_rows;
  const Index width = wide ? 32 : panel_rows;
  const Index count = documents - first < passed_rows ? documents - first : passed_rows;
  const Index panel_count = panel_documents - panel * width < width ? panel_documents - panel * width : width;
  float* tile = reinterpret_cast<float*>(shared_memory());
  float* own = tile + passed_rows * tile_stride;
  const Documents moving{indptr, words, masses};
  const unsigned* entries = table + panel * rows * panel_rows;
  WF_WARPS(warp) {
    WF_LANES(lane) {
      for (Index k = 32 * warp + lane; k < codes * panel_rows; k += 32 * warp_total()) {
        own[k] = mass_of_code[panel * codes * panel_rows + k];
      }
    }
  }
  WF_BARRIER();
  WF_WARPS(warp) {
    LaneArray<float, 2> sums;
    for (int i = warp; i < count; i += warp_total()) {
      if (wide) {
        wide_sums(reinterpret_cast<const float*>(entries), moving, first + i, wide == 2, sums);
      } else {
        packed_sums(entries, own, moving, first + i, sums);
      }
      WF_LANES(lane) {
        tile[i * tile_stride + lane] = sums(lane, 0);
        tile[i * tile_stride + 32 + lane] = sums(lane, 1);
      }
    }
  }
  WF_BARRIER();
  const Passed passed{moving, first, count};
  WF_WARPS(warp) store_sums(tile, scale, passed, panel * width, panel_count, out, stride, transposed, warp);
}
