// The best rows by BM25: a bound of every score from the lists in whole numbers, then the scores themselves of the few
// rows whose bound is large enough, from their bags and in the order of the query.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <tuple>
#include <type_traits>
#include <utility>

#include "stored/bit_sums.hpp"
#include "support/at.hpp"
#include "support/best.hpp"
#include "support/compiler.hpp"
#include "words/word_search.hpp"

namespace wordferry {

namespace {

// One form of one word of a query.
struct StoredForm {
  std::int32_t slot;  // which word of the query
  std::int32_t word;
  bool exact;  // the very form that was asked for
};

// A query by words; `forms` rise by slot, each of which has a factor.
struct FormQuery {
  std::vector<StoredForm> forms;
  std::vector<double> factors;
  Saturation saturation;
};

using BestScores = BestK<double, std::greater<double>>;

struct BestRows {
  std::vector<BestScores::Item> best;
  std::int64_t visited = 0;    // entries of lists
  std::int64_t evaluated = 0;  // documents whose score was computed
};

// The words of a query by their number, so that the score of a bag is found in one walk over it.
class QueryTable {
 public:
  explicit QueryTable(const FormQuery& query)
      : query_(&query), uses_(query.forms), exact_(query.factors.size(), 0), other_(query.factors.size(), 0) {
    std::stable_sort(uses_.begin(), uses_.end(),
                     [](const StoredForm& a, const StoredForm& b) { return a.word < b.word; });
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

  // The score of a row of a part.
  double score(const WordPart& part, std::int64_t row) {
    part.bags.each(row, [&](std::int32_t word, std::int32_t count) { add(word, count); });
    std::sort(touched_.begin(), touched_.end());
    const Saturation& saturation = query_->saturation;
    const double rest = saturation.floor + saturation.slope * static_cast<double>(tokens_of(part.lengths, row));
    double score = 0.0;
    for (const std::int32_t slot : touched_) {
      const auto place = at(slot);
      const double tf = static_cast<double>(exact_[place]) + saturation.stem * static_cast<double>(other_[place]);
      if (tf > 0) score += query_->factors[place] * (tf / (tf + rest));
      exact_[place] = other_[place] = 0;
    }
    touched_.clear();
    return score;
  }

 private:
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
  std::vector<StoredForm> uses_;     // by word
  std::vector<std::int32_t> heads_;  // by a hash of the word: its first use, or -1
  std::vector<std::int64_t> exact_, other_;
  std::vector<std::int32_t> touched_;
};

constexpr std::uint32_t most_counted = 15;  // so often or more often counts as if it were always
constexpr std::uint32_t full = 1 << 16;     // the whole of a saturation
constexpr std::int64_t scan_step = 64;      // rows that are looked at together

double saturated(double tf, double rest) { return tf > 0 ? tf / (tf + rest) : 0.0; }

// At least a * b / full, where b is at most full.
template <class Sum>
WF_ALWAYS_INLINE Sum share_of(std::uint64_t a, std::uint32_t b) {
  using Product = std::conditional_t<sizeof(Sum) == 2, std::uint32_t, std::uint64_t>;
  return static_cast<Sum>((static_cast<Product>(a) * b + (full - 1)) / full);
}

// For each count and class of lengths at least tf / (tf + rest), in parts of `full`. Of words with bits, whose lists
// say how many times more a word comes than once, what these times add.
class Table {
 public:
  Table(double scale, const Saturation& saturation, int largest_class, bool beside_bits) {
    for (int length = 0; length <= largest_class; ++length) {
      const double rest = saturation.floor + saturation.slope * least_length(length);
      const double once = saturated(scale, rest), less = beside_bits ? once * (1 - 1e-9) : 0.0;
      for (std::uint32_t count = 0; count <= most_counted; ++count) {
        const double tf = scale * (beside_bits ? count + 1 : count);
        const double part = count == most_counted && tf > 0 ? 1.0 : std::min(saturated(tf, rest) * (1 + 1e-9), 1.0);
        values_[count * class_count + at(length)] =
            static_cast<std::uint32_t>(std::ceil(std::max(part - less, 0.0) * full));
      }
    }
  }
  std::uint32_t at_least(std::int32_t count, std::uint8_t length) const {
    return values_[std::min(static_cast<std::uint32_t>(count), most_counted) * class_count + length];
  }

 private:
  std::uint32_t values_[(most_counted + 1) * class_count];
};

// sums[row] += at least what the word gives the rows of a list; beside bits, what it gives for coming more than once.
template <class Sum>
void add_list(const ListedRows& list, int width, std::uint64_t weight_once, std::uint64_t weight, const Table& table,
              const std::uint16_t* once, const std::uint8_t* lengths, Sum* sums) {
  ListedRows left = list;
  if (list.bits == nullptr) {
    const auto add = [&](std::int64_t i) {
      const std::size_t row = list.rows[i];
      sums[row] = static_cast<Sum>(sums[row] + share_of<Sum>(weight_once, once[row]));
    };
    std::int64_t i = 0;
    for (; i + 4 <= list.once; i += 4) {
      add(i);
      add(i + 1);
      add(i + 2);
      add(i + 3);
    }
    for (; i < list.once; ++i) add(i);
    left = list.repeated();
  }
  each_listed(left, width, [&](std::uint16_t row, std::int32_t count) {
    sums[row] = static_cast<Sum>(sums[row] + share_of<Sum>(weight, table.at_least(count, lengths[row])));
  });
}

// What the bits of all words say, as shares of what a word that comes once is worth.
void share_sums(const GroupSums& from, const std::uint16_t* once, std::uint16_t* sums) {
  for (std::int64_t i = 0; i < group_rows; ++i) {
    sums[i] = static_cast<std::uint16_t>((static_cast<std::uint32_t>(from[i]) * once[i] + (full - 1)) / full);
  }
}

// The first scan_step from `first` on with a row that reaches `need`; `rows` where there is none. Sums are there for
// whole chunks.
template <class Sum>
std::int64_t next_chunk(const Sum* sums, std::int64_t first, std::int64_t rows, Sum need) {
  for (; first < rows; first += scan_step) {
    int found = 0;
    for (std::int64_t i = 0; i < scan_step; ++i) found |= sums[first + i] >= need ? 1 : 0;
    if (found != 0) return first;
  }
  return rows;
}

// Of many bounds those that matter: where about the k largest so far begin.
class Largest {
 public:
  Largest(std::size_t k, int shift) : k_(k), shift_(shift), often_(buckets, 0) {}

  void put(std::uint32_t bound) {
    const std::size_t bucket = std::min<std::size_t>(bound >> shift_, buckets - 1);
    ++often_[bucket];
    ++total_;
    if (bucket > at_) ++above_;
  }

  bool enough() const { return total_ >= k_; }

  // A bound that k of those put reach, rounded down; 0 while there are fewer.
  std::uint32_t reached() {
    while (at_ + 1 < buckets && above_ >= k_) above_ -= often_[++at_];  // what was put since moves it up, never down
    return static_cast<std::uint32_t>(at_) << shift_;
  }

 private:
  static constexpr std::size_t buckets = 1 << 12;
  std::size_t k_;
  int shift_;
  std::vector<std::size_t> often_;
  std::size_t total_ = 0, at_ = 0, above_ = 0;  // above: how many lie in buckets above this one
};

// Walks the blocks of all parts and keeps the rows with the largest bounds; then the scores of these, largest bound
// first, until no other row can be among the best. `Sum` holds what bounds add up to.
template <class Sum>
class Search {
 public:
  Search(const std::vector<WordPart>& parts, const FormQuery& query, const bool* allowed, std::int64_t k, Watch& watch)
      : parts_(parts), query_(query), allowed_(allowed), kept_(k), table_(query), sums_(at(list_block_rows), 0),
        largest_(at(k), sizeof(Sum) == 2 ? 4 : 19), pace_(watch) {
    int least = class_count - 1, most = 0;
    for (const WordPart& part : parts) {
      least = std::min(least, part.least_class);
      most = std::max(most, part.largest_class);
    }
    const Saturation& constants = query.saturation;
    for (const bool bits : {false, true}) {
      tables_.emplace_back(constants.stem, constants, most, bits);
      tables_.emplace_back(1.0, constants, most, bits);
    }
    // Another form is worth at most this share of what the word itself is: for short documents the most.
    const double rest = constants.floor + constants.slope * least_length(least);
    const double other =
        constants.stem > 1 ? constants.stem : saturated(constants.stem, rest) * (1 + rest) * (1 + 1e-9);
    double total = 0.0;
    for (const StoredForm& form : query.forms) total += query.factors[at(form.slot)] * std::max(other, 1.0);
    const double room = largest() - 2 * static_cast<double>(query.forms.size());
    unit_ = total > 0 ? total / room : 1.0;
    for (const StoredForm& form : query.forms) {
      const double factor = query.factors[at(form.slot)] / unit_;
      weights_.push_back(static_cast<std::uint64_t>(std::ceil(factor)));
      once_weights_.push_back(static_cast<std::uint64_t>(std::ceil(factor * (form.exact ? 1.0 : other))));
    }
  }

  BestRows run() {
    std::vector<Block> blocks;
    for (const WordPart& part : parts_) {
      for (std::int64_t low = 0; low < part.bags.rows; low += list_block_rows) blocks.push_back({&part, low, 0, false});
    }
    for (Block& block : blocks) look_at(block, 0);
    evaluate();
    for (Block& block : blocks) {  // nearly never: bounds were further from the scores than was thought
      if (!block.touched || block.need <= needed()) continue;
      look_at(block, needed());
      evaluate();
    }
    found_.best = std::move(kept_).sorted();
    return std::move(found_);
  }

 private:
  struct Block {
    const WordPart* part;
    std::int64_t low;
    Sum need;  // rows with a smaller bound were passed over
    bool touched;
  };

  struct Candidate {
    Sum bound;
    std::int64_t row;
    const WordPart* part;
  };

  static double largest() { return sizeof(Sum) == 2 ? 65000.0 : 2.0e9; }

  // What a bound must probably reach: scores are seldom much smaller than their bounds.
  Sum probable() {
    constexpr double share = 0.85;
    return static_cast<Sum>(std::max(share * static_cast<double>(largest_.reached()), 1.0));
  }

  // The least bound with which a row may still be among the best.
  Sum needed() const {
    const double least = kept_.full() ? kept_.worst() / unit_ * (1 - 1e-9) : 0.0;
    return static_cast<Sum>(std::clamp(std::floor(least), 1.0, largest()));
  }

  // Keeps the rows of a block whose bound reaches `need`, but for those that were kept before; 0 is what is probable.
  void look_at(Block& block, Sum need) {
    const WordPart& part = *block.part;
    const std::int64_t rows = std::min(list_block_rows, part.bags.rows - block.low);
    const bool again = block.touched;
    const std::int64_t visited = sum_up(part, block.low / list_block_rows);
    if (visited == 0) return;
    found_.visited += visited;
    for (std::int64_t row = rows; row < list_block_rows; ++row) require_inside(sums_[at(row)] == 0);
    const bool* const allowed = allowed_ == nullptr ? nullptr : allowed_ + part.start + block.low;
    const bool new_ones = largest_.enough();
    if (!new_ones) {
      for (std::int64_t row = 0; row < rows; ++row) {
        if (sums_[at(row)] != 0 && (allowed == nullptr || allowed[row])) largest_.put(sums_[at(row)]);
      }
    }
    const Sum before = again ? block.need : std::numeric_limits<Sum>::max();
    if (need == 0) need = probable();
    block.touched = true;
    block.need = need;
    for (std::int64_t first = 0; (first = next_chunk(sums_.data(), first, rows, need)) < rows; first += scan_step) {
      for (std::int64_t row = first; row < std::min(first + scan_step, rows); ++row) {
        const Sum bound = sums_[at(row)];
        if (bound < need || bound >= before || (allowed != nullptr && !allowed[row])) continue;
        candidates_.push_back({bound, block.low + row, &part});
        if (new_ones) largest_.put(bound);
      }
    }
    pace_.spend(list_block_rows / 4);
  }

  // Answers how many entries of lists there were.
  std::int64_t sum_up(const WordPart& part, std::int64_t block) {
    const BlockLists all(part.lists, block);
    const std::size_t count = query_.forms.size();
    std::int64_t visited = 0;
    places_.clear();
    for (const StoredForm& form : query_.forms) places_.push_back(all.places(form.word));
    lists_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      lists_[i] = all.read(places_[i]);
      visited += lists_[i].size + lists_[i].present;
    }
    if (visited == 0) return 0;
    const std::int64_t low = block * list_block_rows;
    sum_bits_up(part.once + low, all.groups());
    for (std::size_t i = 0; i < count; ++i) {
      if (i + 2 < count) fetch_list(lists_[i + 2]);
      if (lists_[i].size == 0) continue;
      const StoredForm& form = query_.forms[i];
      const Table& table = tables_[(lists_[i].bits != nullptr ? 2u : 0u) + (form.exact ? 1u : 0u)];
      add_list(lists_[i], part.lists.width, once_weights_[i], weights_[i], table, part.once + low,
               part.length_classes + low, sums_.data());
      pace_.spend(2 * lists_[i].size + 200);
    }
    return visited;
  }

  // Words with bits: all of them together where sums have 16 bits, else row by row. Forgets the sums of another block.
  void sum_bits_up(const std::uint16_t* once, std::int64_t groups) {
    std::int64_t summed = 0;
    if constexpr (sizeof(Sum) == 2) {
      bits_.clear();
      for (std::size_t i = 0; i < lists_.size(); ++i) {
        if (lists_[i].bits != nullptr) bits_.push_back({lists_[i].bits, static_cast<std::uint16_t>(once_weights_[i])});
      }
      if (!bits_.empty()) summed = groups;
      alignas(64) GroupSums sums;
      for (std::int64_t group = 0; group < summed; ++group) {
        sum_bits(bits_.data(), bits_.size(), group, sums);
        share_sums(sums, once + group * group_rows, sums_.data() + group * group_rows);
        pace_.spend(200 + 10 * static_cast<std::int64_t>(bits_.size()));
      }
    }
    std::fill(sums_.begin() + summed * group_rows, sums_.end(), Sum{0});
    if constexpr (sizeof(Sum) != 2) {
      for (std::size_t i = 0; i < lists_.size(); ++i) {
        if (lists_[i].bits == nullptr) continue;
        each_bit(lists_[i].bits, groups,
                 [&](std::int64_t row) { sums_[at(row)] += share_of<Sum>(once_weights_[i], once[row]); });
        pace_.spend(2 * lists_[i].present + 20 * groups);
      }
    }
  }

  // The scores of the candidates, those with the largest bounds first, as long as one may still be among the best.
  void evaluate() {
    std::sort(candidates_.begin(), candidates_.end(), [](const Candidate& a, const Candidate& b) {
      return a.bound != b.bound ? a.bound > b.bound : a.part->start + a.row < b.part->start + b.row;
    });
    constexpr std::size_t in_advance = 8;
    for (std::size_t i = 0; i < candidates_.size() && candidates_[i].bound >= needed(); ++i) {
      if (const std::size_t next = i + 2 * in_advance; next < candidates_.size()) {
        candidates_[next].part->bags.fetch_place(candidates_[next].row);
        prefetch_line(candidates_[next].part->lengths + candidates_[next].row);
      }
      if (const std::size_t next = i + in_advance; next < candidates_.size()) {
        candidates_[next].part->bags.fetch_row(candidates_[next].row);
      }
      const Candidate& one = candidates_[i];
      const double score = table_.score(*one.part, one.row);
      if (score > 0.0) kept_.offer(score, one.part->start + one.row);
      ++found_.evaluated;
      pace_.spend(500);
    }
    candidates_.clear();
  }

  const std::vector<WordPart>& parts_;
  const FormQuery& query_;
  const bool* allowed_;
  BestScores kept_;
  QueryTable table_;
  std::vector<Table> tables_;  // other forms, the word itself; then the same beside bits
  std::vector<Sum> sums_;
  std::vector<std::uint64_t> weights_, once_weights_;
  double unit_ = 1.0;
  std::vector<BlockLists::Places> places_;
  std::vector<ListedRows> lists_;
  std::vector<WeighedBits> bits_;
  std::vector<Candidate> candidates_;
  Largest largest_;
  BestRows found_;
  Pace pace_;
};

void make_query(FormQuery* self, const In<std::int32_t>& slots, const In<std::int32_t>& words,
                const In<std::uint8_t>& is_exact, const In<double>& factors, double stem, double floor, double slope) {
  const auto fits = [](double value) { return value >= 0 && value <= 1e100; };
  require(words.length() == slots.length() && is_exact.length() == slots.length(), "one word and form for each slot");
  require_all(factors, fits, "factors must not be negative");
  require(fits(stem) && fits(floor) && fits(slope), "the constants must not be negative");
  FormQuery query{{}, {factors.data(), factors.data() + factors.length()}, {stem, floor, slope}};
  for (std::int64_t i = 0; i < slots.length(); ++i) {
    const std::int32_t slot = slots.data()[i];
    require(slot >= 0 && slot < factors.length(), "slots must lie in 0 .. factors - 1");
    require(i == 0 || slots.data()[i - 1] <= slot, "slots must not fall");
    query.forms.push_back({slot, words.data()[i], is_exact.data()[i] != 0});
  }
  new (self) FormQuery(std::move(query));
}

// The best k rows by BM25, by (score falling, row rising), and their scores; how many entries of lists and documents
// were looked at.
std::tuple<Made<std::int64_t>, Made<double>, std::int64_t, std::int64_t> best_by_words(
    const std::vector<const WordDocuments*>& parts, const FormQuery& query, const Allowed& allowed, std::int64_t k) {
  constexpr std::size_t few = 1000;
  const WordParts all(parts, &query.saturation);
  const bool* const mask = mask_of(allowed, all.rows);
  require(k >= 0, "k must not be negative");
  BestRows found;
  run_native([&](Watch& watch) {
    if (k == 0) return;
    found = query.forms.size() <= few ? Search<std::uint16_t>(all.parts, query, mask, k, watch).run()
                                      : Search<std::uint32_t>(all.parts, query, mask, k, watch).run();
  });
  auto [rows, scores] = best_arrays(found.best);
  return {std::move(rows), std::move(scores), found.visited, found.evaluated};
}

// The score of each of some rows, 0 for one without a word of the query.
Made<double> scores_by_words(const std::vector<const WordDocuments*>& parts, const FormQuery& query,
                             const In<std::int64_t>& rows) {
  const WordParts all(parts, nullptr);
  auto scores = make_array(0.0, rows.length());
  require_range(rows, 0, all.rows, "rows must lie in the parts");
  run_native([&](Watch& watch) {
    QueryTable table(query);
    Pace pace(watch);
    for (std::int64_t i = 0; i < rows.length(); ++i) {
      const WordPart& part = part_of(all.parts, rows.data()[i]);
      scores.data()[i] = table.score(part, rows.data()[i] - part.start);
      pace.spend(500);
    }
  });
  return scores;
}

}  // namespace

void bind_word_scores(nb::module_& m) {
  nb::class_<FormQuery>(m, "FormQuery", "The forms of the words of a query, by slot, and what BM25 needs beside them.")
      .def("__init__", &make_query, "slots"_in, "words"_in, "is_exact"_in, "factors"_in, "stem"_a, "floor"_a,
           "slope"_a);
  m.def("best_by_words", &best_by_words, "parts"_a, "query"_a, "allowed"_in.none(), "k"_a,
        "The best rows and their scores, and how many entries of lists and documents were looked at.");
  m.def("scores_by_words", &scores_by_words, "parts"_a, "query"_a, "rows"_in,
        "The scores of some documents, 0 where one has no word of the query.");
}

}  // namespace wordferry
