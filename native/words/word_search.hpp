// Word search over lists by word, as an index stores them: the forms of a stem are put together while a query runs.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "stored/stored.hpp"
#include "support/best.hpp"
#include "support/watch.hpp"

namespace wordferry {

// tf / (tf + floor + slope * length), where tf is the exact form's count plus `stem` times that of the other forms.
struct Saturation {
  double stem;
  double floor;
  double slope;
};

constexpr int class_count = 256;  // of lengths

// Some documents, by word and by row.
struct WordPart {
  StoredLists lists;
  StoredBags bags;
  const float* lengths;                          // the tokens of each row
  const std::uint8_t* length_classes = nullptr;  // of each row, and of as many more as fill the last block
  const std::uint16_t* once = nullptr;  // the same: at least what a word that comes once is worth, in parts of 65,536
  int least_class = class_count - 1, largest_class = 0;
  std::int64_t start = 0;  // of the rows among those of all parts
};

// A class of lengths for bounds: short ones have one each, of longer ones sixteen share a doubling.
std::uint8_t length_class(std::int64_t length);
// The least length of a class.
double least_length(int length_class);

// The tokens of a row; 0 where damage made something else of them.
std::int64_t tokens_of(const float* lengths, std::int64_t row);

// One form of one word of a query.
struct StoredForm {
  std::int32_t slot;  // which word of the query
  std::int32_t word;
  bool exact;  // the very form that was asked for
};

// A query by words; `forms` rise by slot, each of which has a factor.
struct FormQuery {
  std::vector<StoredForm> forms;
  std::vector<double> factors;
  Saturation saturation;
};

using BestScores = BestK<double, std::greater<double>>;

struct BestRows {
  std::vector<BestScores::Item> best;
  std::int64_t visited = 0;    // entries of lists
  std::int64_t evaluated = 0;  // documents whose score was computed
};

// The best k rows by BM25, by (score falling, row rising); a row is left out where allowed[row] = 0.
BestRows best_by_words(const std::vector<WordPart>& parts, const FormQuery& query, const bool* allowed, std::int64_t k,
                       Watch& watch);

// The score of each of some rows, 0 for one without a word of the query.
void scores_of(const std::vector<WordPart>& parts, const FormQuery& query, std::span<const std::int64_t> rows,
               double* scores, Watch& watch);

// The stem of each word, and what stems weigh.
struct StemWeights {
  const std::int32_t* group_of;
  std::int64_t words;
  const double* idf;  // of each stem
  std::int64_t groups;
};

// Documents as CSR over stems (one stem may come several times in a row), `weight` the idf of each entry.
struct StemRows {
  std::span<const std::int64_t> indptr;
  std::span<const std::int32_t> stems, counts;
  std::span<const double> weight;
  std::int64_t groups;  // stems are below this
};

// For each document the `m` others whose vectors ((1 + ln count) * idf, length 1) have the largest cosine above 0, by
// (cosine falling, row rising); missing places are -1 and 0.
void nearest_among(const StemRows& rows, std::int64_t m, std::int64_t* found, double* cosines, Watch& watch);

// For each of some rows the m nearest of the others (see nearest_among), and whether it has all of the wanted stems,
// which rise.
void near_rows(const std::vector<WordPart>& parts, const StemWeights& stems, std::span<const std::int64_t> rows,
               std::span<const std::int32_t> wanted, std::int64_t m, std::int64_t* found, double* cosines,
               bool* complete, Watch& watch);

// Adds to df[group] in how many rows some of its words stand: those from starts[group] on.
void stem_frequencies(const StoredLists& lists, const std::int64_t* starts, const std::int32_t* words,
                      std::int64_t groups, std::int64_t* df, Watch& watch);

// Numbers for keys, which ascend: groups[i] = the number of keys[i] among the known ones, which ascend too, or the next
// one. Writes known and new keys in order, with their numbers, to `merged` and `merged_numbers`; answers how many.
std::int64_t merge_keys(const std::uint64_t* known, const std::int32_t* numbers, std::int64_t known_count,
                        const std::uint64_t* keys, std::int64_t count, std::int32_t* groups, std::uint64_t* merged,
                        std::int32_t* merged_numbers);

}  // namespace wordferry
