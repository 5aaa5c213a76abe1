// act of one pair of documents by a warp: every word fills its nearest words up to their masses, ignoring what others
// send there. Sums go in the order of the CPU and round as it does, so that values have its bits.
#pragma once

#include "transport.cuh"

namespace wordferry {

// Words that send or receive, with their masses, which count `scale` times.
struct Moved {
  const int* words;
  const Mass* masses;
  int count;
  Mass scale;
};

// Where the costs of words lie that send, and of those that receive; `flat` is the place of words that cost the same
// onto all others (-1: there are none).
struct Ways {
  const float* table;
  const int* from_place;
  const int* to_place;
  Index across, along;
  int flat;
};

// What it costs to send all masses, the first `transfers` times within what a word can take; negative where a cost is
// not finite.
template <int slots>
WF_DEVICE double transferred(const Moved& from, const Moved& to, const Ways& ways, Index transfers) {
  LaneArray<Index, slots> start;
  LaneArray<Mass, slots> room;
  LaneArray<int, slots> word;
  WF_LANES(lane) {
    WF_UNROLL
    for (int s = 0; s < slots; ++s) {
      const int j = lane + 32 * s;
      word(lane, s) = j < to.count ? to.words[j] : -1;
      start(lane, s) = j < to.count ? ways.to_place[to.words[j]] * ways.along : 0;
      room(lane, s) = j < to.count ? to.masses[j] * to.scale : 0;
    }
  }
  double total = 0;
  for (int i = 0; i < from.count; ++i) {
    const int sender = from.words[i], place = ways.from_place[sender];
    const float* row = ways.table + place * ways.across;
    Mass mass = from.masses[i] * from.scale;
    if (place == ways.flat) {
      const Index other = to.count > 0 ? ways.to_place[to.words[0]] * ways.along : 0;
      total = unfused(static_cast<double>(mass), static_cast<double>(row[other]), total);
      continue;
    }
    LaneArray<unsigned, slots> cost;
    WF_LANES(lane) {
      WF_UNROLL
      for (int s = 0; s < slots; ++s) {  // a word does not go to itself
        const bool open = word(lane, s) >= 0 && word(lane, s) != sender;
        cost(lane, s) = open ? bits_of(row[start(lane, s)]) : infinity_bits;
      }
    }
    for (Index step = 0; mass > 0; ++step) {
      Lanes<unsigned> least, own;
      Lanes<Mass> taken;
      WF_LANES(lane) {
        least[lane] = cost(lane, 0);
        WF_UNROLL
        for (int s = 1; s < slots; ++s) least[lane] = cost(lane, s) < least[lane] ? cost(lane, s) : least[lane];
      }
      const unsigned found = warp_least(least);
      if (found >= infinity_bits) return -1;
      WF_LANES(lane) {  // the first of equally near words
        own[lane] = ~0u;
        WF_UNROLL
        for (int s = slots - 1; s >= 0; --s) {
          if (cost(lane, s) == found) own[lane] = static_cast<unsigned>(lane + 32 * s);
        }
      }
      const int nearest = static_cast<int>(warp_least(own));
      WF_LANES(lane) {
        taken[lane] = 0;
        WF_UNROLL
        for (int s = 0; s < slots; ++s) {
          if (lane + 32 * s == nearest) {
            taken[lane] = room(lane, s);
            cost(lane, s) = infinity_bits;
          }
        }
      }
      const Mass fits = warp_from(taken, nearest & 31), moved = step < transfers && fits < mass ? fits : mass;
      total = unfused(static_cast<double>(moved), static_cast<double>(float_of(found)), total);
      mass -= moved;
    }
  }
  return total;
}

}  // namespace wordferry
