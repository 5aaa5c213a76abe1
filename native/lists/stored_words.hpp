// Word search over lists by word, as an index stores them: the forms of a stem are put together while a query runs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "lists/lists.hpp"
#include "lists/stored_lists.hpp"
#include "support/compiler.hpp"
#include "support/watch.hpp"

namespace wordferry {

// Words and counts by row, as they are stored; whole numbers of any of the widths that files have.
struct CountedRows {
  const void* indptr;
  int indptr_width;  // 4 or 8
  const void* words;
  int word_width;  // 2 (unsigned) or 4
  const void* counts;
  int width;  // 1 or 2 (unsigned), or 4
  std::int64_t rows, stored;

  // Calls use(word, count) for each word of a row. False when the row leads outside of the arrays.
  template <class Use>
  bool read(std::int64_t row, Use&& use) const {
    std::int64_t begin, end;
    if (!span(row, begin, end)) return false;
    if (word_width == 2) {
      by_count(static_cast<const std::uint16_t*>(words), begin, end, use);
    } else {
      by_count(static_cast<const std::int32_t*>(words), begin, end, use);
    }
    return true;
  }

  bool span(std::int64_t row, std::int64_t& begin, std::int64_t& end) const {
    if (indptr_width == 8) {
      begin = static_cast<const std::int64_t*>(indptr)[row];
      end = static_cast<const std::int64_t*>(indptr)[row + 1];
    } else {
      begin = static_cast<const std::int32_t*>(indptr)[row];
      end = static_cast<const std::int32_t*>(indptr)[row + 1];
    }
    return begin >= 0 && begin <= end && end <= stored;
  }

  // Ask for what read() is going to look at: first where the row is, some time later the row itself.
  void fetch_place(std::int64_t row) const { prefetch_line(static_cast<const char*>(indptr) + row * indptr_width); }

  void fetch_row(std::int64_t row) const {
    constexpr std::int64_t line = 64;
    std::int64_t begin, end;
    if (!span(row, begin, end)) return;
    const char* const first = static_cast<const char*>(words) + begin * word_width;
    const std::int64_t size = std::min((end - begin) * word_width, 4 * line);
    for (std::int64_t at = 0; at < size + line; at += line) prefetch_line(first + at);
    prefetch_line(static_cast<const char*>(counts) + begin * width);
    prefetch_line(static_cast<const char*>(counts) + end * width);
  }

 private:
  template <class Word, class Use>
  void by_count(const Word* all, std::int64_t begin, std::int64_t end, Use&& use) const {
    if (width == 1) each(all, static_cast<const std::uint8_t*>(counts), begin, end, use);
    if (width == 2) each(all, static_cast<const std::uint16_t*>(counts), begin, end, use);
    if (width == 4) each(all, static_cast<const std::int32_t*>(counts), begin, end, use);
  }

  template <class Word, class Count, class Use>
  static void each(const Word* all, const Count* often, std::int64_t begin, std::int64_t end, Use&& use) {
    for (std::int64_t at = begin; at < end; ++at) {
      use(static_cast<std::int32_t>(all[at]), static_cast<std::int32_t>(often[at]));
    }
  }
};

// Some documents, by word and by row; of each pair the first is of words with a vector, the second of those without.
struct WordPart {
  StoredLists sets[2];
  CountedRows bags[2];
  const float* totals;                 // the tokens of each row that have a vector
  const std::uint8_t* length_classes;  // of each row, and of as many more as fill the last block
  const std::uint16_t* once;           // the same: at least what a word that comes once is worth, in parts of 65,536
  int least_class, largest_class;
  std::int64_t rows;
  std::int64_t start;  // of the rows among those of all parts
};

constexpr int length_classes = 256;

// A class of lengths for bounds: short ones have one each, of longer ones sixteen share a doubling.
std::uint8_t length_class(std::int64_t length);
// The least length of a class.
double least_length(int length_class);

// The tokens of a row: its total, and what its words without a vector count. False when the row leads outside.
bool length_of(const float* totals, const CountedRows& others, std::int64_t row, std::int64_t& length);

// One form of one word of a query.
struct StoredForm {
  std::int32_t slot;  // which word of the query
  std::int32_t word;
  bool other;  // in the second of the two sets of lists
  bool exact;  // the very form that was asked for
};

// A query by words; `forms` rise by slot, each of which has a factor.
struct FormQuery {
  std::vector<StoredForm> forms;
  std::vector<double> factors;
  Saturation saturation;
};

struct BestRows {
  std::vector<Scored> best;
  std::int64_t visited = 0;    // entries of lists
  std::int64_t evaluated = 0;  // documents whose score was computed
};

// The best k rows by BM25, by (score falling, row rising); a row is left out where allowed[row] = 0. False when a list
// or a bag leads outside of itself, which only damaged ones do.
bool best_by_words(const std::vector<WordPart>& parts, const FormQuery& query, const std::uint8_t* allowed,
                   std::int64_t k, BestRows& found, Watch& watch);

// The stems of some rows, and what they weigh: the stem of word w with a vector is group_of[w], that of word w without is
// group_of[vocabulary + w].
struct StemWeights {
  const std::int32_t* group_of;
  std::int64_t vocabulary, words;  // words: all that group_of knows
  const double* idf;               // of each stem
  std::int64_t groups;
};

// For each of some rows the m nearest of the others (see nearest_among), and whether it has all of the wanted stems,
// which rise. False when a bag leads outside, or has a word without a stem.
bool near_rows(const std::vector<WordPart>& parts, const StemWeights& stems, const std::int64_t* rows,
               std::int64_t count, const std::vector<std::int32_t>& wanted, std::int64_t m, std::int64_t* found,
               double* cosines, std::uint8_t* complete, Watch& watch);

// Adds to df[group] in how many rows some of its words stand: those from starts[group] on, where a word without a vector
// comes behind the vocabulary. False when a list leads outside of itself.
bool stem_frequencies(const StoredLists (&sets)[2], const std::int64_t* starts, const std::int32_t* words,
                      std::int64_t groups, std::int64_t vocabulary, std::int64_t* df, Watch& watch);

}  // namespace wordferry
