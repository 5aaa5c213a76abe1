// Transport problems in batches: given as they are, or made of documents. WF_SLOTS is how many columns a lane has,
// WF_RULE what is computed of documents (a Rule), and WF_solve_given or WF_solve_documents which kernel is wanted: they
// are set when this is compiled, once for each that comes up.
#pragma once

#include "sinkhorn.cuh"
#include "transfers.cuh"
#include "transport.cuh"

namespace wordferry {

enum Rule { rule_exact = 0, rule_soft = 1, rule_transfers = 2 };

WF_DEVICE Mass common_divisor(Mass a, Mass b) {
  WF_LOOP
  while (b != 0) {
    const Mass rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

// What is left of one document without what it has in common with another, appended in order; returns how many words.
// Words rise in both. With `keep` everything is left.
struct Bag {
  const int* words;
  const Mass* weights;
  int count;
  Mass scale;
};

WF_DEVICE int take_common(const Bag& bag, const Bag& other, bool keep, int* words, Mass* masses) {
  int count = 0;
  WF_LOOP
  for (int first = 0; first < bag.count; first += 32) {
    Lanes<Mass> left;
    Lanes<bool> some;
    WF_LANES(lane) {
      const int k = first + lane;
      left[lane] = k < bag.count ? bag.weights[k] * bag.scale : 0;
      const int place = keep || k >= bag.count ? -1 : place_among(other.words, other.count, bag.words[k]);
      if (place >= 0) left[lane] -= other.weights[place] * other.scale;
      some[lane] = left[lane] > 0;
    }
    const unsigned chosen = warp_ballot(some);
    WF_LANES(lane) {
      if (some[lane]) {
        const int at = count + bits_set(chosen & ((1u << lane) - 1u));
        words[at] = bag.words[first + lane];
        masses[at] = left[lane];
      }
    }
    count += bits_set(chosen);
  }
  WF_FENCE();
  return count;
}

// Costs from a table of distances between words: row row_of[word of x], column column_of[word of y].
struct TableCosts {
  const float* table;
  const int* row_of;
  const int* column_of;
  Index columns;
  int shared_row, shared_column;  // of all words that cost the same onto all others (-1: there are none)
};

// Whether the CPU would send from y: it has fewer words, those of a shared row or column counting as one, or as many
// and the smaller ones.
WF_DEVICE bool sends_from_second(const int* x, int xs, const int* y, int ys, const TableCosts& table) {
  int at = 0, behind = 0, first = 0;  // the place in each, and which has the smaller word where they begin to differ
  int x_words = 0, y_words = 0;
  bool x_shared = false, y_shared = false;
  WF_LOOP
  while (at < xs || behind < ys) {
    WF_LOOP
    while (at < xs && x_shared && table.row_of[x[at]] == table.shared_row) ++at;
    WF_LOOP
    while (behind < ys && y_shared && table.column_of[y[behind]] == table.shared_column) ++behind;
    const int left = at < xs ? x[at++] : -1, right = behind < ys ? y[behind++] : -1;
    if (left >= 0) {
      ++x_words;
      x_shared = x_shared || table.row_of[left] == table.shared_row;
    }
    if (right >= 0) {
      ++y_words;
      y_shared = y_shared || table.column_of[right] == table.shared_column;
    }
    if (first == 0 && left != right) first = left < right ? 1 : 2;
  }
  return x_words != y_words ? y_words < x_words : first == 2;
}

template <int slots>
WF_DEVICE void gather_costs(Problem& p, const TableCosts& table, const int* rows, const int* columns, bool swapped) {
  constexpr int count = rows_at_once<slots>;
  const int* row_place = swapped ? table.column_of : table.row_of;
  const int* column_place = swapped ? table.row_of : table.column_of;
  const Index across = swapped ? 1 : table.columns, along = swapped ? table.columns : 1;
  LaneArray<Index, slots> start;
  WF_LANES(lane) {
    WF_UNROLL
    for (int s = 0; s < slots; ++s) {
      const int j = lane + 32 * s;
      start(lane, s) = j < p.columns ? column_place[columns[j]] * along : 0;
    }
  }
  WF_LOOP
  for (int first = 0; first < p.rows; first += 32) {
    Lanes<int> place;
    WF_LANES(lane) place[lane] = first + lane < p.rows ? row_place[rows[first + lane]] : 0;
    WF_LOOP
    for (int low = 0; low < 32 && first + low < p.rows; low += count) {
      LaneArray<float, slots * count> cost;
      WF_UNROLL
      for (int b = 0; b < count; ++b) {
        const float* row = table.table + warp_from(place, low + b) * across;
        WF_LANES(lane) {
          WF_UNROLL
          for (int s = 0; s < slots; ++s) cost(lane, b * slots + s) = row[start(lane, s)];
        }
      }
      WF_LANES(lane) {
        WF_UNROLL
        for (int b = 0; b < count; ++b) {
          const int i = first + low + b;
          WF_UNROLL
          for (int s = 0; s < slots; ++s) {
            const int j = lane + 32 * s;
            if (i < p.rows && j < p.columns) p.costs[i * p.columns + j] = cost(lane, b * slots + s);
          }
        }
      }
    }
  }
  WF_FENCE();
}

// Costs of related words, c_max for all others and 0 for the same word.
WF_DEVICE void gather_related(Problem& p, const Graph& graph, float c_max, const int* rows, const int* columns) {
  WF_LOOP
  for (int i = 0; i < p.rows; ++i) {
    WF_LANES(lane) {
      WF_LOOP
      for (int j = lane; j < p.columns; j += 32) p.costs[i * p.columns + j] = columns[j] == rows[i] ? 0.0f : c_max;
    }
    WF_FENCE();
    WF_LANES(lane) {
      WF_LOOP
      for (Index e = graph.indptr[rows[i]] + lane; e < graph.indptr[rows[i] + 1]; e += 32) {
        const int j = place_among(columns, p.columns, graph.words[e]);
        if (j >= 0) p.costs[i * p.columns + j] = graph.costs[e];
      }
    }
  }
  WF_FENCE();
}

WF_DEVICE void write_result(Index problem, double total, double gap, int steps, double* totals, double* gaps,
                            int* counts) {
  WF_LANES(lane) {
    if (lane == 0) {
      totals[problem] = total;
      gaps[problem] = gap;
      counts[problem] = steps;
    }
  }
}

}  // namespace wordferry

#ifdef WF_solve_given
// Problems as they are: masses and costs one behind the other, from offsets. Warps draw problems of `order` from
// `next`. They have `shared_room` bytes of shared memory each, and `room` bytes of `scratch`: flows, and costs where
// they are not in shared memory.
WF_KERNEL(solve_given)
(const long long* order, wordferry::Index count, unsigned* next, const wordferry::Index* row_offsets,
 const wordferry::Index* column_offsets, const wordferry::Index* cost_offsets, const long long* masses_a,
 const long long* masses_b, const double* costs, wordferry::Index most_rows, wordferry::Index most_columns,
 wordferry::Index cells, wordferry::Index shared_room, int shared_costs, char* scratch, wordferry::Index room,
 int most_cells, double* totals, double* gaps, int* steps) {
  using namespace wordferry;
  WF_WARPS(warp) {
    Mass* flow = reinterpret_cast<Mass*>(scratch + (block_number() * warp_total() + warp) * room);
    Problem p;
    place_problem(p, reinterpret_cast<char*>(shared_memory()) + warp * shared_room, static_cast<int>(most_rows),
                  static_cast<int>(most_columns), shared_costs ? nullptr : reinterpret_cast<float*>(flow + cells));
    p.flow = flow;
    WF_LOOP
    for (Index k = drawn(next); k < count; k = drawn(next)) {
      const Index problem = order[k];
      p.rows = static_cast<int>(row_offsets[problem + 1] - row_offsets[problem]);
      p.columns = static_cast<int>(column_offsets[problem + 1] - column_offsets[problem]);
      p.fine = costs + cost_offsets[problem];
      Lanes<double> sum;
      WF_LANES(lane) {
        sum[lane] = 0;
        WF_LOOP
        for (int i = lane; i < p.rows; i += 32) {
          p.excess[i] = masses_a[row_offsets[problem] + i];
          sum[lane] += static_cast<double>(p.excess[i]);
        }
        WF_LOOP
        for (int j = lane; j < p.columns; j += 32) p.room[j] = masses_b[column_offsets[problem] + j];
        WF_LOOP
        for (int cell = lane; cell < p.rows * p.columns; cell += 32) p.costs[cell] = static_cast<float>(p.fine[cell]);
      }
      const double mass = warp_sum(sum);
      WF_FENCE();
      double total = 0, gap = 0;
      int count_of_steps = 0;
      solve<WF_SLOTS>(p, {mass, 1e300, most_cells}, total, gap, count_of_steps);
      write_result(problem, total, gap, count_of_steps, totals, gaps, steps);
      WF_FENCE();
    }
  }
}
#endif

#ifdef WF_solve_documents
// Pairs of documents with whole weights. Without a table costs are those of related words. `scratch` as above, and
// behind flows masses and words of both documents. limits: for each document of x, distances above are of no interest.
// count_of: rounds of soft transport, or transfers; there, `keep` says that all of a word can receive, not what is
// left.
WF_KERNEL(solve_documents)
(const long long* order, wordferry::Index count, unsigned* next, const int* pairs_x, const int* pairs_y,
 const wordferry::Index* x_indptr, const int* x_words, const long long* x_weights, const long long* x_sums,
 const wordferry::Index* y_indptr, const int* y_words, const long long* y_weights, const long long* y_sums,
 const float* table, const int* row_of, const int* column_of, wordferry::Index table_columns, int shared_row,
 int shared_column, const wordferry::Index* graph_indptr, const int* graph_words, const float* graph_costs, float c_max,
 int keep, double regularization, double tolerance, wordferry::Index count_of, const float* limits,
 wordferry::Index most_rows, wordferry::Index most_columns, wordferry::Index cells, wordferry::Index shared_room,
 int shared_costs, char* scratch, wordferry::Index room, int most_cells, double* values, double* gaps, int* steps) {
  using namespace wordferry;
  WF_WARPS(warp) {
    Mass* flow = reinterpret_cast<Mass*>(scratch + (block_number() * warp_total() + warp) * room);
    Mass* x_mass = flow + cells;
    Mass* y_mass = x_mass + most_rows;
    int* x_left = reinterpret_cast<int*>(y_mass + most_rows);
    int* y_left = x_left + most_rows;
    Problem p;
    place_problem(p, reinterpret_cast<char*>(shared_memory()) + warp * shared_room, static_cast<int>(most_rows),
                  static_cast<int>(most_columns),
                  shared_costs ? nullptr : reinterpret_cast<float*>(y_left + most_rows));
    p.flow = flow;
    WF_LOOP
    for (Index k = drawn(next); k < count; k = drawn(next)) {
      const Index problem = order[k];
      const int i = pairs_x[problem], j = pairs_y[problem];
      const Mass x_sum = x_sums[i], y_sum = y_sums[j];
      // What the CPU divides by; where whole plans are proved, large masses do no harm.
      const Mass common = WF_RULE == rule_exact && x_sum != y_sum ? 1 : common_divisor(x_sum, y_sum);
      const TableCosts costs{table, row_of, column_of, table_columns, shared_row, shared_column};
      const Bag x{x_words + x_indptr[i], x_weights + x_indptr[i], static_cast<int>(x_indptr[i + 1] - x_indptr[i]),
                  y_sum / common};
      const Bag y{y_words + y_indptr[j], y_weights + y_indptr[j], static_cast<int>(y_indptr[j + 1] - y_indptr[j]),
                  x_sum / common};
      const bool moves = keep != 0 && WF_RULE != rule_transfers;
      const int xs = take_common(x, y, moves, x_left, x_mass), ys = take_common(y, x, moves, y_left, y_mass);
      const double mass = static_cast<double>(x_sum) * static_cast<double>(x.scale);
      double total = 0, gap = 0;
      int count_of_steps = 0;
      if constexpr (WF_RULE == rule_transfers) {
        const bool all = keep != 0;
        const Moved to_x{all ? x.words : x_left, all ? x.weights : x_mass, all ? x.count : xs, all ? x.scale : 1};
        const Moved to_y{all ? y.words : y_left, all ? y.weights : y_mass, all ? y.count : ys, all ? y.scale : 1};
        const Ways there{table, row_of, column_of, table_columns, 1, shared_row};
        const Ways back{table, column_of, row_of, 1, table_columns, shared_column};
        const double onto_y = transferred<WF_SLOTS>({x_left, x_mass, xs, 1}, to_y, there, count_of);
        const double onto_x = transferred<WF_SLOTS>({y_left, y_mass, ys, 1}, to_x, back, count_of);
        total = onto_x < onto_y ? onto_y : onto_x;
        write_result(problem, total / mass, onto_x < 0 || onto_y < 0 ? -1.0 : 0.0, 0, values, gaps, steps);
        WF_FENCE();
        continue;
      }
      bool swapped = xs < ys;  // the fewer words are the columns, which a search goes over
      if constexpr (WF_RULE == rule_soft) swapped = !sends_from_second(x_left, xs, y_left, ys, costs);
      p.rows = swapped ? ys : xs;
      p.columns = swapped ? xs : ys;
      WF_LANES(lane) {
        WF_LOOP
        for (int r = lane; r < p.rows; r += 32) p.excess[r] = swapped ? y_mass[r] : x_mass[r];
        WF_LOOP
        for (int s = lane; s < p.columns; s += 32) p.room[s] = swapped ? x_mass[s] : y_mass[s];
      }
      WF_FENCE();
      if (p.rows > 0) {
        const int* rows = swapped ? y_left : x_left;
        const int* columns = swapped ? x_left : y_left;
        if (table != nullptr) {
          gather_costs<WF_SLOTS>(p, costs, rows, columns, swapped);
        } else {
          gather_related(p, {graph_indptr, graph_words, graph_costs}, c_max, rows, columns);
        }
        const double most = limits == nullptr ? 1e300 : mass * static_cast<double>(limits[i]);
        if constexpr (WF_RULE == rule_soft) {
          const bool wanted = !too_far<WF_SLOTS>(p, {mass, most, most_cells});
          total = static_cast<double>(infinite());
          const Softness soft{regularization, tolerance, count_of};
          if (wanted && p.rows * p.columns <= most_cells) {
            total = soft_total<WF_SLOTS>(p, soft, reinterpret_cast<double*>(x_mass), count_of_steps);
          }
          gap = !wanted || total < 1e300 ? 0 : -1;
        } else {
          solve<WF_SLOTS>(p, {mass, most, most_cells}, total, gap, count_of_steps);
        }
      }
      write_result(problem, total / mass, gap / mass, count_of_steps, values, gaps, steps);
      WF_FENCE();
    }
  }
}
#endif
