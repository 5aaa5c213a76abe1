// What the touched words of sixteen queries save, side by side: documents are walked once for all of them.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "nearest/block_sums.hpp"
#include "support/lanes.hpp"

namespace wordferry {

constexpr std::size_t panel_queries = lane_count;

// The words that some query of the panel touches, with a lane for each query. Place 0 is that of all other words.
class PanelWords {
 public:
  PanelWords(const std::vector<ListedWords>& queries, std::int64_t vocabulary);
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

// Appends for each query the allowed rows of a block whose bound does not exceed its limit; `cosine` has the shares of
// all queries.
void collect_panel(const SearchedPart& part, std::int64_t block, const PanelWords& words, float c_max,
                   const CosineShare& cosine, const PanelLimits& limits, PanelRows& rows, Watch& watch);

}  // namespace wordferry
