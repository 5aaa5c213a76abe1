// Documents, their lists and their weights as Python hands them over.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "stored/repeats_view.hpp"
#include "stored/stored_view.hpp"
#include "stored/weights.hpp"
#include "support/bind.hpp"

namespace wordferry {

using CountArray = std::variant<In<std::uint8_t>, In<std::uint16_t>, In<std::int32_t>>;
using WordArray = std::variant<In<std::uint16_t>, In<std::int32_t>>;

template <class Arrays>
const void* data_of(const Arrays& arrays) {
  return std::visit([](const auto& some) -> const void* { return some.data(); }, arrays);
}

template <class Arrays>
std::int64_t length_of(const Arrays& arrays) {
  return std::visit([](const auto& some) { return some.length(); }, arrays);
}

// Documents by word and by row, mapped from files: lengths are checked here, every offset when it is used.
class StoredDocuments {
 public:
  StoredDocuments(const StoredWordLists& lists, In<std::int64_t> indptr, WordArray words, CountArray counts)
      : lists_(lists), indptr_(std::move(indptr)), words_(std::move(words)), counts_(std::move(counts)) {
    require(indptr_.length() >= 1, "indptr must not be empty");
    require(lists.documents() == documents(), "the lists must be of the same documents");
    require(length_of(words_) == length_of(counts_), "one count for each word of a bag");
  }

  std::int64_t documents() const { return indptr_.length() - 1; }
  StoredLists lists() const { return lists_.get(); }

  StoredBags bags() const {
    constexpr int word_widths[] = {2, 4}, count_widths[] = {1, 2, 4};
    return {
        indptr_.data(), data_of(words_),  word_widths[words_.index()], data_of(counts_), count_widths[counts_.index()],
        documents(),    length_of(words_)};
  }

 private:
  StoredWordLists lists_;
  In<std::int64_t> indptr_;
  WordArray words_;
  CountArray counts_;
};

// What each word weighs; 0 for one that does not count.
class WeightsView {
 public:
  explicit WeightsView(In<double> values) : values_(std::move(values)) {
    constexpr double largest = 1e12;
    bool fits = values_.length() < std::numeric_limits<std::int32_t>::max();
    for (std::int64_t i = 0; i < values_.length(); ++i) {
      const double weight = values_.data()[i];
      fits &= weight == 0.0 || (weight > 1.0 / largest && weight < largest);
    }
    require(fits, "weights must be 0 or lie between 1e-12 and 1e12");
  }

  WordWeights get() const { return {values_.data(), values_.length()}; }

 private:
  In<double> values_;
};

// Documents with the sums of what their words weigh; holds on to its arrays.
class WeighedDocuments {
 public:
  WeighedDocuments(const StoredDocuments& stored, In<float> totals, In<double> exact, In<float> norms, float longest,
                   const RepeatedWords& repeats)
      : stored_(stored), totals_(std::move(totals)), exact_(std::move(exact)), norms_(std::move(norms)),
        longest_(longest), repeats_(repeats) {
    constexpr float most = 1e30f;
    require(totals_.length() == documents(), "one total for each document");
    require(exact_.length() == documents() || exact_.length() == 0, "one exact total for each document, or none");
    require(norms_.length() == documents() || norms_.length() == 0, "one norm for each document, or none");
    require(longest >= 0.0f && longest <= most, "longest must be a number of words");
    repeats_.get(documents());
    double sum = 0.0;
    for (std::int64_t row = 0; row < documents(); ++row) {
      sum += static_cast<double>(totals_.data()[row]);
      largest_total_ = std::max(largest_total_, totals_.data()[row]);
    }
    mean_total_ = documents() > 0 ? static_cast<float>(sum / static_cast<double>(documents())) : 0.0f;
  }

  std::int64_t documents() const { return stored_.documents(); }
  bool has_exact() const { return exact_.length() == documents(); }

  SearchedPart get(std::int64_t start, const bool* allowed) const {
    return {stored_.lists(),
            stored_.bags(),
            totals_.data(),
            has_exact() ? exact_.data() : nullptr,
            norms_.length() == documents() ? norms_.data() : nullptr,
            mean_total_,
            largest_total_,
            longest_,
            repeats_.get(documents()),
            start,
            allowed == nullptr ? nullptr : allowed + start};
  }

 private:
  StoredDocuments stored_;
  In<float> totals_;
  In<double> exact_;
  In<float> norms_;
  float longest_, mean_total_ = 0.0f, largest_total_ = 0.0f;
  RepeatedWords repeats_;
};

using Allowed = std::optional<In<bool>>;
constexpr std::int64_t largest_k = std::int64_t{1} << 32;  // no search asks for more rows than there are

// The parts one after the other, and how many documents they have.
template <class View>
auto searched(const std::vector<const View*>& parts, const Allowed& allowed, std::int64_t& documents) {
  documents = 0;
  std::vector<decltype(parts.front()->get(0, nullptr))> found;
  for (const View* part : parts) {
    require(part != nullptr, "a part must not be None");
    found.push_back(part->get(documents, allowed ? allowed->data() : nullptr));
    documents += part->documents();
  }
  require(!allowed || allowed->length() == documents, "allowed needs a value for each document");
  return found;
}

}  // namespace wordferry
