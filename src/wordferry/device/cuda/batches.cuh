// Transport problems in batches: given as they are, or made of documents. WF_SLOTS is how many columns a lane has, and
// WF_solve_given or WF_solve_documents which kernel is wanted: they are set when this is compiled, once for each that
// comes up.
#pragma once

#include "transport.cuh"

namespace wordferry {

// What is left of one document without what it has in common with another, appended in order; returns how many words.
// Words rise in both. With `keep` everything is left.
struct Bag {
  const int* words;
  const Mass* weights;
  int count;
  Mass scale;
};

WF_DEVICE int place_in(const Bag& bag, int word) {
  int low = 0, high = bag.count;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (bag.words[middle] < word) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < bag.count && bag.words[low] == word ? low : -1;
}

WF_DEVICE int take_common(const Bag& bag, const Bag& other, bool keep, int* words, Mass* masses) {
  int count = 0;
  for (int first = 0; first < bag.count; first += 32) {
    Lanes<Mass> left;
    Lanes<bool> some;
    WF_LANES(lane) {
      const int k = first + lane;
      left[lane] = k < bag.count ? bag.weights[k] * bag.scale : 0;
      const int place = keep || k >= bag.count ? -1 : place_in(other, bag.words[k]);
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
};

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
  for (int first = 0; first < p.rows; first += 32) {
    Lanes<int> place;
    WF_LANES(lane) place[lane] = first + lane < p.rows ? row_place[rows[first + lane]] : 0;
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
  const Bag sinks{columns, nullptr, p.columns, 1};
  for (int i = 0; i < p.rows; ++i) {
    WF_LANES(lane) {
      for (int j = lane; j < p.columns; j += 32) p.costs[i * p.columns + j] = columns[j] == rows[i] ? 0.0f : c_max;
    }
    WF_FENCE();
    WF_LANES(lane) {
      for (Index e = graph.indptr[rows[i]] + lane; e < graph.indptr[rows[i] + 1]; e += 32) {
        const int j = place_in(sinks, graph.words[e]);
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
// Problems as they are: masses and costs one behind the other, from offsets. Blocks draw problems of `order` from `next`.
// They have `room` bytes of `scratch` each: flows, and costs where they are not in shared memory.
WF_KERNEL(solve_given)
(const long long* order, wordferry::Index count, unsigned* next, const wordferry::Index* row_offsets,
 const wordferry::Index* column_offsets, const wordferry::Index* cost_offsets, const long long* masses_a,
 const long long* masses_b, const double* costs, wordferry::Index most_rows, wordferry::Index most_columns,
 wordferry::Index cells, int shared_costs, char* scratch, wordferry::Index room, double* totals,
 double* gaps, int* steps) {
  using namespace wordferry;
  WF_WARPS(warp) {
    static_cast<void>(warp);
    Mass* flow = reinterpret_cast<Mass*>(scratch + block_number() * room);
    Problem p;
    place_problem(p, reinterpret_cast<char*>(shared_memory()), static_cast<int>(most_rows),
                  static_cast<int>(most_columns), shared_costs ? nullptr : reinterpret_cast<float*>(flow + cells));
    p.flow = flow;
    for (Index k = drawn(next); k < count; k = drawn(next)) {
      const Index problem = order[k];
      p.rows = static_cast<int>(row_offsets[problem + 1] - row_offsets[problem]);
      p.columns = static_cast<int>(column_offsets[problem + 1] - column_offsets[problem]);
      p.fine = costs + cost_offsets[problem];
      Lanes<double> sum;
      WF_LANES(lane) {
        sum[lane] = 0;
        for (int i = lane; i < p.rows; i += 32) {
          p.excess[i] = masses_a[row_offsets[problem] + i];
          sum[lane] += static_cast<double>(p.excess[i]);
        }
        for (int j = lane; j < p.columns; j += 32) p.room[j] = masses_b[column_offsets[problem] + j];
        for (int cell = lane; cell < p.rows * p.columns; cell += 32) p.costs[cell] = static_cast<float>(p.fine[cell]);
      }
      const double mass = warp_sum(sum);
      WF_FENCE();
      double total = 0, gap = 0;
      int count_of_steps = 0;
      solve<WF_SLOTS>(p, {mass, 1e300}, total, gap, count_of_steps);
      write_result(problem, total, gap, count_of_steps, totals, gaps, steps);
      WF_FENCE();
    }
  }
}
#endif

#ifdef WF_solve_documents
// Pairs of documents with whole weights. Without a table costs are those of related words. `scratch` as above, and
// behind flows masses and words of both documents. limits: for each document of x, distances above are of no interest.
WF_KERNEL(solve_documents)
(const long long* order, wordferry::Index count, unsigned* next, const int* pairs_x, const int* pairs_y,
 const wordferry::Index* x_indptr, const int* x_words, const long long* x_weights, const long long* x_sums,
 const wordferry::Index* y_indptr, const int* y_words, const long long* y_weights, const long long* y_sums,
 const float* table, const int* row_of, const int* column_of, wordferry::Index table_columns,
 const wordferry::Index* graph_indptr, const int* graph_words, const float* graph_costs, float c_max, int keep,
 const float* limits, wordferry::Index most_rows, wordferry::Index most_columns, wordferry::Index cells,
 int shared_costs, char* scratch, wordferry::Index room, double* values, double* gaps, int* steps) {
  using namespace wordferry;
  WF_WARPS(warp) {
    static_cast<void>(warp);
    Mass* flow = reinterpret_cast<Mass*>(scratch + block_number() * room);
    Mass* x_mass = flow + cells;
    Mass* y_mass = x_mass + most_rows;
    int* x_left = reinterpret_cast<int*>(y_mass + most_rows);
    int* y_left = x_left + most_rows;
    Problem p;
    place_problem(p, reinterpret_cast<char*>(shared_memory()), static_cast<int>(most_rows),
                  static_cast<int>(most_columns), shared_costs ? nullptr : reinterpret_cast<float*>(y_left + most_rows));
    p.flow = flow;
    for (Index k = drawn(next); k < count; k = drawn(next)) {
      const Index problem = order[k];
      const int i = pairs_x[problem], j = pairs_y[problem];
      const Mass x_sum = x_sums[i], y_sum = y_sums[j];
      const bool equal = x_sum == y_sum;
      const Bag x{x_words + x_indptr[i], x_weights + x_indptr[i], static_cast<int>(x_indptr[i + 1] - x_indptr[i]),
                  equal ? 1 : y_sum};
      const Bag y{y_words + y_indptr[j], y_weights + y_indptr[j], static_cast<int>(y_indptr[j + 1] - y_indptr[j]),
                  equal ? 1 : x_sum};
      const int xs = take_common(x, y, keep != 0, x_left, x_mass), ys = take_common(y, x, keep != 0, y_left, y_mass);
      const bool swapped = xs < ys;  // the fewer words are the columns, which a search goes over
      p.rows = swapped ? ys : xs;
      p.columns = swapped ? xs : ys;
      WF_LANES(lane) {
        for (int r = lane; r < p.rows; r += 32) p.excess[r] = swapped ? y_mass[r] : x_mass[r];
        for (int s = lane; s < p.columns; s += 32) p.room[s] = swapped ? x_mass[s] : y_mass[s];
      }
      WF_FENCE();
      const double mass = static_cast<double>(x_sum) * static_cast<double>(x.scale);
      double total = 0, gap = 0;
      int count_of_steps = 0;
      if (p.rows > 0) {
        const int* rows = swapped ? y_left : x_left;
        const int* columns = swapped ? x_left : y_left;
        if (table != nullptr) {
          gather_costs<WF_SLOTS>(p, {table, row_of, column_of, table_columns}, rows, columns, swapped);
        } else {
          gather_related(p, {graph_indptr, graph_words, graph_costs}, c_max, rows, columns);
        }
        const double most = limits == nullptr ? 1e300 : mass * static_cast<double>(limits[i]);
        solve<WF_SLOTS>(p, {mass, most}, total, gap, count_of_steps);
      }
      write_result(problem, total / mass, gap / mass, count_of_steps, values, gaps, steps);
      WF_FENCE();
    }
  }
}
#endif
