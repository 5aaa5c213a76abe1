// Bags of words as an index stores them.
#pragma once

#include <cstdint>

namespace wordferry {

// Documents in the order of their rows, as they are stored.
struct StoredBags {
  const std::int64_t* indptr;
  const void* words;
  int word_width;        // bytes of a word: 2 (unsigned) or 4
  const void* counts;
  int width;             // bytes of a count
  const float* totals;   // the sum of the counts of each row
  std::int64_t rows, stored;
  float largest_total, mean_total;

  // Calls use(words, counts, size) for a row. False when the row leads outside of the arrays, or names a word behind
  // the last one of the vocabulary.
  template <class Use>
  bool read(std::int64_t row, std::int64_t vocabulary, Use&& use) const {
    const std::int64_t begin = indptr[row], end = indptr[row + 1];
    if (begin < 0 || end < begin || end > stored) return false;
    if (word_width == 2) return with(static_cast<const std::uint16_t*>(words), begin, end, vocabulary, use);
    return with(static_cast<const std::int32_t*>(words), begin, end, vocabulary, use);
  }

 private:
  template <class Word, class Use>
  bool with(const Word* all, std::int64_t begin, std::int64_t end, std::int64_t vocabulary, Use&& use) const {
    bool inside = true;
    for (std::int64_t k = begin; k < end; ++k) inside &= all[k] >= 0 && all[k] < vocabulary;
    if (!inside) return false;
    if (width == 1) use(all + begin, static_cast<const std::uint8_t*>(counts) + begin, end - begin);
    if (width == 2) use(all + begin, static_cast<const std::uint16_t*>(counts) + begin, end - begin);
    if (width == 4) use(all + begin, static_cast<const std::int32_t*>(counts) + begin, end - begin);
    return true;
  }
};

// The mass of a word that a document has so often.
inline float mass_of(double count, float total) { return static_cast<float>(count / static_cast<double>(total)); }

}  // namespace wordferry
