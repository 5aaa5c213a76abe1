// Exact transport: one warp solves one problem, by successive shortest paths with whole masses.
//
// Sources are rows, sinks are columns, of which there are no more than rows: the steps of a search are columns. Column
// j belongs to lane j % 32, slot j / 32. Prices of columns and what a search knows of them stay in registers; costs,
// duals of rows and a bit for each cell with flow in shared memory; the flows themselves, which only the ends of
// searches need, in device memory. Costs of several rows are under way at a time, since a warp by itself would wait for
// each. Prices start soft (a few rounds of entropic scaling), which leaves less than half of the searches' steps. The
// search is in float32; afterwards duals are computed anew along the flows in float64, and `gap` bounds how far the
// plan can be from the optimum: sum of flow * (cost - dual of the row - dual of the column) with duals that are
// feasible.
#pragma once

#include "lanes.cuh"

namespace wordferry {

using Mass = long long;

// Rounds of soft prices, and softness as a share of the typical gap between a cost and the least of its row. Steps of a
// large problem cost more, so that more rounds pay.
template <int slots>
constexpr int soft_rounds = slots <= 2 ? 6 : 12;
template <int slots>
constexpr float soft_share = slots <= 2 ? 0.1f : 0.06f;
constexpr float tiny_sum = 1e-30f;

// A problem in shared memory; every array is aligned to 8 bytes.
struct Problem {
  float* costs;        // rows x columns; in device memory where they are many
  const double* fine;  // costs in float64 where there are such
  Mass* flow;          // rows x columns, in device memory; holds something only where a bit is set
  int rows, columns, words;
  Mass* excess;
  Mass* room;         // of each column
  float* potential;   // of rows, as the search uses it
  float* settled;     // distance at which a search settled a column
  unsigned* bits;     // of each column: the rows that send to it, `words` words
  unsigned* reached;  // rows that a search has reached
  short* parent;      // of each column: the row it was reached from
  short* row_parent;  // of each row: the column it was reached from
};

WF_DEVICE char* placed(char*& memory, int bytes) {
  char* start = memory;
  memory += (bytes + 7) / 8 * 8;
  return start;
}

// Sets the arrays of a problem of at most `rows` x `columns`; `costs` is used where it is not null.
WF_DEVICE void place_problem(Problem& p, char* memory, int rows, int columns, float* costs) {
  const int words = (rows + 31) / 32;
  p.excess = reinterpret_cast<Mass*>(placed(memory, 8 * rows));
  p.room = reinterpret_cast<Mass*>(placed(memory, 8 * columns));
  p.potential = reinterpret_cast<float*>(placed(memory, 4 * rows));
  p.settled = reinterpret_cast<float*>(placed(memory, 4 * columns));
  p.bits = reinterpret_cast<unsigned*>(placed(memory, 4 * columns * words));
  p.reached = reinterpret_cast<unsigned*>(placed(memory, 4 * words));
  p.parent = reinterpret_cast<short*>(placed(memory, 2 * columns));
  p.row_parent = reinterpret_cast<short*>(placed(memory, 2 * rows));
  p.costs = costs != nullptr ? costs : reinterpret_cast<float*>(memory);
  p.fine = nullptr;
}

WF_DEVICE double cost_of(const Problem& p, int row, int column) {
  const int cell = row * p.columns + column;
  return p.fine != nullptr ? p.fine[cell] : static_cast<double>(p.costs[cell]);
}

WF_DEVICE unsigned bit_of(int row) { return 1u << (row & 31); }
WF_DEVICE unsigned& bits_at(const Problem& p, int row, int column) { return p.bits[column * p.words + (row >> 5)]; }
WF_DEVICE bool has_flow(const Problem& p, int row, int column) { return (bits_at(p, row, column) & bit_of(row)) != 0; }

template <int number>
struct Count {
  static constexpr int value = number;
};

// Rows whose costs are under way at a time; more would not fit into registers.
template <int slots>
constexpr int rows_at_once = slots > 8                  ? 1
                             : slots == 3 || slots == 4 ? 4
                                                        : 2;

template <int slots>
struct Columns {
  LaneArray<float, slots> price;  // dual of the column
  LaneArray<float, slots> key;    // distance; no number once the column is settled, or where there is none
  LaneArray<int, slots> parent;
  Lanes<unsigned> open;  // a bit for each slot: the column has room
};

// The least of (cost - price) of some rows from `first` on; of the last one again where there are fewer.
template <int slots, int count>
WF_DEVICE void least_of_rows(const Problem& p, Columns<slots>& c, int first, LaneArray<unsigned, count>& own,
                             unsigned* least) {
  WF_LANES(lane) {
    float value[count];
    WF_UNROLL
    for (int b = 0; b < count; ++b) value[b] = infinite();
    WF_UNROLL
    for (int s = 0; s < slots; ++s) {
      const int j = lane + 32 * s;
      WF_UNROLL
      for (int b = 0; b < count; ++b) {
        const int i = first + b < p.rows ? first + b : p.rows - 1;
        if (j < p.columns) value[b] = lesser(value[b], p.costs[i * p.columns + j] - c.price(lane, s));
      }
    }
    WF_UNROLL
    for (int b = 0; b < count; ++b) own(lane, b) = in_order(value[b]);
  }
  WF_UNROLL
  for (int b = 0; b < count; ++b) {
    Lanes<unsigned> key;
    WF_LANES(lane) key[lane] = own(lane, b);
    least[b] = warp_least(key);
  }
}

// The least of each row of costs less prices becomes its potential.
template <int slots>
WF_DEVICE void lower_rows(Problem& p, Columns<slots>& c) {
  constexpr int count = rows_at_once<slots>;
  WF_LOOP
  for (int first = 0; first < p.rows; first += count) {
    LaneArray<unsigned, count> own;
    unsigned least[count];
    least_of_rows<slots, count>(p, c, first, own, least);
    WF_LANES(lane) {
      WF_UNROLL
      for (int b = 0; b < count; ++b) {
        if (lane == 0 && first + b < p.rows) p.potential[first + b] = from_order(least[b]);
      }
    }
  }
  WF_FENCE();
}

// Prices from a few rounds of entropic scaling: price_j = softness * ln g_j with f_i = a_i / sum_j K_ij g_j and
// g_j = b_j / sum_i K_ij f_i, K_ij = exp((least_i - c_ij) / softness).
template <int slots>
WF_DEVICE void soften(Problem& p, Columns<slots>& c, double total) {
  constexpr int count = rows_at_once<slots>;
  Lanes<float> sample;
  WF_LANES(lane) {
    sample[lane] = 0;
    WF_LOOP
    for (int i = lane; i < p.rows; i += 32) {
      sample[lane] += p.costs[i * p.columns + static_cast<int>(7LL * i % p.columns)] - p.potential[i];
    }
  }
  const float softness = soft_share<slots> * warp_sum(sample) / static_cast<float>(p.rows);
  if (!(softness > tiny_sum && softness < 1 / tiny_sum)) return;
  const float steep = 1.44269504f / softness;
  const float share = static_cast<float>(1 / total);
  LaneArray<float, slots> scaling, sums;
  WF_LANES(lane) {
    WF_UNROLL
    for (int s = 0; s < slots; ++s) scaling(lane, s) = 1;
  }
  WF_LOOP
  for (int round = 0; round < soft_rounds<slots>; ++round) {
    WF_LANES(lane) {
      WF_UNROLL
      for (int s = 0; s < slots; ++s) sums(lane, s) = 0;
    }
    WF_LOOP
    for (int first = 0; first < p.rows; first += count) {
      LaneArray<float, slots * count> near;
      LaneArray<float, count> reach;
      WF_LANES(lane) {
        WF_UNROLL
        for (int b = 0; b < count; ++b) {
          const int i = first + b < p.rows ? first + b : p.rows - 1;
          const float least = p.potential[i] * steep;
          reach(lane, b) = 0;
          WF_UNROLL
          for (int s = 0; s < slots; ++s) {
            const int j = lane + 32 * s;
            const float cost = j < p.columns ? p.costs[i * p.columns + j] : infinite();
            near(lane, b * slots + s) = rough_power_of_two(fused(-cost, steep, least));
            reach(lane, b) = fused(near(lane, b * slots + s), scaling(lane, s), reach(lane, b));
          }
        }
      }
      float factor[count];
      WF_UNROLL
      for (int b = 0; b < count; ++b) {
        Lanes<float> sum;
        WF_LANES(lane) sum[lane] = reach(lane, b);
        const float mass = first + b < p.rows ? static_cast<float>(p.excess[first + b]) * share : 0.0f;
        factor[b] = rough_quotient(mass, warp_sum(sum) + tiny_sum);
      }
      WF_LANES(lane) {
        WF_UNROLL
        for (int b = 0; b < count; ++b) {
          WF_UNROLL
          for (int s = 0; s < slots; ++s) {
            sums(lane, s) = fused(near(lane, b * slots + s), factor[b], sums(lane, s));
          }
        }
      }
    }
    WF_LANES(lane) {
      WF_UNROLL
      for (int s = 0; s < slots; ++s) {
        const int j = lane + 32 * s;
        if (j < p.columns) scaling(lane, s) = static_cast<float>(p.room[j]) * share / (sums(lane, s) + tiny_sum);
      }
    }
  }
  WF_LANES(lane) {
    WF_UNROLL
    for (int s = 0; s < slots; ++s) {
      const float change = log_two(scaling(lane, s)) / steep;
      const bool sound = change > -1 / tiny_sum && change < 1 / tiny_sum;
      c.price(lane, s) = sound && lane + 32 * s < p.columns ? change : 0.0f;
    }
  }
}

// Raises prices until each column has a tight arc; p.parent and p.row_parent are the tight arcs.
template <int slots>
WF_DEVICE void tighten(Problem& p, Columns<slots>& c) {
  constexpr int count = rows_at_once<slots>;
  WF_LANES(lane) {
    LaneArray<int, slots> row;
    WF_UNROLL
    for (int s = 0; s < slots; ++s) {
      c.price(lane, s) = infinite();
      row(lane, s) = 0;
    }
    WF_LOOP
    for (int first = 0; first < p.rows; first += count) {
      WF_UNROLL
      for (int b = 0; b < count; ++b) {
        const int i = first + b < p.rows ? first + b : p.rows - 1;
        const float potential = p.potential[i];
        WF_UNROLL
        for (int s = 0; s < slots; ++s) {
          const int j = lane + 32 * s;
          const float value = j < p.columns ? p.costs[i * p.columns + j] - potential : infinite();
          if (value < c.price(lane, s)) {
            c.price(lane, s) = value;
            row(lane, s) = i;
          }
        }
      }
    }
    WF_UNROLL
    for (int s = 0; s < slots; ++s) {
      if (lane + 32 * s < p.columns) p.parent[lane + 32 * s] = static_cast<short>(row(lane, s));
    }
  }
  WF_FENCE();  // potentials are written now
  WF_LOOP
  for (int first = 0; first < p.rows; first += count) {  // the tight column of each row
    LaneArray<unsigned, count> own;
    unsigned least[count];
    least_of_rows<slots, count>(p, c, first, own, least);
    WF_UNROLL
    for (int b = 0; b < count; ++b) {
      const int i = first + b;
      if (i >= p.rows) continue;
      Lanes<bool> tight;
      WF_LANES(lane) tight[lane] = own(lane, b) == least[b];
      const int owner = lowest_bit(warp_ballot(tight));
      WF_LANES(lane) {
        if (lane != owner) continue;
        p.potential[i] = from_order(least[b]);
        WF_UNROLL
        for (int s = 0; s < slots; ++s) {
          const int j = lane + 32 * s;
          if (j < p.columns && in_order(p.costs[i * p.columns + j] - c.price(lane, s)) == least[b]) {
            p.row_parent[i] = static_cast<short>(j);
          }
        }
      }
    }
  }
  WF_FENCE();
}

// What the duals prove: no plan costs less, but for rounding.
template <int slots>
WF_DEVICE double least_total(const Problem& p, Columns<slots>& c) {
  Lanes<double> sum;
  WF_LANES(lane) {
    sum[lane] = 0;
    WF_LOOP
    for (int i = lane; i < p.rows; i += 32) {
      sum[lane] += static_cast<double>(p.excess[i]) * static_cast<double>(p.potential[i]);
    }
    WF_UNROLL
    for (int s = 0; s < slots; ++s) {
      const int j = lane + 32 * s;
      if (j < p.columns) sum[lane] += static_cast<double>(p.room[j]) * static_cast<double>(c.price(lane, s));
    }
  }
  return warp_sum(sum);
}

// Sends what fits along the tight arcs of rows and of columns.
template <int slots>
WF_DEVICE void start_flows(Problem& p, Columns<slots>& c) {
  WF_LANES(lane) {
    WF_LOOP
    for (int k = lane; k < p.columns * p.words; k += 32) p.bits[k] = 0;
  }
  WF_FENCE();
  WF_LANES(lane) {
    WF_LOOP
    for (int k = 0; lane == 0 && k < p.rows + p.columns; ++k) {
      const int i = k < p.rows ? k : p.parent[k - p.rows], j = k < p.rows ? p.row_parent[k] : k - p.rows;
      const Mass mass = p.excess[i] < p.room[j] ? p.excess[i] : p.room[j];
      if (mass <= 0) continue;  // so that no arc is sent along twice
      p.excess[i] -= mass;
      p.room[j] -= mass;
      p.flow[i * p.columns + j] = mass;
      bits_at(p, i, j) |= bit_of(i);
    }
  }
  WF_FENCE();
  WF_LANES(lane) {
    c.open[lane] = 0;
    WF_UNROLL
    for (int s = 0; s < slots; ++s) {
      const int j = lane + 32 * s;
      if (j < p.columns && p.room[j] > 0) c.open[lane] |= 1u << s;
    }
  }
}

// Distances of columns from a source.
template <int slots>
WF_DEVICE void relax_source(const Problem& p, Columns<slots>& c, int source) {
  const float base = -p.potential[source];
  WF_LANES(lane) {
    WF_UNROLL
    for (int s = 0; s < slots; ++s) {
      const int j = lane + 32 * s;
      c.parent(lane, s) = source;
      c.key(lane, s) = no_number();
      if (j < p.columns) c.key(lane, s) = greater(base + (p.costs[source * p.columns + j] - c.price(lane, s)), 0.0f);
    }
  }
}

// Distances of columns over arcs from some rows that were reached at `distance`.
template <int slots, int count>
WF_DEVICE void relax(const Problem& p, Columns<slots>& c, const int* rows, float distance) {
  WF_LANES(lane) {
    float base[count];
    WF_UNROLL
    for (int b = 0; b < count; ++b) base[b] = distance - p.potential[rows[b]];
    WF_UNROLL
    for (int s = 0; s < slots; ++s) {
      const int j = lane + 32 * s;
      if (j >= p.columns) continue;
      WF_UNROLL
      for (int b = 0; b < count; ++b) {
        const float value = greater(base[b] + (p.costs[rows[b] * p.columns + j] - c.price(lane, s)), distance);
        if (value < c.key(lane, s)) {
          c.key(lane, s) = value;
          c.parent(lane, s) = rows[b];
        }
      }
    }
  }
}

template <int count, class Visit>
WF_DEVICE void visit_lowest(unsigned& bits, int first, Visit& visit) {
  int rows[count];
  WF_UNROLL
  for (int b = 0; b < count; ++b) {
    rows[b] = first + lowest_bit(bits);
    bits &= bits - 1;
  }
  visit(Count<count>{}, rows);
}

// Rows that send to a column and have not been reached yet, some at a time; they are reached now.
template <int most, class Visit>
WF_DEVICE void visit_fresh(const Problem& p, int column, Visit visit) {
  WF_LOOP
  for (int first = 0; first < p.words; first += 32) {
    Lanes<unsigned> fresh;
    Lanes<bool> some;
    WF_LANES(lane) {
      fresh[lane] = 0;
      if (first + lane < p.words) {
        const unsigned before = p.reached[first + lane];
        fresh[lane] = p.bits[column * p.words + first + lane] & ~before;
        p.reached[first + lane] = before | fresh[lane];
      }
      some[lane] = fresh[lane] != 0;
    }
    WF_LOOP
    for (unsigned owners = warp_ballot(some); owners != 0; owners &= owners - 1) {
      const int owner = lowest_bit(owners), row = 32 * (first + owner);
      unsigned bits = warp_from(fresh, owner);
      WF_LOOP
      for (int left = bits_set(bits); left > 0;) {
        if constexpr (most >= 4) {
          if (left >= 4) {
            visit_lowest<4>(bits, row, visit);
            left -= 4;
            continue;
          }
        }
        if constexpr (most >= 2) {
          if (left >= 2) {
            visit_lowest<2>(bits, row, visit);
            left -= 2;
            continue;
          }
        }
        visit_lowest<1>(bits, row, visit);
        left -= 1;
      }
    }
  }
}

// The column at the least distance that is not settled, that distance's bits and whether the column has room; -1 where
// there is none.
template <int slots>
WF_DEVICE int nearest_column(Columns<slots>& c, unsigned& bits, bool& open) {
  Lanes<unsigned> least;
  Lanes<int> slot;
  Lanes<bool> own;
  WF_LANES(lane) {
    least[lane] = bits_of(c.key(lane, 0));
    slot[lane] = 0;
    WF_UNROLL
    for (int s = 1; s < slots; ++s) {
      const unsigned key = bits_of(c.key(lane, s));
      if (key < least[lane]) {
        least[lane] = key;
        slot[lane] = s;
      }
    }
    slot[lane] |= static_cast<int>((c.open[lane] >> slot[lane]) & 1u) << 8;
  }
  bits = warp_least(least);
  if (bits >= infinity_bits) return -1;
  WF_LANES(lane) own[lane] = least[lane] == bits;
  const int owner = lowest_bit(warp_ballot(own)), found = warp_from(slot, owner);
  open = (found >> 8) != 0;
  return owner + 32 * (found & 0xff);
}

// Up to 32 arcs of a path, from its sink on: lane k has the k-th column, the row it was reached from, and the column
// that row was reached from (-1: it is the source).
struct PathPart {
  Lanes<int> row, column, next;
  int count;
};

// Follows a path from a column; returns the column where the next part begins, or -1.
WF_DEVICE int follow(const Problem& p, int source, int column, PathPart& part) {
  WF_LOOP
  for (part.count = 0; part.count < 32 && column >= 0; ++part.count) {
    const int row = p.parent[column], next = row == source ? -1 : p.row_parent[row];
    WF_LANES(lane) {
      if (lane == part.count) {
        part.row[lane] = row;
        part.column[lane] = column;
        part.next[lane] = next;
      }
    }
    column = next;
  }
  return column;
}

// Sends what fits along the path from the source to a column with room. Says whether the search can go on from there:
// the column is full, the source is not empty, and all arcs that led here still have flow.
WF_DEVICE bool send(Problem& p, int source, int sink, bool& full) {
  const Mass supply = p.excess[source], room = p.room[sink];
  Mass mass = supply < room ? supply : room;
  PathPart part;
  int rest = follow(p, source, sink, part);
  const bool whole = rest < 0;
  WF_LOOP
  while (!whole || part.count > 1) {
    Lanes<Mass> flow;
    WF_LANES(lane) {
      const bool there = lane < part.count && part.next[lane] >= 0;
      flow[lane] = there ? p.flow[part.row[lane] * p.columns + part.next[lane]] : mass;
    }
    mass = warp_least(flow);
    if (rest < 0) break;
    rest = follow(p, source, rest, part);
  }
  WF_FENCE();
  if (!whole) rest = follow(p, source, sink, part);
  bool emptied = false;
  WF_LOOP
  while (true) {
    Lanes<bool> none;
    WF_LANES(lane) {
      if (lane < part.count) {
        Mass& flow = p.flow[part.row[lane] * p.columns + part.column[lane]];
        unsigned& bits = bits_at(p, part.row[lane], part.column[lane]);
        flow = (bits & bit_of(part.row[lane])) != 0 ? flow + mass : mass;
        bits |= bit_of(part.row[lane]);
      }
    }
    WF_FENCE();
    WF_LANES(lane) {
      none[lane] = false;
      if (lane < part.count && part.next[lane] >= 0) {
        Mass& flow = p.flow[part.row[lane] * p.columns + part.next[lane]];
        flow -= mass;
        none[lane] = flow == 0;
        if (none[lane]) bits_at(p, part.row[lane], part.next[lane]) &= ~bit_of(part.row[lane]);
      }
    }
    emptied = warp_ballot(none) != 0 || emptied;
    WF_FENCE();
    if (rest < 0) break;
    rest = follow(p, source, rest, part);
  }
  WF_LANES(lane) {
    if (lane == 0) {
      p.excess[source] = supply - mass;
      p.room[sink] = room - mass;
    }
  }
  WF_FENCE();
  full = mass == room;
  return full && mass < supply && !emptied;
}

// Shortest paths from a source, over columns in rising distance, until it is empty or an arc of the tree is; then duals
// follow.
template <int slots>
WF_DEVICE bool search(Problem& p, Columns<slots>& c, int source, int& steps) {
  WF_LANES(lane) {
    WF_LOOP
    for (int w = lane; w < p.words; w += 32) p.reached[w] = w == source >> 5 ? bit_of(source) : 0;
  }
  relax_source(p, c, source);
  float end = 0;
  WF_LOOP
  while (true) {
    unsigned bits = 0;
    bool open = false, goes_on = true;
    const int column = nearest_column(c, bits, open);
    if (column < 0) return false;
    ++steps;
    end = float_of(bits);
    WF_LANES(lane) {
      if (lane == 0) p.settled[column] = end;
      WF_UNROLL
      for (int s = 0; s < slots; ++s) {
        if (lane + 32 * s == column) c.key(lane, s) = no_number();
        if (open && lane + 32 * s < p.columns) p.parent[lane + 32 * s] = static_cast<short>(c.parent(lane, s));
      }
    }
    if (open) {
      WF_FENCE();
      bool full = false;
      goes_on = send(p, source, column, full);
      WF_LANES(lane) {
        if (full && lane == (column & 31)) c.open[lane] &= ~(1u << (column >> 5));
      }
    }
    if (!goes_on) break;
    visit_fresh<rows_at_once<slots>>(p, column, [&](auto count, const int* rows) {
      constexpr int number = decltype(count)::value;
      WF_LANES(lane) {
        WF_UNROLL
        for (int b = 0; b < number; ++b) {
          if (lane == 0) p.row_parent[rows[b]] = static_cast<short>(column);
        }
      }
      relax<slots, number>(p, c, rows, end);
    });
  }
  WF_FENCE();
  WF_LANES(lane) {
    WF_UNROLL
    for (int s = 0; s < slots; ++s) {
      const bool settled = lane + 32 * s < p.columns && c.key(lane, s) != c.key(lane, s);
      if (settled) c.price(lane, s) += lesser(p.settled[lane + 32 * s] - end, 0.0f);
    }
    WF_LOOP
    for (int i = lane; i < p.rows; i += 32) {
      if ((p.reached[i >> 5] & bit_of(i)) != 0) {
        p.potential[i] += end - (i == source ? 0.0f : p.settled[p.row_parent[i]]);
      }
    }
  }
  WF_FENCE();
  return true;
}

// Duals along the flows in float64: the price of one column of each tree, and from it all others of the tree, columns
// and rows by turns; then the cost of the plan, and how far it can be from the optimum. Where duals of a row and a
// column are together above a cost, that of the column is too high by as much: lowered by the most of it, all duals are
// feasible, and the gap is the sum of flow * (cost - dual of the row - lowered dual of the column).
template <int slots>
WF_DEVICE void prove(Problem& p, Columns<slots>& c, double& total, double& gap) {
  double* row_dual = reinterpret_cast<double*>(p.excess);  // everything is sent
  LaneArray<double, slots> dual;
  Lanes<unsigned> known, fresh;
  Lanes<bool> some;
  WF_LANES(lane) {
    known[lane] = 0;
    WF_LOOP
    for (int w = lane; w < p.words; w += 32) p.reached[w] = 0;
  }
  WF_FENCE();
  WF_LOOP
  while (true) {
    WF_LANES(lane) {
      fresh[lane] = 0;
      WF_UNROLL
      for (int s = 0; s < slots; ++s) {
        const int j = lane + 32 * s;
        WF_LOOP
        for (int w = 0; w < p.words && j < p.columns && ((known[lane] | fresh[lane]) >> s & 1u) == 0; ++w) {
          const unsigned rows = p.bits[j * p.words + w] & p.reached[w];
          if (rows == 0) continue;
          const int i = 32 * w + lowest_bit(rows);
          dual(lane, s) = cost_of(p, i, j) - row_dual[i];
          fresh[lane] |= 1u << s;
        }
      }
      some[lane] = fresh[lane] != 0;
    }
    if (warp_ballot(some) == 0) {  // the next tree
      Lanes<unsigned> first;
      WF_LANES(lane) {
        first[lane] = ~0u;
        WF_UNROLL
        for (int s = slots - 1; s >= 0; --s) {
          const int j = lane + 32 * s;
          if (j < p.columns && (known[lane] >> s & 1u) == 0) first[lane] = static_cast<unsigned>(j);
        }
      }
      const int root = static_cast<int>(warp_least(first));
      if (root < 0) break;
      WF_LANES(lane) {
        WF_UNROLL
        for (int s = 0; s < slots; ++s) {
          if (lane + 32 * s != root) continue;
          dual(lane, s) = static_cast<double>(c.price(lane, s));
          fresh[lane] = 1u << s;
        }
      }
    }
    WF_LANES(lane) {
      WF_UNROLL
      for (int s = 0; s < slots; ++s) {
        const int j = lane + 32 * s;
        WF_LOOP
        for (int w = 0; w < p.words && (fresh[lane] >> s & 1u) != 0; ++w) {
          unsigned rows = p.bits[j * p.words + w];
          if (rows != 0) rows &= ~atomic_set_bits(p.reached + w, rows);  // a row belongs to the first that reaches it
          WF_LOOP
          for (; rows != 0; rows &= rows - 1) {
            const int i = 32 * w + lowest_bit(rows);
            row_dual[i] = cost_of(p, i, j) - dual(lane, s);
          }
        }
      }
      known[lane] |= fresh[lane];
    }
    WF_FENCE();
  }
  Lanes<double> cost, slack;
  WF_LANES(lane) {
    LaneArray<double, slots> above;
    double most = 0;
    WF_UNROLL
    for (int s = 0; s < slots; ++s) above(lane, s) = 0;
    WF_LOOP
    for (int i = 0; i < p.rows; ++i) {
      const double u = row_dual[i];
      most = greater(most, u < 0 ? -u : u);
      WF_UNROLL
      for (int s = 0; s < slots; ++s) {
        const int j = lane + 32 * s;
        if (j < p.columns) above(lane, s) = greater(above(lane, s), u + dual(lane, s) - cost_of(p, i, j));
      }
    }
    cost[lane] = slack[lane] = 0;
    WF_UNROLL
    for (int s = 0; s < slots; ++s) {
      const int j = lane + 32 * s;
      WF_LOOP
      for (int w = 0; w < p.words && j < p.columns; ++w) {
        WF_LOOP
        for (unsigned left = p.bits[j * p.words + w]; left != 0; left &= left - 1) {
          const int i = 32 * w + lowest_bit(left);
          const double mass = static_cast<double>(p.flow[i * p.columns + j]);
          const double fee = cost_of(p, i, j), u = row_dual[i], v = dual(lane, s);
          const double size = (fee < 0 ? -fee : fee) + most + (v < 0 ? -v : v);
          cost[lane] += mass * fee;
          // what rounding may have hidden is added
          slack[lane] += mass * ((fee - u - v) + above(lane, s) + size * 9e-16);
        }
      }
    }
  }
  total = warp_sum(cost);
  gap = warp_sum(slack);
}

struct Wanted {
  double mass;  // of all rows
  double most;  // totals above are of no interest
  int cells;    // problems of more costs are not solved to the end
};

// Prices that a search starts from. Says whether they prove that the total is above what is of interest.
template <int slots>
WF_DEVICE bool start_prices(Problem& p, Columns<slots>& c, const Wanted& wanted) {
  WF_LANES(lane) {
    WF_UNROLL
    for (int s = 0; s < slots; ++s) c.price(lane, s) = 0;
  }
  WF_LOOP
  for (int pass = 0; pass < 2; ++pass) {  // so that there is one copy of the code
    lower_rows(p, c);
    if (pass == 0) soften(p, c, wanted.mass);
    WF_FENCE();  // the next pass writes what the rounds have read
  }
  tighten(p, c);
  return wanted.most < 1e300 && least_total(p, c) > wanted.most;
}

// Whether a problem is soon proved to be above what is of interest.
template <int slots>
WF_DEVICE bool too_far(Problem& p, const Wanted& wanted) {
  Columns<slots> c;
  return wanted.most < 1e300 && start_prices(p, c, wanted);
}

// Solves a problem whose costs, masses and sizes are set. A negative gap says that it could not. The total is infinite
// where duals prove early that it is above what is of interest.
template <int slots>
WF_DEVICE void solve(Problem& p, const Wanted& wanted, double& total, double& gap, int& steps) {
  Columns<slots> c;
  p.words = (p.rows + 31) / 32;
  steps = 0;
  total = 0;
  gap = -1;
  if (start_prices(p, c, wanted)) {
    total = static_cast<double>(infinite());
    gap = 0;
    return;
  }
  if (p.rows * p.columns > wanted.cells) return;
  start_flows(p, c);
  const int most = 64 * (p.rows + p.columns) + 1024;
  WF_LOOP
  for (int i = 0; i < p.rows; ++i) {
    WF_LOOP
    for (int tries = 0; p.excess[i] > 0; ++tries) {
      if (tries > most || !search(p, c, i, steps)) return;
    }
  }
  prove(p, c, total, gap);
}

}  // namespace wordferry
