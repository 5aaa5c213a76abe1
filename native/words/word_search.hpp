// Word search over lists by word, as an index stores them: the forms of a stem are put together while a query runs.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "stored/views.hpp"

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

// The least length of a class. Short ones have one each, of longer ones sixteen share a doubling.
double least_length(int length_class);

// The tokens of a row; 0 where damage made something else of them.
std::int64_t tokens_of(const float* lengths, std::int64_t row);

// What a word that comes once is worth in each document, at least, in parts of 65,536.
struct Once {
  Saturation saturation;
  std::vector<std::uint16_t> values;
};

// Documents as word search takes them, with the tokens of each. Every offset is checked when it is used.
class WordDocuments {
 public:
  WordDocuments(const StoredDocuments& stored, const In<float>& lengths);

  std::int64_t rows() const { return part_.bags.rows; }

  // What a word that comes once is worth in each document; kept for the constants that were asked for last.
  std::shared_ptr<const Once> once(const Saturation& saturation) const;

  WordPart get(std::int64_t start, const Once* once) const {
    WordPart found = part_;
    found.length_classes = classes_.data();
    found.once = once == nullptr ? nullptr : once->values.data();
    found.start = start;
    return found;
  }

 private:
  WordPart part_;
  Held held_;
  std::vector<std::uint8_t> classes_;
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
  mutable std::shared_ptr<const Once> once_;
};

// The documents of some parts one after the other; holds on to what was made for them.
struct WordParts {
  std::vector<WordPart> parts;
  std::vector<std::shared_ptr<const Once>> once;
  std::int64_t rows = 0;

  WordParts(const std::vector<const WordDocuments*>& given, const Saturation* saturation) {
    for (const WordDocuments* part : given) {
      require(part != nullptr, "a part must not be None");
      if (saturation != nullptr) once.push_back(part->once(*saturation));
      parts.push_back(part->get(rows, saturation == nullptr ? nullptr : once.back().get()));
      rows += part->rows();
    }
  }
};

}  // namespace wordferry
