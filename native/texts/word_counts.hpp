// Words of documents, counted: a table of words with their numbers, and texts that are split and counted against it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/pool.hpp"

namespace wordferry {

// Ends every word where words stand one after the other: a byte that no UTF-8 text holds.
constexpr char word_end = '\xff';

// The number of a word, by which the words of a document are ordered.
using WordCode = std::int32_t;
constexpr WordCode no_code = -1;

// Stands before a stop word of a text, which has a number of its own.
constexpr char stop_mark = '\x01';

class WordCodes {
 public:
  struct Entry {
    std::uint64_t hash = 0;
    std::uint64_t start = 0;
    std::uint32_t length = 0;
    WordCode code = no_code;
    WordCode stop_code = no_code;  // of the word behind the mark
    bool stop = false;
    bool used = false;
  };

  WordCodes();
  const Entry* find(std::string_view word) const;  // null when it is not there
  Entry& put(std::string_view word);               // the entry of a word, a new one without a code if there is none
  void set_code(std::string_view word, WordCode code);
  std::int64_t longest_run() const;  // of places in use, which is as far as a search may go

 private:
  std::size_t place(std::string_view word, std::uint64_t hash) const;
  void grow();

  std::vector<Entry> entries_;
  std::string letters_;
  std::size_t count_ = 0;
};

// How a text of ASCII letters is split: as the tokenizer "words.v1" splits it.
struct Splitting {
  bool lowercase = true;
  std::int64_t min_length = 1;
};

// Documents as bags of words, the words of a row rising.
struct CountedTexts {
  std::vector<std::int64_t> indptr{0}, tokens;
  std::vector<std::int32_t> words, counts;
  std::string new_words;  // in the order of their numbers, each ended by word_end
};

// One document after the other in `bytes`, document i ending at ends[i]. Where split[i] is set it is an ASCII text,
// else words that each end with word_end. Words that the table does not have are added to it with numbers from `next`
// on, in the order in which they come, so the result does not depend on the number of threads.
CountedTexts count_texts(WordCodes& table, std::string_view bytes, const std::int64_t* ends, const std::uint8_t* split,
                         std::int64_t documents, const Splitting& how, std::int32_t next, int threads, Watch& watch);

}  // namespace wordferry
