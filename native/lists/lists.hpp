// Inverted lists of words, grouped by stem: BM25 over a collection, and which of the documents found stand together.
#pragma once

#include <cstdint>
#include <vector>

#include "support/watch.hpp"

namespace wordferry {

// One list for each stem. A posting is a document, which form of the stem stands there, and how often; the postings of
// one document are neighbours, and documents rise.
struct WordLists {
  const std::int64_t* starts;     // groups + 1
  const std::int32_t* documents;  // postings
  const std::uint16_t* forms;
  const std::uint16_t* counts;
  const std::int32_t* lengths;  // tokens of each document
  std::int64_t groups;
  std::int64_t rows;
};

// Bags of words as they come in: CSR over words, and the stem and the form of each word.
struct WordBags {
  const std::int64_t* indptr;
  const std::int32_t* words;
  const std::int32_t* counts;
  std::int64_t rows;
  const std::int32_t* group_of;
  const std::uint16_t* form_of;
};

struct QueryWord {
  std::int32_t group;
  std::int32_t form;  // the form that counts fully; -1 when no document has it
  double factor;      // everything of the word's part that does not depend on the document
};

// tf / (tf + floor + slope * length), where tf is the exact form's count plus `stem` times that of the other forms.
struct Saturation {
  double stem;
  double floor;
  double slope;
};

struct Scored {
  double score;
  std::int64_t row;
};

// How many postings each list gets; a count above 65,535 takes several. Adds the distinct documents of each to `df`.
void count_postings(const WordBags& bags, std::int64_t groups, std::int64_t* sizes, std::int64_t* df, Watch& watch);

// Fills the postings; `places` holds the start of each list and is used up.
void place_postings(const WordBags& bags, std::int64_t* places, std::int32_t* documents, std::uint16_t* forms,
                    std::uint16_t* counts, Watch& watch);

// The best `k` documents with a score above 0, by (score falling, row rising); a row is left out where allowed[row] = 0.
std::vector<Scored> best_documents(const WordLists& lists, const std::vector<QueryWord>& query,
                                   const Saturation& saturation, const std::uint8_t* allowed, std::int64_t k,
                                   Watch& watch);

// Documents as CSR over stems (one stem may come several times in a row), `weight` the idf of each entry. For each
// document the `m` others whose vectors ((1 + ln count) * idf, length 1) have the largest cosine above 0, by (cosine
// falling, row rising); missing places are -1 and 0.
void nearest_among(const std::int64_t* indptr, const std::int32_t* stems, const std::int32_t* counts,
                   const double* weight, std::int64_t rows, std::int64_t groups, std::int64_t m, std::int64_t* found,
                   double* cosines, Watch& watch);

}  // namespace wordferry
