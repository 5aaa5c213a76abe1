// What sixteen documents know of one word, side by side in memory, and the one step of every pass.
#pragma once

#include "support/lanes.hpp"

namespace wordferry {

struct Slot {
  Lanes near;  // the cost of moving the word to the document
  Lanes mass;  // the mass of the word that the document holds itself
};

// sum += max(mass - slot.mass, 0) * slot.near
WF_ALWAYS_INLINE void add_excess(Lanes& sum, float mass, const Slot& slot) {
  Lanes excess = mass - slot.mass;
  keep_positive(excess);
  sum += excess * slot.near;
}

}  // namespace wordferry
