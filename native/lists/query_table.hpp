// A query by words as scores of single documents take it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "lists/stored_words.hpp"
#include "support/at.hpp"

namespace wordferry {

// The words of a query by their number, so that the score of a bag is found in one walk over it.
class QueryTable {
 public:
  explicit QueryTable(const FormQuery& query)
      : query_(&query), exact_(query.factors.size(), 0), other_(query.factors.size(), 0) {
    for (int set = 0; set < 2; ++set) {
      for (const StoredForm& form : query.forms) {
        if (form.other == (set == 1)) uses_[set].push_back({form.word, form.slot, form.exact});
      }
      std::stable_sort(uses_[set].begin(), uses_[set].end(), [](const Use& a, const Use& b) { return a.word < b.word; });
      std::size_t size = 16;
      while (size < 4 * uses_[set].size()) size *= 2;
      heads_[set].assign(size, -1);
      for (std::size_t i = 0; i < uses_[set].size(); ++i) {
        if (i > 0 && uses_[set][i - 1].word == uses_[set][i].word) continue;
        std::size_t place = slot_of(uses_[set][i].word, size);
        while (heads_[set][place] >= 0) place = (place + 1) & (size - 1);
        heads_[set][place] = static_cast<std::int32_t>(i);
      }
    }
  }

  // The score of a row of a part; false when its bag leads outside.
  bool score(const WordPart& part, std::int64_t row, double& score) {
    bool sound = true;
    for (int set = 0; set < 2; ++set) {
      if (uses_[set].empty()) continue;
      sound &= part.bags[set].read(row, [&](std::int32_t word, std::int32_t count) { add(set, word, count); });
    }
    std::int64_t length = 0;
    sound &= length_of(part.totals, part.bags[1], row, length);
    std::sort(touched_.begin(), touched_.end());
    const Saturation& saturation = query_->saturation;
    const double rest = saturation.floor + saturation.slope * static_cast<double>(length);
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

  void add(int set, std::int32_t word, std::int32_t count) {
    const std::vector<std::int32_t>& heads = heads_[set];
    const std::vector<Use>& uses = uses_[set];
    std::size_t place = slot_of(word, heads.size());
    while (heads[place] >= 0 && uses[at(heads[place])].word != word) place = (place + 1) & (heads.size() - 1);
    if (heads[place] < 0) return;
    for (std::size_t i = at(heads[place]); i < uses.size() && uses[i].word == word; ++i) {
      const auto slot = at(uses[i].slot);
      if (exact_[slot] == 0 && other_[slot] == 0) touched_.push_back(uses[i].slot);
      (uses[i].exact ? exact_ : other_)[slot] += count;
    }
  }

  const FormQuery* query_;
  std::vector<Use> uses_[2];
  std::vector<std::int32_t> heads_[2];  // by a hash of the word: its first use, or -1
  std::vector<std::int64_t> exact_, other_;
  std::vector<std::int32_t> touched_;
};

}  // namespace wordferry
