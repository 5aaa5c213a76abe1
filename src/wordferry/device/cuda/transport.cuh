// Exact transport: one warp solves one problem, by successive shortest paths with whole masses.
//
// Sources are rows, sinks are columns, of which there are no more than rows: the steps of a search are columns. Column j
// belongs to lane j % 32, slot j / 32. Prices of columns and what a search
// knows of them stay in registers; costs, duals of rows and the flows, a list of arcs for each column, in shared memory.
// Prices start soft (a few rounds of entropic scaling), which leaves less than half of the searches' steps. The search is
// in float32; afterwards duals are computed anew along the flows in float64, and `gap` bounds how far the plan can be
// from the optimum: sum of flow * (cost - dual of the row - dual of the column) with duals that are feasible.
#pragma once

#include "lanes.cuh"

namespace wordferry {

using Mass = long long;

constexpr int soft_rounds = 6;
constexpr float soft_share = 0.1f;  // softness, as a share of the typical gap between a cost and the least of its row
constexpr float tiny_sum = 1e-30f;
constexpr int no_arc = -1;

// A problem in shared memory; every array is aligned to 8 bytes.
struct Problem {
  float* costs;  // rows x columns; in device memory where they are many
  const double* fine;  // costs in float64 where there are such
  int rows, columns, capacity;
  double* row_dual;
  double* column_dual;
  Mass* excess;
  Mass* room;
  Mass* amount;  // of each arc
  float* potential;  // of rows, as the search uses it
  float* reached;    // distance at which a row was reached, infinite before
  short* arc_row;
  short* arc_column;
  short* next_arc;
  short* head;        // first arc of each column
  short* parent;      // of each column: the row it was reached from
  short* row_parent;  // of each row: the column it was reached from
  short* row_arc;     // and by which arc
  int arcs;           // in use or once used
  int free_arc;       // first of the list of unused ones
};

WF_DEVICE int arc_room(int rows, int columns) { return rows + columns + 32; }

WF_DEVICE char* placed(char*& memory, int bytes) {
  char* start = memory;
  memory += (bytes + 7) / 8 * 8;
  return start;
}

// Sets the arrays of a problem of at most `rows` x `columns`; `costs` is used where it is not null.
WF_DEVICE void place_problem(Problem& p, char* memory, int rows, int columns, float* costs) {
  p.capacity = arc_room(rows, columns);
  p.row_dual = reinterpret_cast<double*>(placed(memory, 8 * rows));
  p.column_dual = reinterpret_cast<double*>(placed(memory, 8 * columns));
  p.excess = reinterpret_cast<Mass*>(placed(memory, 8 * rows));
  p.room = reinterpret_cast<Mass*>(placed(memory, 8 * columns));
  p.amount = reinterpret_cast<Mass*>(placed(memory, 8 * p.capacity));
  p.potential = reinterpret_cast<float*>(placed(memory, 4 * rows));
  p.reached = reinterpret_cast<float*>(placed(memory, 4 * rows));
  p.arc_row = reinterpret_cast<short*>(placed(memory, 2 * p.capacity));
  p.arc_column = reinterpret_cast<short*>(placed(memory, 2 * p.capacity));
  p.next_arc = reinterpret_cast<short*>(placed(memory, 2 * p.capacity));
  p.head = reinterpret_cast<short*>(placed(memory, 2 * columns));
  p.parent = reinterpret_cast<short*>(placed(memory, 2 * columns));
  p.row_parent = reinterpret_cast<short*>(placed(memory, 2 * rows));
  p.row_arc = reinterpret_cast<short*>(placed(memory, 2 * rows));
  p.costs = costs != nullptr ? costs : reinterpret_cast<float*>(memory);
  p.fine = nullptr;
}

WF_DEVICE double cost_of(const Problem& p, int row, int column) {
  const int cell = row * p.columns + column;
  return p.fine != nullptr ? p.fine[cell] : static_cast<double>(p.costs[cell]);
}

// Adds to the flow of an arc. For one lane.
WF_DEVICE bool add_flow(Problem& p, int row, int column, Mass mass) {
  for (int arc = p.head[column]; arc != no_arc; arc = p.next_arc[arc]) {
    if (p.arc_row[arc] == row) {
      p.amount[arc] += mass;
      return true;
    }
  }
  int arc = p.free_arc;
  if (arc != no_arc) {
    p.free_arc = p.next_arc[arc];
  } else if (p.arcs < p.capacity) {
    arc = p.arcs++;
  } else {
    return false;
  }
  p.amount[arc] = mass;
  p.arc_row[arc] = static_cast<short>(row);
  p.arc_column[arc] = static_cast<short>(column);
  p.next_arc[arc] = p.head[column];
  p.head[column] = static_cast<short>(arc);
  return true;
}

// Takes from the flow of an arc; an arc without flow leaves the list of its column. For one lane.
WF_DEVICE void take_flow(Problem& p, int arc, Mass mass) {
  p.amount[arc] -= mass;
  if (p.amount[arc] > 0) return;
  const int column = p.arc_column[arc];
  if (p.head[column] == arc) {
    p.head[column] = p.next_arc[arc];
  } else {
    int before = p.head[column];
    while (p.next_arc[before] != arc) before = p.next_arc[before];
    p.next_arc[before] = p.next_arc[arc];
  }
  p.next_arc[arc] = static_cast<short>(p.free_arc);
  p.free_arc = arc;
}

// p.arcs and p.free_arc are those of lane 0 alone while it changes flows; this tells the others.
WF_DEVICE void share_flows(Problem& p, Lanes<int>& arcs, Lanes<int>& free_arc) {
  p.arcs = warp_from(arcs, 0);
  p.free_arc = warp_from(free_arc, 0);
  WF_FENCE();
}

template <int slots>
struct Columns {
  LaneArray<float, slots> price;   // dual of the column
  LaneArray<float, slots> key;     // distance; no number once the column is settled, or where there is none
  LaneArray<float, slots> settled;  // distance at which it was settled, infinite before
  LaneArray<int, slots> parent;
};

// The least of each row of costs less prices becomes its potential; p.parent is not used here.
template <int slots>
WF_DEVICE void lower_rows(Problem& p, Columns<slots>& c) {
  for (int i = 0; i < p.rows; ++i) {
    Lanes<unsigned> least;
    WF_LANES(lane) {
      float value = infinite();
      WF_UNROLL
      for (int s = 0; s < slots; ++s) {
        const int j = lane + 32 * s;
        if (j < p.columns) value = lesser(value, p.costs[i * p.columns + j] - c.price(lane, s));
      }
      least[lane] = in_order(value);
    }
    const float value = from_order(warp_least(least));
    WF_LANES(lane) {
      if (lane == 0) p.potential[i] = value;
    }
  }
  WF_FENCE();
}

// Prices from a few rounds of entropic scaling: price_j = softness * ln g_j with f_i = a_i / sum_j K_ij g_j and
// g_j = b_j / sum_i K_ij f_i, K_ij = exp((least_i - c_ij) / softness).
template <int slots>
WF_DEVICE void soften(Problem& p, Columns<slots>& c, double total) {
  Lanes<float> sample;
  WF_LANES(lane) {
    sample[lane] = 0;
    for (int i = lane; i < p.rows; i += 32) {
      sample[lane] += p.costs[i * p.columns + static_cast<int>(7LL * i % p.columns)] - p.potential[i];
    }
  }
  const float softness = soft_share * warp_sum(sample) / static_cast<float>(p.rows);
  if (!(softness > tiny_sum && softness < 1 / tiny_sum)) return;
  const float steep = 1.44269504f / softness;
  const float share = static_cast<float>(1 / total);
  LaneArray<float, slots> scaling, sums;
  WF_LANES(lane) {
    WF_UNROLL
    for (int s = 0; s < slots; ++s) scaling(lane, s) = 1;
  }
  for (int round = 0; round < soft_rounds; ++round) {
    WF_LANES(lane) {
      WF_UNROLL
      for (int s = 0; s < slots; ++s) sums(lane, s) = 0;
    }
    for (int i = 0; i < p.rows; ++i) {
      LaneArray<float, slots> near;
      Lanes<float> reach;
      const float least = p.potential[i] * steep;
      WF_LANES(lane) {
        reach[lane] = 0;
        WF_UNROLL
        for (int s = 0; s < slots; ++s) {
          const int j = lane + 32 * s;
          near(lane, s) = j < p.columns ? power_of_two(least - p.costs[i * p.columns + j] * steep) : 0.0f;
          reach[lane] = fused(near(lane, s), scaling(lane, s), reach[lane]);
        }
      }
      const float factor = static_cast<float>(p.excess[i]) * share / (warp_sum(reach) + tiny_sum);
      WF_LANES(lane) {
        WF_UNROLL
        for (int s = 0; s < slots; ++s) sums(lane, s) = fused(near(lane, s), factor, sums(lane, s));
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

// Raises prices until each column has a tight arc, and sends what fits along the tight arcs of columns and of rows.
template <int slots>
WF_DEVICE bool start_flows(Problem& p, Columns<slots>& c) {
  WF_LANES(lane) {
    WF_UNROLL
    for (int s = 0; s < slots; ++s) {
      const int j = lane + 32 * s;
      float least = infinite();
      int row = 0;
      for (int i = 0; j < p.columns && i < p.rows; ++i) {
        const float value = p.costs[i * p.columns + j] - p.potential[i];
        if (value < least) {
          least = value;
          row = i;
        }
      }
      if (j < p.columns) {
        c.price(lane, s) = least;
        p.parent[j] = static_cast<short>(row);
        p.head[j] = no_arc;
      }
    }
  }
  for (int i = 0; i < p.rows; ++i) {  // the tight column of each row
    Lanes<unsigned> least;
    WF_LANES(lane) {
      float value = infinite();
      WF_UNROLL
      for (int s = 0; s < slots; ++s) {
        const int j = lane + 32 * s;
        if (j < p.columns) value = lesser(value, p.costs[i * p.columns + j] - c.price(lane, s));
      }
      least[lane] = in_order(value);
    }
    const unsigned found = warp_least(least);
    WF_LANES(lane) {
      if (lane == 0) {
        p.potential[i] = from_order(found);
        p.reached[i] = infinite();
      }
      if (least[lane] == found) {
        WF_UNROLL
        for (int s = 0; s < slots; ++s) {
          const int j = lane + 32 * s;
          if (j < p.columns && in_order(p.costs[i * p.columns + j] - c.price(lane, s)) == found) {
            p.row_parent[i] = static_cast<short>(j);
          }
        }
      }
    }
  }
  WF_FENCE();
  Lanes<int> arcs, free_arc;
  Lanes<bool> fits;
  WF_LANES(lane) {
    arcs[lane] = 0;
    free_arc[lane] = no_arc;
    fits[lane] = true;
    if (lane == 0) {
      p.arcs = 0;
      p.free_arc = no_arc;
      for (int k = 0; k < p.rows + p.columns; ++k) {
        const int i = k < p.rows ? k : p.parent[k - p.rows], j = k < p.rows ? p.row_parent[k] : k - p.rows;
        const Mass mass = p.excess[i] < p.room[j] ? p.excess[i] : p.room[j];
        if (mass <= 0) continue;
        p.excess[i] -= mass;
        p.room[j] -= mass;
        fits[lane] = add_flow(p, i, j, mass) && fits[lane];
      }
      arcs[lane] = p.arcs;
      free_arc[lane] = p.free_arc;
    }
  }
  share_flows(p, arcs, free_arc);
  return warp_from(fits, 0);
}

// Distances of columns over an arc from a row that was reached at `distance`.
template <int slots>
WF_DEVICE void relax(const Problem& p, Columns<slots>& c, int row, float distance, bool first) {
  const float base = distance - p.potential[row];
  const float* costs = p.costs + row * p.columns;
  WF_LANES(lane) {
    WF_UNROLL
    for (int s = 0; s < slots; ++s) {
      const int j = lane + 32 * s;
      if (j >= p.columns) {
        if (first) c.key(lane, s) = no_number();
        continue;
      }
      const float value = greater(base + (costs[j] - c.price(lane, s)), distance);
      if (first || value < c.key(lane, s)) {
        c.key(lane, s) = value;
        c.parent(lane, s) = row;
      }
      if (first) c.settled(lane, s) = infinite();
    }
  }
}

// The column at the least distance that is not settled, and that distance's bits; -1 where there is none.
template <int slots>
WF_DEVICE int nearest_column(const Problem& p, Columns<slots>& c, unsigned& bits) {
  Lanes<unsigned> least;
  Lanes<int> slot;
  Lanes<bool> own;
  WF_LANES(lane) {
    least[lane] = 0x7fffffffu;
    slot[lane] = 0;
    WF_UNROLL
    for (int s = 0; s < slots; ++s) {
      const unsigned key = lane + 32 * s < p.columns ? bits_of(c.key(lane, s)) : 0x7fffffffu;
      if (key < least[lane]) {
        least[lane] = key;
        slot[lane] = s;
      }
    }
  }
  bits = warp_least(least);
  if (bits >= infinity_bits) return -1;
  WF_LANES(lane) own[lane] = least[lane] == bits;
  const int owner = lowest_bit(warp_ballot(own));
  return owner + 32 * warp_from(slot, owner);
}

// Sends what fits along the path from the source to a column with room. For one lane.
WF_DEVICE bool send(Problem& p, int source, int sink) {
  Mass mass = p.excess[source] < p.room[sink] ? p.excess[source] : p.room[sink];
  for (int i = p.parent[sink]; i != source; i = p.parent[p.row_parent[i]]) {
    const Mass flow = p.amount[p.row_arc[i]];
    mass = flow < mass ? flow : mass;
  }
  p.excess[source] -= mass;
  p.room[sink] -= mass;
  bool fits = true;
  for (int j = sink;;) {
    const int i = p.parent[j];
    fits = add_flow(p, i, j, mass) && fits;
    if (i == source) return fits;
    j = p.row_parent[i];
    take_flow(p, p.row_arc[i], mass);
  }
}

// One shortest path from a source, over columns in rising distance; then duals follow and flow is sent.
template <int slots>
WF_DEVICE bool search(Problem& p, Columns<slots>& c, int source, int& steps) {
  relax(p, c, source, 0.0f, true);
  unsigned bits = 0;
  int column = nearest_column(p, c, bits);
  while (column >= 0 && p.room[column] == 0) {
    ++steps;
    const float distance = float_of(bits);
    WF_LANES(lane) {
      WF_UNROLL
      for (int s = 0; s < slots; ++s) {
        if (lane + 32 * s == column) {
          c.settled(lane, s) = distance;
          c.key(lane, s) = no_number();
        }
      }
    }
    for (int arc = p.head[column]; arc != no_arc; arc = p.next_arc[arc]) {
      const int row = p.arc_row[arc];
      if (row == source || p.reached[row] < infinite()) continue;
      WF_FENCE();
      WF_LANES(lane) {
        if (lane == 0) {
          p.reached[row] = distance;
          p.row_parent[row] = static_cast<short>(column);
          p.row_arc[row] = static_cast<short>(arc);
        }
      }
      relax(p, c, row, distance, false);
    }
    WF_FENCE();
    column = nearest_column(p, c, bits);
  }
  if (column < 0) return false;
  const float end = float_of(bits);
  Lanes<int> arcs, free_arc;
  Lanes<bool> fits;
  WF_LANES(lane) {
    WF_UNROLL
    for (int s = 0; s < slots; ++s) {
      if (lane + 32 * s >= p.columns) continue;
      c.price(lane, s) += lesser(c.settled(lane, s) - end, 0.0f);
      p.parent[lane + 32 * s] = static_cast<short>(c.parent(lane, s));
    }
    for (int i = lane; i < p.rows; i += 32) {
      if (i == source) p.potential[i] += end;
      if (p.reached[i] < infinite()) {
        p.potential[i] += end - p.reached[i];
        p.reached[i] = infinite();
      }
    }
  }
  WF_FENCE();
  WF_LANES(lane) {
    arcs[lane] = free_arc[lane] = 0;
    fits[lane] = true;
    if (lane == 0) {
      fits[lane] = send(p, source, column);
      arcs[lane] = p.arcs;
      free_arc[lane] = p.free_arc;
    }
  }
  share_flows(p, arcs, free_arc);
  return warp_from(fits, 0);
}

// Duals along the flows in float64: the price of one column of each tree, and from it all others of the tree.
template <int slots>
WF_DEVICE void exact_duals(Problem& p, Columns<slots>& c) {
  const double unknown = static_cast<double>(no_number());
  WF_LANES(lane) {
    for (int i = lane; i < p.rows; i += 32) p.row_dual[i] = unknown;
    for (int j = lane; j < p.columns; j += 32) p.column_dual[j] = unknown;
  }
  for (int root = 0; root < p.columns; ++root) {
    WF_FENCE();
    const double dual = p.column_dual[root];
    if (dual == dual) continue;
    WF_FENCE();
    WF_LANES(lane) {
      WF_UNROLL
      for (int s = 0; s < slots; ++s) {
        if (lane + 32 * s == root) p.column_dual[root] = static_cast<double>(c.price(lane, s));
      }
    }
    for (bool more = true; more;) {
      WF_FENCE();
      Lanes<bool> changed;
      WF_LANES(lane) {
        changed[lane] = false;
        for (int arc = lane; arc < p.arcs; arc += 32) {
          if (p.amount[arc] <= 0) continue;
          const int i = p.arc_row[arc], j = p.arc_column[arc];
          const double u = p.row_dual[i], v = p.column_dual[j];
          if ((u == u) == (v == v)) continue;
          if (u == u) {
            p.column_dual[j] = cost_of(p, i, j) - u;
          } else {
            p.row_dual[i] = cost_of(p, i, j) - v;
          }
          changed[lane] = true;
        }
      }
      more = warp_ballot(changed) != 0;
    }
  }
  WF_FENCE();
}

// The cost of the plan, and how far it can be from the optimum. Rows' duals become the least that is feasible.
WF_DEVICE void prove(Problem& p, double& total, double& gap) {
  for (int i = 0; i < p.rows; ++i) {
    Lanes<double> least;
    WF_LANES(lane) {
      least[lane] = 1e300;
      for (int j = lane; j < p.columns; j += 32) least[lane] = lesser(least[lane], cost_of(p, i, j) - p.column_dual[j]);
    }
    const double value = warp_least(least);
    WF_FENCE();
    WF_LANES(lane) {
      if (lane == 0) p.row_dual[i] = value;
    }
  }
  WF_FENCE();
  Lanes<double> cost, slack;
  WF_LANES(lane) {
    cost[lane] = slack[lane] = 0;
    for (int arc = lane; arc < p.arcs; arc += 32) {
      const double mass = static_cast<double>(p.amount[arc]);
      if (mass <= 0) continue;
      const double c = cost_of(p, p.arc_row[arc], p.arc_column[arc]);
      const double u = p.row_dual[p.arc_row[arc]], v = p.column_dual[p.arc_column[arc]];
      const double size = (c < 0 ? -c : c) + (u < 0 ? -u : u) + (v < 0 ? -v : v);
      cost[lane] += mass * c;
      slack[lane] += mass * ((c - u - v) + size * 4.5e-16);  // what rounding may have hidden is added
    }
  }
  total = warp_sum(cost);
  gap = warp_sum(slack);
}

// Solves a problem whose costs, masses and sizes are set. A negative gap says that it could not.
template <int slots>
WF_DEVICE void solve(Problem& p, double mass, double& total, double& gap, int& steps) {
  Columns<slots> c;
  WF_LANES(lane) {
    WF_UNROLL
    for (int s = 0; s < slots; ++s) c.price(lane, s) = 0;
  }
  steps = 0;
  total = 0;
  gap = -1;
  lower_rows(p, c);
  soften(p, c, mass);
  lower_rows(p, c);
  if (!start_flows(p, c)) return;
  const int most = 64 * (p.rows + p.columns) + 1024;
  for (int i = 0; i < p.rows; ++i) {
    for (int tries = 0; p.excess[i] > 0; ++tries) {
      if (tries > most || !search(p, c, i, steps)) return;
    }
  }
  exact_duals(p, c);
  prove(p, total, gap);
}

}  // namespace wordferry
