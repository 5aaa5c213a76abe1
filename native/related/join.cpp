// New words among known ones: the lists that change, and the rows of the graph that change with them. What stays as it
// was is only read, so that joining a few words to many costs little more than comparing them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "related/selector.hpp"
#include "support/at.hpp"
#include "support/bind.hpp"

namespace wordferry {

namespace {

// An array whose end stands elsewhere: what came later.
template <class T>
struct InTwo {
  const T* first;
  std::int64_t size;
  const T* later;
  const T* from(std::int64_t place) const { return place < size ? first + place : later + (place - size); }
};

// The own lists of words, r nearest first.
struct OwnLists {
  InTwo<std::int32_t> own;
  InTwo<float> distances;
  const std::int32_t* places;  // the row of each word
  std::int64_t words, r;

  const std::int32_t* list(std::int64_t word) const { return own.from(places[word] * r); }
  const float* distances_of(std::int64_t word) const { return distances.from(places[word] * r); }
};

// The lists of the words that change: old ones, rising, then all new ones.
struct ChangedLists {
  std::vector<std::int32_t> words;
  std::vector<std::int32_t> own;  // r for each
  std::vector<float> distances;   // the same
  std::vector<double> rank_sums;  // by how much the sum of the distances at each place of all lists grows
  double total = 0;               // the sum of the distances of all ordered pairs that have a new word
  double largest = 0;  // the largest squared length of a vector; where it leaves the range of float, the rest is void
};

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

// Puts the words of `found`, which are new and in order, into the list of an old word, if any of them enters. Equal
// distances are told apart by their squares, which are computed again where that matters.
void insert_into_list(const Points& points, const OwnLists& lists, std::int32_t word,
                      const std::vector<RankedWord>& found, ChangedLists& out) {
  const std::int32_t* own = lists.list(word);
  const float* distances = lists.distances_of(word);
  // The ids of new words are the larger ones, so they come behind those that are as far.
  const auto comes_before = [&](const RankedWord& one, std::int64_t place) {
    const auto rounded = static_cast<float>(std::sqrt(one.square));
    if (rounded != distances[place]) return rounded < distances[place];
    return one.square < points.square(word, own[place]);
  };
  if (!comes_before(found.front(), lists.r - 1)) return;
  std::int64_t old = 0;
  std::size_t next = 0;
  for (std::int64_t place = 0; place < lists.r; ++place) {
    const bool new_one = next < found.size() && comes_before(found[next], old);
    const double distance = new_one ? std::sqrt(found[next].square) : static_cast<double>(distances[old]);
    out.own.push_back(new_one ? found[next].id : own[old]);
    out.distances.push_back(static_cast<float>(distance));
    out.rank_sums[at(place)] += distance - static_cast<double>(distances[place]);
    if (new_one) {
      ++next;
    } else {
      ++old;
    }
  }
  out.words.push_back(word);
}

void change_old_lists(const Points& points, const OwnLists& lists, const std::vector<ComparedBlock>& blocks,
                      ChangedLists& out, Watch& watch) {
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
      insert_into_list(points, lists, word, found, out);
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

// The lists after the words from lists.words on have come, of `words` in all; norms are made here. Their distances are
// true ones, ties go to the smaller id.
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

// An edge that comes or goes, seen from one of its ends.
struct LinkChange {
  std::int32_t word, other;
  float distance;
  bool gone;
};

// The lists as they are after the change.
class Present {
 public:
  Present(const ChangedLists& changed, const OwnLists& lists) : changed_(changed), lists_(lists) {
    rows_.reserve(changed.words.size());
    for (std::size_t row = 0; row < changed.words.size(); ++row) rows_[changed.words[row]] = row;
  }

  bool has(std::int32_t word, std::int32_t other) const {
    const auto found = rows_.find(word);
    const std::int32_t* own =
        found == rows_.end() ? lists_.list(word) : changed_.own.data() + found->second * at(lists_.r);
    return std::find(own, own + lists_.r, other) != own + lists_.r;
  }

 private:
  const ChangedLists& changed_;
  const OwnLists& lists_;
  std::unordered_map<std::int32_t, std::size_t> rows_;
};

// Calls with each word of `changes` and its changes, from first to last.
template <class Call>
void each_word(const std::vector<LinkChange>& changes, Call&& call) {
  for (auto first = changes.begin(); first != changes.end();) {
    const auto last =
        std::find_if(first, changes.end(), [&](const LinkChange& one) { return one.word != first->word; });
    call(first->word, &*first, &*first + (last - first));
    first = last;
  }
}

// The edges that come and go with the lists, by (word, other), each once.
std::vector<LinkChange> changed_links(const ChangedLists& changed, const OwnLists& lists) {
  const Present present(changed, lists);
  const auto old = static_cast<std::int32_t>(lists.words);
  std::vector<LinkChange> changes;
  const auto both_ways = [&](std::int32_t a, std::int32_t b, float distance, bool gone) {
    changes.push_back({a, b, distance, gone});
    changes.push_back({b, a, distance, gone});
  };
  for (std::size_t row = 0; row < changed.words.size(); ++row) {
    const std::int32_t word = changed.words[row];
    const std::int32_t* own = changed.own.data() + row * at(lists.r);
    const float* distances = changed.distances.data() + row * at(lists.r);
    for (std::int64_t k = 0; k < lists.r; ++k) {
      if (word >= old || own[k] >= old) both_ways(word, own[k], distances[k], false);
    }
    if (word >= old) continue;
    const std::int32_t* before = lists.list(word);
    for (std::int64_t k = 0; k < lists.r; ++k) {
      const bool stays = std::find(own, own + lists.r, before[k]) != own + lists.r;
      if (!stays && !present.has(before[k], word)) both_ways(word, before[k], 0.0F, true);
    }
  }
  const auto key = [](const LinkChange& one) { return std::pair(one.word, one.other); };
  std::sort(changes.begin(), changes.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  const auto same = [&](const auto& a, const auto& b) { return key(a) == key(b); };
  changes.erase(std::unique(changes.begin(), changes.end(), same), changes.end());
  return changes;
}

using Numbers = In<std::int32_t>;
using NumberRows = In<std::int32_t, 2>;
using Values = In<float>;
using ValueRows = In<float, 2>;

// New words that are joined to known ones. What changes is found first and written after that, so that the caller can
// provide the memory for it.
class Joining {
 public:
  Joining(ValueRows vectors, In<std::int64_t> words, NumberRows own, ValueRows distances, NumberRows later_own,
          ValueRows later_distances, Numbers places, int threads)
      : vectors_(std::move(vectors)), words_(std::move(words)), own_(std::move(own)), distances_(std::move(distances)),
        later_own_(std::move(later_own)), later_distances_(std::move(later_distances)), places_(std::move(places)) {
    const std::int64_t r = own_.length(1), most = std::int64_t{1} << 31;
    require(r >= 1 && later_own_.length(1) == r, "lists must have one length, of at least 1");
    require(distances_.length() == own_.length() && distances_.length(1) == r, "own and distances must have one shape");
    require(later_distances_.length() == later_own_.length() && later_distances_.length(1) == r,
            "later own and distances must have one shape");
    require(words_.length() > places_.length() && words_.length() > r,
            "more words than lists, and than places in a list");
    require(words_.length() < most && own_.length() + later_own_.length() < most, "words must fit in 31 bits");
    const int limit = thread_limit(threads);
    run_native([&](Watch& watch) {
      require_range(words_, 0, vectors_.length(), "a word has no vector");
      require_range(places_, 0, own_.length() + later_own_.length(), "a list is not there");
      for (std::int64_t word = 0; word < places_.length(); ++word) {
        require_range(std::span(lists().list(word), at(r)), 0, places_.length(),
                      "a word in a list is not among the words");
      }
      const Points points{vectors_.data(), nullptr, vectors_.length(1), words_.data()};
      changed_ = join_lists(points, words_.length(), lists(), limit, watch);
      if (changed_.largest < HUGE_VAL) links_ = changed_links(changed_, lists());
    });
  }

  double total() const { return changed_.total; }
  double largest() const { return changed_.largest; }
  std::int64_t rows() const { return static_cast<std::int64_t>(changed_.words.size()); }
  void rank_sums(const Out<double>& out) const {
    require(out.length() == own_.length(1), "one sum for each place of a list");
    std::copy(changed_.rank_sums.begin(), changed_.rank_sums.end(), out.data());
  }

  // The changed lists, which will stand from row `first` on, and where the list of each word is.
  void write_lists(std::int64_t first, const Out<std::int32_t, 2>& own, const Out<float, 2>& distances,
                   const Out<std::int32_t>& places) const {
    require_whole();
    require(own.length() == rows() && own.length(1) == own_.length(1), "own needs a row for each list");
    require(distances.length() == rows() && distances.length(1) == own_.length(1),
            "distances needs a row for each list");
    require(places.length() == words_.length(), "one place for each word");
    require_place(first, rows());
    std::copy(changed_.own.begin(), changed_.own.end(), own.data());
    std::copy(changed_.distances.begin(), changed_.distances.end(), distances.data());
    std::copy(places_.data(), places_.data() + places_.length(), places.data());
    for (std::int64_t row = 0; row < rows(); ++row) {
      places.data()[changed_.words[at(row)]] = static_cast<std::int32_t>(first + row);
    }
  }

  // Finds the rows of the graph that change; returns how many entries they have at most.
  std::int64_t link(Numbers indices, Values data, Numbers later_indices, Values later_data, Numbers starts,
                    Numbers ends) {
    require_whole();
    require(data.length() == indices.length() && later_data.length() == later_indices.length(),
            "indices and data must have one length");
    require(starts.length() == places_.length() && ends.length() == places_.length(), "one span for each word");
    indices_ = std::move(indices), data_ = std::move(data), later_indices_ = std::move(later_indices);
    later_data_ = std::move(later_data), starts_ = std::move(starts), ends_ = std::move(ends);
    require_spans();
    entries_ = most_entries();
    return entries_;
  }

  // Those rows, which will stand from entry `first` on, and where the row of each word is.
  void write_links(std::int64_t first, const Out<std::int32_t>& indices, const Out<float>& data,
                   const Out<std::int32_t>& starts, const Out<std::int32_t>& ends) const {
    require(entries_ >= 0, "there are no links to be written");
    require(indices.length() == entries_ && data.length() == entries_, "room is needed for every entry");
    require(starts.length() == words_.length() && ends.length() == words_.length(), "one span for each word");
    require_place(first, entries_);
    require_spans();  // they may have been changed since
    require(most_entries() == entries_, "the graph is another one now");
    std::copy(starts_.data(), starts_.data() + starts_.length(), starts.data());
    std::copy(ends_.data(), ends_.data() + ends_.length(), ends.data());
    std::int64_t place = 0;
    const auto put = [&](std::int32_t other, float distance) {
      indices.data()[place] = other;
      data.data()[place++] = distance;
    };
    each_word(links_, [&](std::int32_t word, const LinkChange* change, const LinkChange* last) {
      starts.data()[word] = static_cast<std::int32_t>(first + place);
      if (const std::int64_t degree = degree_of(word); degree > 0) {
        const std::int32_t* row = in_two(indices_, later_indices_).from(starts_.data()[word]);
        const float* distances = in_two(data_, later_data_).from(starts_.data()[word]);
        for (std::int64_t k = 0; k < degree; ++k) {
          while (change != last && change->other < row[k]) ++change;
          if (change == last || change->other != row[k]) put(row[k], distances[k]);  // others go
        }
      }
      for (; change != last; ++change) {  // others come behind all that were there
        if (!change->gone) put(change->other, change->distance);
      }
      ends.data()[word] = static_cast<std::int32_t>(first + place);
    });
  }

 private:
  template <class Array>
  static InTwo<std::remove_const_t<typename Array::Scalar>> in_two(const Array& first, const Array& later) {
    return {first.data(), static_cast<std::int64_t>(first.size()), later.data()};
  }
  OwnLists lists() const {
    return {in_two(own_, later_own_), in_two(distances_, later_distances_), places_.data(), places_.length(),
            own_.length(1)};
  }
  // The edges of a word are from its start to its end.
  std::int64_t degree_of(std::int32_t word) const {
    return word < places_.length() ? ends_.data()[word] - starts_.data()[word] : 0;
  }
  // How many edges the rows that change have at most in the end.
  std::int64_t most_entries() const {
    std::int64_t entries = 0;
    each_word(links_, [&](std::int32_t word, const LinkChange* first, const LinkChange* last) {
      entries += degree_of(word) + (last - first);
    });
    return entries;
  }
  void require_whole() const { require(changed_.largest < HUGE_VAL, "the vectors are out of range"); }
  void require_spans() const {
    const std::int64_t entries = indices_.length(), last = entries + later_indices_.length();
    for (std::int64_t word = 0; word < places_.length(); ++word) {
      const std::int64_t start = starts_.data()[word], end = ends_.data()[word];
      require(0 <= start && start <= end && end <= (start < entries ? entries : last),
              "a row of the graph is not there");
    }
  }
  static void require_place(std::int64_t first, std::int64_t count) {
    require(first >= 0 && first < (std::int64_t{1} << 31) - count, "places must fit in 31 bits");
  }

  ValueRows vectors_;
  In<std::int64_t> words_;
  NumberRows own_;
  ValueRows distances_;
  NumberRows later_own_;
  ValueRows later_distances_;
  Numbers places_;
  ChangedLists changed_;
  Numbers indices_, later_indices_, starts_, ends_;
  Values data_, later_data_;
  std::vector<LinkChange> links_;
  std::int64_t entries_ = -1;
};

}  // namespace

void bind_join(nb::module_& m) {
  nb::class_<Joining>(m, "Joining", "New words, compared with all others: the lists and links that change.")
      .def(nb::init<ValueRows, In<std::int64_t>, NumberRows, ValueRows, NumberRows, ValueRows, Numbers, int>(),
           "vectors"_in, "words"_in, "own"_in, "distances"_in, "later_own"_in, "later_distances"_in, "places"_in,
           "threads"_a)
      .def_prop_ro("total", &Joining::total, "The sum of the distances of all ordered pairs that have a new word.")
      .def_prop_ro("largest", &Joining::largest, "The largest squared length of a vector.")
      .def_prop_ro("rows", &Joining::rows, "How many lists change.")
      .def("rank_sums", &Joining::rank_sums, "out"_in,
           "By how much the sums of the distances at each place of all lists grow.")
      .def("write_lists", &Joining::write_lists, "first"_a, "own"_in, "distances"_in, "places"_in,
           "The changed lists, and where all lists are.")
      .def("link", &Joining::link, nb::lock_self(), "indices"_in, "data"_in, "later_indices"_in, "later_data"_in,
           "starts"_in, "ends"_in, "Find the rows of the graph that change; how many entries they have at most.")
      .def("write_links", &Joining::write_links, nb::lock_self(), "first"_a, "indices"_in, "data"_in, "starts"_in,
           "ends"_in, "The changed rows, and where all rows are.");
}

}  // namespace wordferry
