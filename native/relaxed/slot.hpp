// What sixteen documents know of one word, and the one step of every pass.
#pragma once

#include "support/lanes.hpp"

namespace wordferry {

// sum += max(mass - own, 0) * near, where `near` is the cost of moving the word to each document and `own` the mass of
// the word that each holds itself. Every way to RWMD and Rel-RWMD rounds as this does.
WF_ALWAYS_INLINE void add_excess(Lanes& sum, float mass, const Lanes& near, const Lanes& own) {
  Lanes excess = mass - own;
  keep_positive(excess);
  sum += excess * near;
}

// sum += mass * near.
WF_ALWAYS_INLINE void add_whole(Lanes& sum, float mass, const Lanes& near) { sum += mass * near; }

}  // namespace wordferry
