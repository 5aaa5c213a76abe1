#include "related/join.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "related/scan.hpp"
#include "support/at.hpp"
#include "support/word_distances.hpp"

namespace wordferry {

namespace {

constexpr std::int64_t block_rows = 16 * product_rows;  // what a thread takes at once; sums are of such blocks
constexpr double slightly_above = 1 + 1e-6;             // a limit is a little above the distance, for the rounding

// For each new word, what can still be among its r nearest of the words that one thread has seen.
class NewCandidates {
 public:
  NewCandidates(const GraphVectors& vectors, std::int64_t first, std::int64_t count, std::int64_t r)
      : vectors_(vectors), first_(first), r_(r), capacity_(r + std::max<std::int64_t>(r, 32)),
        found_(at(count * capacity_)), counts_(at(count), 0), limits_(at(count), unlimited) {}

  // No pair further than this, but for the rounding, is of use to the column.
  const float* limits() const { return limits_.data(); }

  void offer(std::int64_t column, std::int32_t word, float square, float slack) {
    if (square > limits_[at(column)] + slack) return;
    if (counts_[at(column)] == capacity_) {
      compact(column);
      if (square > limits_[at(column)] + slack) return;
    }
    found_[at(column * capacity_ + counts_[at(column)]++)] = {word, square, slack};
  }

  // Adds what is left with its true squared distance.
  void rank(std::int64_t column, std::vector<RankedWord>& ranked) const {
    for (std::int64_t k = 0; k < counts_[at(column)]; ++k) {
      ranked.push_back(exactly(column, found_[at(column * capacity_ + k)].word));
    }
  }

 private:
  struct Found {
    std::int32_t word;
    float square, slack;
  };

  RankedWord exactly(std::int64_t column, std::int32_t word) const {
    return {exact_square(vectors_.of(first_ + column), vectors_.of(word), vectors_.dimensions), word};
  }

  // Drops what is certainly not among the r nearest. Where the products cannot tell, true distances do.
  void compact(std::int64_t column) {
    Found* found = found_.data() + column * capacity_;
    uppers_.clear();
    for (std::int64_t k = 0; k < capacity_; ++k) uppers_.push_back(found[k].square + found[k].slack);
    std::nth_element(uppers_.begin(), uppers_.begin() + (r_ - 1), uppers_.end());
    lower_limit(column, uppers_[at(r_ - 1)]);
    Found* end = std::remove_if(found, found + capacity_,
                                [&](const Found& one) { return one.square > limits_[at(column)] + one.slack; });
    if (end - found > (r_ + capacity_) / 2) {
      std::vector<std::pair<RankedWord, Found>> ranked;
      for (const Found* one = found; one != end; ++one) ranked.emplace_back(exactly(column, one->word), *one);
      std::sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      end = found;
      for (std::int64_t k = 0; k < r_; ++k) *end++ = ranked[at(k)].second;
      const double last = ranked[at(r_ - 1)].first.square;
      const auto rounded = static_cast<float>(last);
      lower_limit(column, static_cast<double>(rounded) < last ? std::nextafter(rounded, unlimited) : rounded);
    }
    counts_[at(column)] = end - found;
  }

  void lower_limit(std::int64_t column, float value) { limits_[at(column)] = std::min(limits_[at(column)], value); }

  const GraphVectors& vectors_;
  std::int64_t first_, r_, capacity_;
  std::vector<Found> found_;
  std::vector<std::int64_t> counts_;
  std::vector<float> limits_, uppers_;
};

// Pairs of an old word and a new one that may enter the old word's list.
struct OldWordEntry {
  std::int32_t word, column;
};

struct ComparedBlock {
  double total = 0;
  double largest = 0;
  std::vector<OldWordEntry> entries;
};

// Compares all words with the new ones.
class Comparison {
 public:
  Comparison(const GraphVectors& vectors, const OwnLists& lists)
      : vectors_(vectors), lists_(lists), old_(lists.words), count_(vectors.words - lists.words),
        error_(product_error(vectors.dimensions)), norms_(at(count_)) {
    std::vector<const float*> columns(at(count_));
    for (std::int64_t j = 0; j < count_; ++j) {
      columns[at(j)] = vectors.of(old_ + j);
      norms_[at(j)] = static_cast<float>(squared_length(columns[at(j)], vectors.dimensions));
    }
    columns_ = sixteens(columns.data(), count_, vectors.dimensions);
  }

  NewCandidates nearest() const { return {vectors_, old_, count_, lists_.r}; }

  void block(std::int64_t number, NewCandidates& nearest, ComparedBlock& out, Pace& pace) {
    const std::int64_t first = number * block_rows, stop = std::min(vectors_.words, first + block_rows);
    const std::int64_t sixteen = (count_ + lane_width - 1) / lane_width;
    const float* rows[block_rows + rows_ahead];
    for (std::int64_t i = 0; i < block_rows + rows_ahead; ++i) {
      rows[i] = vectors_.of(std::min(first + i, vectors_.words - 1));
    }
    std::vector<float> products(at(product_rows * sixteen * lane_width));
    double halves = 0;  // old words are seen from one end only
    for (std::int64_t low = first; low < stop; low += product_rows) {
      const std::int64_t here = std::min(product_rows, stop - low);
      pace.spend(here * sixteen * vectors_.dimensions);
      products_of_rows(rows + (low - first), here, vectors_.dimensions, columns_.data(), sixteen, products.data(),
                       sixteen * lane_width);
      for (std::int64_t i = 0; i < here; ++i) {
        const double sum =
            row(low + i, rows[low - first + i], products.data() + i * sixteen * lane_width, nearest, out);
        (low + i < old_ ? halves : out.total) += sum;
      }
    }
    out.total += 2 * halves;
  }

 private:
  double row(std::int64_t word, const float* vector, const float* products, NewCandidates& nearest,
             ComparedBlock& out) {
    const double length = squared_length(vector, vectors_.dimensions);
    out.largest = std::max(out.largest, length);
    const auto norm = static_cast<float>(length);
    float limit = -unlimited;
    if (word < old_) {
      const auto last = static_cast<double>(lists_.distances_of(word)[lists_.r - 1]);
      limit = static_cast<float>(last * last * slightly_above);
    }
    float squares[scan_width];
    alignas(8) std::uint8_t flags[scan_width] = {};
    double sum = 0;
    for (std::int64_t start = 0; start < count_; start += scan_width) {
      const std::int64_t count = std::min(scan_width, count_ - start);
      sum += scan_segment(products + start, count, norm, limit, norms_.data() + start, nearest.limits() + start, error_,
                          squares, flags);
      std::fill(flags + count, flags + (count + 7) / 8 * 8, std::uint8_t{0});
      for (std::int64_t eighth = 0; eighth < count; eighth += 8) {
        std::uint64_t eight;  // one flag per byte, lowest byte first
        std::memcpy(&eight, flags + eighth, 8);
        for (; eight != 0; eight &= eight - 1) {
          const std::int64_t k = eighth + std::countr_zero(eight) / 8;
          sum += closer(word, start + k, squares[k], norm, limit, nearest, out);
        }
      }
    }
    return sum;
  }

  // A pair that was flagged: its exact share of the sum, and a place among the candidates of either word.
  double closer(std::int64_t word, std::int64_t column, float square, float norm, float limit, NewCandidates& nearest,
                ComparedBlock& out) {
    const float both = norm + norms_[at(column)], slack = error_ * both;
    const bool same = word == old_ + column;
    double correction = 0;
    if (same || square <= cancellation * both) {
      const double exact = std::sqrt(exact_square(vectors_.of(word), vectors_.of(old_ + column), vectors_.dimensions));
      correction = exact - static_cast<double>(std::sqrt(square > 0.0F ? square : 0.0F));
    }
    if (same) return correction;
    if (square <= limit + slack) {
      out.entries.push_back({static_cast<std::int32_t>(word), static_cast<std::int32_t>(column)});
    }
    nearest.offer(column, static_cast<std::int32_t>(word), square, slack);
    return correction;
  }

  const GraphVectors& vectors_;
  const OwnLists& lists_;
  std::int64_t old_, count_;
  float error_;
  LaneArray columns_;
  std::vector<float> norms_;
};

// Puts the words of `found`, which are new and in order, into the list of an old word; false when none of them enters.
// Equal distances are told apart by their squares, which are computed again where that matters.
class Insertion {
 public:
  Insertion(const GraphVectors& vectors, const OwnLists& lists) : vectors_(vectors), lists_(lists) {}

  bool into(std::int32_t word, const std::vector<RankedWord>& found, ChangedLists& out) {
    const std::int32_t* own = lists_.list(word);
    const float* distances = lists_.distances_of(word);
    const std::int64_t r = lists_.r;
    if (!comes_before(found.front(), word, own[r - 1], distances[r - 1])) return false;
    std::int64_t old = 0;
    std::size_t next = 0;
    for (std::int64_t place = 0; place < r; ++place) {
      const bool new_one = next < found.size() && comes_before(found[next], word, own[old], distances[old]);
      const double distance = new_one ? std::sqrt(found[next].square) : static_cast<double>(distances[old]);
      out.own.push_back(new_one ? found[next].id : own[old]);
      out.distances.push_back(new_one ? static_cast<float>(distance) : distances[old]);
      out.rank_sums[at(place)] += distance - static_cast<double>(distances[place]);
      if (new_one) {
        ++next;
      } else {
        ++old;
      }
    }
    out.words.push_back(word);
    return true;
  }

 private:
  // The ids of new words are the larger ones, so they come behind those that are as far.
  bool comes_before(const RankedWord& found, std::int32_t word, std::int32_t other, float distance) const {
    const auto rounded = static_cast<float>(std::sqrt(found.square));
    if (rounded != distance) return rounded < distance;
    return found.square < exact_square(vectors_.of(word), vectors_.of(other), vectors_.dimensions);
  }

  const GraphVectors& vectors_;
  const OwnLists& lists_;
};

void change_old_lists(const GraphVectors& vectors, const OwnLists& lists, const std::vector<ComparedBlock>& blocks,
                      ChangedLists& out, Watch& watch) {
  Insertion insertion(vectors, lists);
  Pace pace(watch);
  std::vector<RankedWord> found;
  for (const ComparedBlock& block : blocks) {
    for (std::size_t k = 0; k < block.entries.size();) {
      const std::int32_t word = block.entries[k].word;
      found.clear();
      for (; k < block.entries.size() && block.entries[k].word == word; ++k) {
        const std::int64_t other = lists.words + block.entries[k].column;
        pace.spend(vectors.dimensions);
        const double square = exact_square(vectors.of(word), vectors.of(other), vectors.dimensions);
        found.push_back({square, static_cast<std::int32_t>(other)});
      }
      std::sort(found.begin(), found.end());
      insertion.into(word, found, out);
    }
  }
}

void add_new_lists(const GraphVectors& vectors, const OwnLists& lists, const std::vector<NewCandidates>& nearest,
                   ChangedLists& out, Watch& watch) {
  Pace pace(watch);
  std::vector<RankedWord> found;
  for (std::int64_t word = lists.words; word < vectors.words; ++word) {
    found.clear();
    for (const NewCandidates& some : nearest) some.rank(word - lists.words, found);
    pace.spend(static_cast<std::int64_t>(found.size()) * vectors.dimensions);
    if (std::ssize(found) < lists.r) {  // a vector that is no vector
      out.largest = std::numeric_limits<double>::infinity();
      return;
    }
    std::sort(found.begin(), found.end());
    out.words.push_back(static_cast<std::int32_t>(word));
    for (std::int64_t place = 0; place < lists.r; ++place) {
      const double distance = std::sqrt(found[at(place)].square);
      out.own.push_back(found[at(place)].id);
      out.distances.push_back(static_cast<float>(distance));
      out.rank_sums[at(place)] += distance;
    }
  }
}

}  // namespace

ChangedLists join_lists(const GraphVectors& vectors, const OwnLists& lists, int threads, Watch& watch) {
  const std::int64_t count = (vectors.words + block_rows - 1) / block_rows;
  Comparison comparison(vectors, lists);
  std::vector<NewCandidates> nearest(at(worker_count(count, threads)), comparison.nearest());
  std::vector<ComparedBlock> blocks(at(count));
  for_blocks(
      count, threads,
      [&](std::int64_t number, int worker) {
        Pace pace(watch);
        comparison.block(number, nearest[at(worker)], blocks[at(number)], pace);
      },
      watch);
  ChangedLists out;
  out.rank_sums.assign(at(lists.r), 0.0);
  for (const ComparedBlock& block : blocks) {
    out.total += block.total;
    out.largest = std::max(out.largest, block.largest);
  }
  if (!(out.largest < std::numeric_limits<float>::max())) return out;  // nothing above can be trusted
  change_old_lists(vectors, lists, blocks, out, watch);
  add_new_lists(vectors, lists, nearest, out, watch);
  return out;
}

}  // namespace wordferry
