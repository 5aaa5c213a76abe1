#include "related/join.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "related/selector.hpp"
#include "support/at.hpp"
#include "support/word_distances.hpp"

namespace wordferry {

namespace {

constexpr std::int64_t block_rows = 16 * product_rows;  // what a thread takes at once; sums are of such blocks
constexpr double slightly_above = 1 + 1e-6;             // a limit is a little above the distance, for the rounding

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
  Comparison(const Points& points, std::int64_t words, const OwnLists& lists)
      : points_(points), lists_(lists), words_(words), old_(lists.words), count_(words - lists.words),
        norms_(at(words)) {
    points_.norms = norms_.data();
    std::vector<const float*> columns(at(count_));
    for (std::int64_t j = 0; j < count_; ++j) {
      columns[at(j)] = points_.of(old_ + j);
      norms_[at(old_ + j)] = static_cast<float>(squared_length(columns[at(j)], points_.dimensions));
    }
    columns_ = sixteens(columns.data(), count_, points_.dimensions);
  }
  Comparison(const Comparison&) = delete;
  Comparison& operator=(const Comparison&) = delete;

  // With the norms of all words that were compared.
  const Points& points() const { return points_; }

  void block(std::int64_t number, Candidates& nearest, ComparedBlock& out, Pace& pace) {
    const std::int64_t first = number * block_rows, stop = std::min(words_, first + block_rows);
    const std::int64_t sixteen = (count_ + lane_width - 1) / lane_width;
    Selector selector(points_, nearest);
    std::vector<float> limits(at(count_));
    for (std::int64_t j = 0; j < count_; ++j) limits[at(j)] = selector.limit(static_cast<std::int32_t>(old_ + j));
    const float* rows[block_rows + rows_ahead];
    for (std::int64_t i = 0; i < block_rows + rows_ahead; ++i) rows[i] = points_.of(std::min(first + i, words_ - 1));
    std::vector<float> products(at(product_rows * sixteen * lane_width));
    double halves = 0;  // old words are seen from one end only
    for (std::int64_t low = first; low < stop; low += product_rows) {
      const std::int64_t here = std::min(product_rows, stop - low);
      pace.spend(here * sixteen * points_.dimensions);
      products_of_rows(rows + (low - first), here, points_.dimensions, columns_.data(), sixteen, products.data(),
                       sixteen * lane_width);
      for (std::int64_t i = 0; i < here; ++i) {
        const double sum =
            row(static_cast<std::int32_t>(low + i), products.data() + i * sixteen * lane_width, selector, limits, out);
        (low + i < old_ ? halves : out.total) += sum;
      }
    }
    out.total += 2 * halves;
  }

 private:
  double row(std::int32_t word, const float* products, Selector& selector, std::vector<float>& limits,
             ComparedBlock& out) {
    const double length = squared_length(points_.of(word), points_.dimensions);
    out.largest = std::max(out.largest, length);
    float limit = -unlimited;
    if (word < old_) {  // the norms of the others are there, and others read them
      norms_[at(word)] = static_cast<float>(length);
      const auto last = static_cast<double>(lists_.distances_of(word)[lists_.r - 1]);
      limit = static_cast<float>(last * last * slightly_above);
    }
    const float norm = norms_[at(word)], error = selector.error();
    const auto closer = [&](std::int64_t k, float square) {
      const auto column = static_cast<std::int32_t>(old_ + k);
      const float both = norm + norms_[at(column)];
      const double added = correction(points_, word, column, square, both);
      if (word == column) return added;
      if (square <= limit + error * both) out.entries.push_back({word, static_cast<std::int32_t>(k)});
      if (selector.can_enter(column, word, square)) {
        selector.push(column, word, square, false);
        limits[at(k)] = selector.limit(column);
      }
      return added;
    };
    return scan_row<true>(
        {norm, error, norms_.data() + old_, limits.data()}, products, count_, [limit] { return limit; }, closer);
  }

  Points points_;
  const OwnLists& lists_;
  std::int64_t words_, old_, count_;
  LaneArray columns_;
  std::vector<float> norms_;
};

// Puts the words of `found`, which are new and in order, into the list of an old word; false when none of them enters.
// Equal distances are told apart by their squares, which are computed again where that matters.
class Insertion {
 public:
  Insertion(const Points& points, const OwnLists& lists) : points_(points), lists_(lists) {}

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
    return found.square < points_.square(word, other);
  }

  const Points& points_;
  const OwnLists& lists_;
};

void change_old_lists(const Points& points, const OwnLists& lists, const std::vector<ComparedBlock>& blocks,
                      ChangedLists& out, Watch& watch) {
  Insertion insertion(points, lists);
  Pace pace(watch);
  std::vector<RankedWord> found;
  for (const ComparedBlock& block : blocks) {
    for (std::size_t k = 0; k < block.entries.size();) {
      const std::int32_t word = block.entries[k].word;
      found.clear();
      for (; k < block.entries.size() && block.entries[k].word == word; ++k) {
        const std::int64_t other = lists.words + block.entries[k].column;
        pace.spend(points.dimensions);
        found.push_back({points.square(word, other), static_cast<std::int32_t>(other)});
      }
      std::sort(found.begin(), found.end());
      insertion.into(word, found, out);
    }
  }
}

void add_new_lists(const Points& points, const OwnLists& lists, std::vector<Candidates>& nearest, ChangedLists& out,
                   Watch& watch) {
  Pace pace(watch);
  std::vector<Selector> selectors;
  for (Candidates& some : nearest) selectors.emplace_back(points, some);
  std::vector<RankedWord> found;
  for (std::int64_t k = 0; k < nearest.front().n; ++k) {
    const auto word = static_cast<std::int32_t>(lists.words + k);
    found.clear();
    for (Selector& selector : selectors) {
      selector.rank(word);
      found.insert(found.end(), selector.ranked().begin(), selector.ranked().end());
    }
    pace.spend(std::ssize(found) * points.dimensions);
    if (std::ssize(found) < lists.r) {  // a vector that is no vector
      out.largest = std::numeric_limits<double>::infinity();
      return;
    }
    std::sort(found.begin(), found.end());
    out.words.push_back(word);
    for (std::int64_t place = 0; place < lists.r; ++place) {
      const double distance = std::sqrt(found[at(place)].square);
      out.own.push_back(found[at(place)].id);
      out.distances.push_back(static_cast<float>(distance));
      out.rank_sums[at(place)] += distance;
    }
  }
}

}  // namespace

ChangedLists join_lists(Points points, std::int64_t words, const OwnLists& lists, int threads, Watch& watch) {
  const std::int64_t count = (words + block_rows - 1) / block_rows;
  Comparison comparison(points, words, lists);
  std::vector<Candidates> nearest;
  nearest.reserve(at(worker_count(count, threads)));
  while (nearest.size() < nearest.capacity()) nearest.emplace_back(words - lists.words, lists.r, lists.words);
  std::vector<ComparedBlock> blocks(at(count));
  const auto body = [&](std::int64_t number, int worker) {
    Pace pace(watch);
    comparison.block(number, nearest[at(worker)], blocks[at(number)], pace);
  };
  for_blocks(count, threads, body, watch);
  ChangedLists out;
  out.rank_sums.assign(at(lists.r), 0.0);
  for (const ComparedBlock& block : blocks) {
    out.total += block.total;
    out.largest = std::max(out.largest, block.largest);
  }
  if (!(out.largest < std::numeric_limits<float>::max())) return out;  // nothing above can be trusted
  change_old_lists(comparison.points(), lists, blocks, out, watch);
  add_new_lists(comparison.points(), lists, nearest, out, watch);
  return out;
}

}  // namespace wordferry
