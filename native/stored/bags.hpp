// Bags of words by row (CSR), as an index stores them: whole numbers of any of the widths that files have.
#pragma once

#include <algorithm>
#include <cstdint>

#include "support/compiler.hpp"

namespace wordferry {

struct StoredBags {
  const std::int64_t* indptr;
  const void* words;
  int word_width;  // bytes of a word: 2 (unsigned) or 4
  const void* counts;
  int count_width;  // bytes of a count: 1 or 2 (unsigned), or 4
  std::int64_t rows, stored;

  // Calls use(words, counts) with pointers to the first word and count of the arrays, in their types.
  template <class Use>
  auto typed(Use&& use) const {
    if (word_width == 2) return by_count(static_cast<const std::uint16_t*>(words), use);
    return by_count(static_cast<const std::int32_t*>(words), use);
  }

  // Calls use(words, counts, size) for a row. False when the row leads outside of the arrays, or has a word that is not
  // below `word_count`.
  template <class Use>
  bool read(std::int64_t row, std::int64_t word_count, Use&& use) const {
    std::int64_t begin, end;
    if (!span(row, begin, end)) return false;
    return typed([&](const auto* all, const auto* often) {
      bool inside = true;
      for (std::int64_t k = begin; k < end; ++k) inside &= all[k] >= 0 && all[k] < word_count;
      if (inside) use(all + begin, often + begin, end - begin);
      return inside;
    });
  }

  // Calls use(word, count) for each word of a row, whatever number it has. False when the row leads outside.
  template <class Use>
  bool each(std::int64_t row, Use&& use) const {
    std::int64_t begin, end;
    if (!span(row, begin, end)) return false;
    typed([&](const auto* all, const auto* often) {
      for (std::int64_t k = begin; k < end; ++k) {
        use(static_cast<std::int32_t>(all[k]), static_cast<std::int32_t>(often[k]));
      }
      return true;
    });
    return true;
  }

  bool span(std::int64_t row, std::int64_t& begin, std::int64_t& end) const {
    begin = indptr[row];
    end = indptr[row + 1];
    return begin >= 0 && begin <= end && end <= stored;
  }

  // Ask for what each() is going to look at: first where the row is, some time later the row itself.
  void fetch_place(std::int64_t row) const { prefetch_line(indptr + row); }

  void fetch_row(std::int64_t row) const {
    constexpr std::int64_t line = 64;
    std::int64_t begin, end;
    if (!span(row, begin, end)) return;
    const char* const first = static_cast<const char*>(words) + begin * word_width;
    const std::int64_t size = std::min((end - begin) * word_width, 4 * line);
    for (std::int64_t at = 0; at < size + line; at += line) prefetch_line(first + at);
    prefetch_line(static_cast<const char*>(counts) + begin * count_width);
    prefetch_line(static_cast<const char*>(counts) + end * count_width);
  }

 private:
  template <class Word, class Use>
  auto by_count(const Word* all, Use&& use) const {
    if (count_width == 1) return use(all, static_cast<const std::uint8_t*>(counts));
    if (count_width == 2) return use(all, static_cast<const std::uint16_t*>(counts));
    return use(all, static_cast<const std::int32_t*>(counts));
  }
};

}  // namespace wordferry
