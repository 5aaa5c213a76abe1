// Documents and their lists as Python hands them over.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "lists/nearest.hpp"
#include "lists/stored_view.hpp"
#include "support/bind.hpp"

namespace wordferry {

using Counts = std::variant<In<std::uint8_t>, In<std::uint16_t>, In<std::int32_t>>;

using BagWords = std::variant<In<std::uint16_t>, In<std::int32_t>>;

template <class Arrays>
const void* data_of(const Arrays& arrays) {
  return std::visit([](const auto& some) -> const void* { return some.data(); }, arrays);
}

// Documents and their lists, mapped from files: lengths are checked here, every offset when it is used.
class ListPart {
 public:
  template <class Word, class Count>
  ListPart(const StoredWordLists& lists, In<std::int64_t> indptr, In<Word> bag_words, In<Count> bag_counts,
           In<float> totals)
      : lists_(lists), indptr_(std::move(indptr)), bag_words_(std::move(bag_words)),
        bag_counts_(std::move(bag_counts)), totals_(std::move(totals)) {
    require(indptr_.length() == totals_.length() + 1, "indptr and totals must agree");
    require(lists.documents() == documents(), "the lists must be of the same documents");
    stored_ = std::get<In<Word>>(bag_words_).length();
    require(stored_ == std::get<In<Count>>(bag_counts_).length(), "one count for each word of a bag");
    double sum = 0.0;
    for (std::int64_t row = 0; row < documents(); ++row) {
      largest_total_ = std::max(largest_total_, totals_.data()[row]);
      sum += static_cast<double>(totals_.data()[row]);
    }
    mean_total_ = documents() > 0 ? static_cast<float>(sum / static_cast<double>(documents())) : 0.0f;
  }

  std::int64_t documents() const { return totals_.length(); }

  SearchedPart get(std::int64_t start, const std::uint8_t* allowed) const {
    constexpr int widths[] = {1, 2, 4};
    const int width = widths[bag_counts_.index()];
    constexpr int word_widths[] = {2, 4};
    const StoredBags bags{indptr_.data(),       data_of(bag_words_), word_widths[bag_words_.index()],
                          data_of(bag_counts_), width,               totals_.data(),
                          documents(),          stored_,             largest_total_,       mean_total_};
    return {lists_.get(), bags, start, allowed == nullptr ? nullptr : allowed + start};
  }

 private:
  StoredWordLists lists_;
  In<std::int64_t> indptr_;
  BagWords bag_words_;
  Counts bag_counts_;
  In<float> totals_;
  float largest_total_ = 0.0f, mean_total_ = 0.0f;
  std::int64_t stored_ = 0;
};

using Parts = std::vector<const ListPart*>;

inline std::vector<SearchedPart> searched(const Parts& parts, const std::optional<In<std::uint8_t>>& allowed) {
  std::int64_t start = 0;
  std::vector<SearchedPart> found;
  for (const ListPart* part : parts) {
    require(part != nullptr, "a part must not be None");
    found.push_back(part->get(start, allowed ? allowed->data() : nullptr));
    start += part->documents();
  }
  require(!allowed || allowed->length() == start, "allowed needs a value for each document");
  return found;
}

}  // namespace wordferry
