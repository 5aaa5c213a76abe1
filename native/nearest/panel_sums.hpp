// What the touched words of sixteen queries save, side by side: documents are walked once for all of them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "nearest/block_sums.hpp"
#include "support/at.hpp"
#include "support/lanes.hpp"

namespace wordferry {

constexpr std::size_t panel_queries = lane_count;

// In the order of their places: other words, words that only add to a product, words of which some may stay.
inline int kind_of(const ListedWord& one) { return one.common != 0.0f ? 2 : one.product != 0.0f ? 1 : 0; }

// The words that some query of the panel touches, with a lane for each query. Place 0 is that of all other words.
class PanelWords {
 public:
  PanelWords(const std::vector<ListedWords>& queries, std::int64_t vocabulary)
      : places_(at(vocabulary), 0), gain_(1), near_(1), common_(1), product_(1) {
    std::vector<ListedWord> all;  // `common` and `product` are 0 where they are so for every query
    for (const ListedWords& query : queries) {
      for (const ListedWord& one : query.words()) {
        std::uint32_t& place = places_[at(std::int64_t{one.word})];
        if (place == 0) {
          all.push_back(one);
          place = static_cast<std::uint32_t>(all.size());
        }
        all[place - 1].common = std::max(all[place - 1].common, one.common);
        all[place - 1].product = std::max(all[place - 1].product, one.product);
      }
    }
    const std::size_t size = all.size() + 1;
    for (LaneArray* array : {&gain_, &near_, &common_, &product_}) {
      *array = LaneArray(size);
      for (std::size_t i = 0; i < size; ++i) fill_lanes(array->data()[i], 0.0f);
    }
    std::array<std::uint32_t, 3> next{};
    for (const ListedWord& one : all) ++next[at(kind_of(one))];
    own_ = 1 + next[0];
    staying_ = own_ + next[1];
    next = {1, own_, staying_};
    for (const ListedWord& one : all) places_[at(std::int64_t{one.word})] = next[at(kind_of(one))]++;
    for (std::size_t q = 0; q < queries.size(); ++q) {
      for (const ListedWord& one : queries[q].words()) {
        const std::uint32_t place = places_[at(std::int64_t{one.word})];
        lane(gain_.data()[place], static_cast<int>(q)) = one.gain;
        lane(near_.data()[place], static_cast<int>(q)) = one.near;
        lane(common_.data()[place], static_cast<int>(q)) = one.common;
        lane(product_.data()[place], static_cast<int>(q)) = one.product;
      }
    }
  }

  std::int64_t vocabulary() const { return static_cast<std::int64_t>(places_.size()); }
  const std::uint32_t* places() const { return places_.data(); }  // of each word of the vocabulary
  std::uint32_t own() const { return own_; }                      // from this place on, words add to a product
  std::uint32_t staying() const { return staying_; }              // from this place on, some of a word may stay, too
  const Lanes* gain() const { return gain_.data(); }
  const Lanes* near() const { return near_.data(); }
  const Lanes* common() const { return common_.data(); }
  const Lanes* product() const { return product_.data(); }

 private:
  std::vector<std::uint32_t> places_;
  std::uint32_t own_, staying_;
  mutable LaneArray gain_, near_, common_, product_;
};

using PanelRows = std::array<std::vector<NearRow>, panel_queries>;
using PanelLimits = std::array<float, panel_queries>;

constexpr std::int64_t held_rows = 256;  // rows whose sums stay in the first cache

struct Chunk {
  alignas(64) float saved[held_rows][lane_count];
  std::uint8_t wanted[held_rows];  // whether some query may want the row
};

// How bounds are made: scale * (rest - what a row saves), a product of 1 with the row as a unit vector saving `share`.
struct PanelScale {
  float scale, share, rest;
  float needs[lane_count];  // what a row saves whose bound is the limit of a query
};

// What the words of one document save in each lane, a product of 1 with the query saving `product`; counted(k) is what
// the k-th counts.
template <class Word, class Counted>
WF_ALWAYS_INLINE void sum_row(const Word* words, std::int64_t size, float total, float product, const PanelWords& panel,
                              const Counted& counted, Lanes& sums) {
  const std::uint32_t* const places = panel.places();
  const Lanes *const gain = panel.gain(), *const near = panel.near(), *const common = panel.common();
  const Lanes* const parts = panel.product();
  const auto vocabulary = static_cast<std::uint32_t>(panel.vocabulary());
  const std::uint32_t own = panel.own(), staying = panel.staying();
  Lanes count, whole, products;
  fill_lanes(sums, 0.0f);
  fill_lanes(products, 0.0f);
  fill_lanes(whole, total);
  for (std::int64_t k = 0; k < size; ++k) {
    const auto word = static_cast<std::uint32_t>(words[k]);
    require_inside(word < vocabulary);
    const std::uint32_t place = places[word];
    fill_lanes(count, counted(k));
    sums += count * gain[place];
    if (place < own) continue;
    products += count * parts[place];
    if (place < staying) continue;
    Lanes stays = common[place] * whole;
    keep_lower(stays, count);
    sums += stays * near[place];
  }
  fill_lanes(whole, product);
  sums += products * whole;
}

// The sums of the rows of a part from `first` on; what repeated words count need not be their count where it is grown.
template <bool Grown>
void sum_rows(const SearchedPart& part, std::int64_t first, std::int64_t rows, const PanelWords& panel,
              const PanelScale& scale, Chunk& held) {
  part.bags.typed([&](const auto* all_words, const auto* all_counts) {
    Lanes sums;
    for (std::int64_t i = 0; i < rows; ++i) {
      const StoredBags::Span at = part.bags.span(first + i);
      const float total = part.totals[first + i];
      const float norm = scale.share > 0.0f ? part.norms[first + i] : 0.0f;
      const float product = norm > 0.0f ? scale.share * (total / norm) : 0.0f;
      const auto* const counts = all_counts + at.begin;
      const auto counted = [&](std::int64_t k) {
        if constexpr (!Grown) return static_cast<float>(counts[k]);
        return static_cast<float>(part.repeats.times(static_cast<std::int64_t>(counts[k]), first + i));
      };
      sum_row(all_words + at.begin, at.end - at.begin, total, product, panel, counted, sums);
      store(held.saved[i], sums);
      int found = total > 0.0f ? 0 : 1;
      for (int l = 0; l < lane_count; ++l) found |= held.saved[i][l] >= scale.needs[l] * total ? 1 : 0;
      held.wanted[i] = static_cast<std::uint8_t>(found);
    }
  });
}

inline void put_row(const float* saved, float total, std::int64_t row, const PanelScale& scale,
                    const PanelLimits& limits, PanelRows& rows) {
  for (std::size_t q = 0; q < panel_queries; ++q) {
    const float bound =
        total > 0.0f ? scale.scale * (scale.rest - saved[q] / total) : std::numeric_limits<float>::infinity();
    if (bound <= limits[q]) rows[q].push_back({bound, row});
  }
}

// Appends for each query the allowed rows of a block whose bound does not exceed its limit; `cosine` has the shares of
// all queries.
inline void collect_panel(const SearchedPart& part, std::int64_t block, const PanelWords& words, float c_max,
                          const CosineShare& cosine, const PanelLimits& limits, PanelRows& rows, Watch& watch) {
  Chunk held;
  PanelScale scale{cosine.moved, 0.0f, c_max, {}};
  if (cosine.unit != nullptr && part.norms != nullptr) scale.share = cosine.unshared / cosine.moved;
  scale.rest += scale.share;
  for (std::size_t q = 0; q < panel_queries; ++q) scale.needs[q] = scale.rest - limits[q] / scale.scale;
  const std::int64_t begin = block * list_block_rows, end = std::min(begin + list_block_rows, part.bags.rows);
  for (std::int64_t first = begin; first < end; first += held_rows) {
    watch.check();
    const std::int64_t count = std::min(held_rows, end - first);
    (part.repeats.growth == Growth::counts ? sum_rows<false> : sum_rows<true>)(part, first, count, words, scale, held);
    for (std::int64_t i = 0; i < count; ++i) {
      if (held.wanted[i] == 0 || (part.allowed != nullptr && !part.allowed[first + i])) continue;
      put_row(held.saved[i], part.totals[first + i], part.start + first + i, scale, limits, rows);
    }
  }
}

}  // namespace wordferry
