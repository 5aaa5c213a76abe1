// A query by words as scores of single documents take it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "support/at.hpp"
#include "words/word_search.hpp"

namespace wordferry {

// The words of a query by their number, so that the score of a bag is found in one walk over it.
class QueryTable {
 public:
  explicit QueryTable(const FormQuery& query)
      : query_(&query), exact_(query.factors.size(), 0), other_(query.factors.size(), 0) {
    for (const StoredForm& form : query.forms) uses_.push_back({form.word, form.slot, form.exact});
    std::stable_sort(uses_.begin(), uses_.end(), [](const Use& a, const Use& b) { return a.word < b.word; });
    std::size_t size = 16;
    while (size < 4 * uses_.size()) size *= 2;
    heads_.assign(size, -1);
    for (std::size_t i = 0; i < uses_.size(); ++i) {
      if (i > 0 && uses_[i - 1].word == uses_[i].word) continue;
      std::size_t place = slot_of(uses_[i].word, size);
      while (heads_[place] >= 0) place = (place + 1) & (size - 1);
      heads_[place] = static_cast<std::int32_t>(i);
    }
  }

  // The score of a row of a part; false when its bag leads outside.
  bool score(const WordPart& part, std::int64_t row, double& score) {
    const bool sound = part.bags.each(row, [&](std::int32_t word, std::int32_t count) { add(word, count); });
    std::sort(touched_.begin(), touched_.end());
    const Saturation& saturation = query_->saturation;
    const double rest = saturation.floor + saturation.slope * static_cast<double>(tokens_of(part.lengths, row));
    score = 0.0;
    for (const std::int32_t slot : touched_) {
      const auto place = at(slot);
      const double tf = static_cast<double>(exact_[place]) + saturation.stem * static_cast<double>(other_[place]);
      if (tf > 0) score += query_->factors[place] * (tf / (tf + rest));
      exact_[place] = other_[place] = 0;
    }
    touched_.clear();
    return sound;
  }

 private:
  struct Use {
    std::int32_t word, slot;
    bool exact;
  };

  static std::size_t slot_of(std::int32_t word, std::size_t size) {
    return (static_cast<std::uint32_t>(word) * 2654435761u >> 8) & (size - 1);
  }

  void add(std::int32_t word, std::int32_t count) {
    std::size_t place = slot_of(word, heads_.size());
    while (heads_[place] >= 0 && uses_[at(heads_[place])].word != word) place = (place + 1) & (heads_.size() - 1);
    if (heads_[place] < 0) return;
    for (std::size_t i = at(heads_[place]); i < uses_.size() && uses_[i].word == word; ++i) {
      const auto slot = at(uses_[i].slot);
      if (exact_[slot] == 0 && other_[slot] == 0) touched_.push_back(uses_[i].slot);
      (uses_[i].exact ? exact_ : other_)[slot] += count;
    }
  }

  const FormQuery* query_;
  std::vector<Use> uses_;
  std::vector<std::int32_t> heads_;  // by a hash of the word: its first use, or -1
  std::vector<std::int64_t> exact_, other_;
  std::vector<std::int32_t> touched_;
};

}  // namespace wordferry
