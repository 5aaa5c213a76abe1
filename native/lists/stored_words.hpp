// Word search over lists by word, as an index stores them: the forms of a stem are put together while a query runs.
#pragma once

#include <cstdint>
#include <vector>

#include "lists/lists.hpp"
#include "lists/stored_lists.hpp"
#include "support/watch.hpp"

namespace wordferry {

// One form of one word of a query.
struct StoredForm {
  std::int32_t slot;  // which word of the query
  std::int32_t word;
  bool other;  // in the second of the two sets of lists
  bool exact;  // the very form that was asked for
};

// The best k rows by BM25 over both sets of lists; `forms` rise by slot. False when a list leads outside of itself,
// which only damaged ones do.
bool best_by_words(const StoredLists (&sets)[2], const std::vector<StoredForm>& forms,
                   const std::vector<double>& factors, const Saturation& saturation, const std::int32_t* lengths,
                   std::int64_t rows, const std::uint8_t* allowed, std::int64_t k, std::vector<Scored>& best,
                   Watch& watch);

// Adds to df[group] in how many rows some form of the group stands; group_of gives the group of each word of a set, or
// -1. False when a list leads outside of itself.
bool stem_frequencies(const StoredLists (&sets)[2], const std::int32_t* const (&group_of)[2],
                      const std::int64_t (&sizes)[2], std::int64_t groups, std::int64_t* df, Watch& watch);

}  // namespace wordferry
