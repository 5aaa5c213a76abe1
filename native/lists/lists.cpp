#include "lists/lists.hpp"

#include <algorithm>
#include <limits>

#include "lists/best.hpp"

namespace wordferry {

namespace {

constexpr std::int64_t largest_count = std::numeric_limits<std::uint16_t>::max();

// Documents whose scores are summed at once: they stay in the cache while every query word passes over them.
constexpr std::int64_t window = 1 << 14;

// Adds one query word's part to the scores of the documents low .. high - 1; returns where its list goes on.
std::int64_t add_word(const WordLists& lists, const QueryWord& word, const Saturation& saturation, std::int64_t at,
                      std::int64_t low, std::int64_t high, double* scores) {
  const std::int64_t end = lists.starts[word.group + 1];
  while (at < end && lists.documents[at] < high) {
    const std::int32_t document = lists.documents[at];
    std::int64_t exact = 0, other = 0;
    do {
      (lists.forms[at] == word.form ? exact : other) += lists.counts[at];
      ++at;
    } while (at < end && lists.documents[at] == document);
    const double tf = static_cast<double>(exact) + saturation.stem * static_cast<double>(other);
    if (tf <= 0) continue;
    const double rest = saturation.floor + saturation.slope * static_cast<double>(lists.lengths[document]);
    scores[document - low] += word.factor * (tf / (tf + rest));
  }
  return at;
}

}  // namespace

void count_postings(const WordBags& bags, std::int64_t groups, std::int64_t* sizes, std::int64_t* df, Watch& watch) {
  std::vector<std::int64_t> last(static_cast<std::size_t>(groups), -1);
  Pace pace(watch);
  for (std::int64_t row = 0; row < bags.rows; ++row) {
    pace.spend(4 * (bags.indptr[row + 1] - bags.indptr[row]) + 1);
    for (std::int64_t at = bags.indptr[row]; at < bags.indptr[row + 1]; ++at) {
      const auto group = static_cast<std::size_t>(bags.group_of[bags.words[at]]);
      sizes[group] += (bags.counts[at] + largest_count - 1) / largest_count;
      if (last[group] != row) {
        last[group] = row;
        ++df[group];
      }
    }
  }
}

void place_postings(const WordBags& bags, std::int64_t* places, std::int32_t* documents, std::uint16_t* forms,
                    std::uint16_t* counts, Watch& watch) {
  Pace pace(watch);
  for (std::int64_t row = 0; row < bags.rows; ++row) {
    pace.spend(8 * (bags.indptr[row + 1] - bags.indptr[row]) + 1);
    for (std::int64_t at = bags.indptr[row]; at < bags.indptr[row + 1]; ++at) {
      const std::int32_t word = bags.words[at];
      std::int64_t& place = places[bags.group_of[word]];
      for (std::int64_t left = bags.counts[at]; left > 0; left -= largest_count) {
        documents[place] = static_cast<std::int32_t>(row);
        forms[place] = bags.form_of[word];
        counts[place++] = static_cast<std::uint16_t>(std::min(left, largest_count));
      }
    }
  }
}

std::vector<Scored> best_documents(const WordLists& lists, const std::vector<QueryWord>& query,
                                   const Saturation& saturation, const std::uint8_t* allowed, std::int64_t k,
                                   Watch& watch) {
  std::vector<std::int64_t> at;
  for (const QueryWord& word : query) at.push_back(lists.starts[word.group]);
  std::vector<double> scores(static_cast<std::size_t>(std::min(window, lists.rows)));
  Best best(k);
  Pace pace(watch);
  for (std::int64_t low = 0; low < lists.rows; low += window) {
    const std::int64_t high = std::min(low + window, lists.rows);
    bool touched = false;
    for (std::size_t q = 0; q < query.size(); ++q) {
      const std::int64_t from = at[q];
      at[q] = add_word(lists, query[q], saturation, from, low, high, scores.data());
      touched = touched || at[q] != from;
      pace.spend(4 * (at[q] - from) + 1);
    }
    if (!touched) continue;
    best.collect(scores.data(), low, high, allowed);
    std::fill(scores.begin(), scores.end(), 0.0);
    pace.spend(high - low);
  }
  return std::move(best).sorted();
}

}  // namespace wordferry
