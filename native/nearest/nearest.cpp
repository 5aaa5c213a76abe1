// Exact nearest documents by Rel-RWMD through inverted lists.
//
// Moving a document onto the query costs c_max for each word that the query does not touch, so that side of the
// distance is c_max less what the lists of the touched words save. It bounds the distance from below. The sums of a
// block of rows stay in the cache, and only rows that can still be among the nearest leave it: nothing is kept for
// every document.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "nearest/block_sums.hpp"
#include "nearest/panel_sums.hpp"
#include "stored/views.hpp"
#include "support/at.hpp"

namespace wordferry {

namespace {

// Compares documents by the masses of their words, which are made in the same memory again and again.
class WeighedRows {
 public:
  WeighedRows(const std::vector<SearchedPart>& parts, const WordWeights& weights) : parts_(parts), weights_(weights) {}

  float distance(BlendedQuery& query, std::int64_t row) {
    const float found = distance(query.words, row);
    const CosineShare& cosine = query.cosine;
    if (cosine.unit == nullptr || words_.empty()) return found;
    const float moved = found * cosine.moved, unshared = cosine_of(query.words, cosine) * cosine.unshared;
    return moved + unshared;
  }

 private:
  float distance(TouchedQuery& query, std::int64_t row) {
    const SearchedPart& part = part_of(parts_, row);
    words_.clear();
    values_.clear();
    double& total = total_ = 0.0;  // summed as everywhere else, one word after the other
    part.bags.read(row - part.start, weights_.count, [&](const auto* words, const auto* counts, auto size) {
      for (std::int64_t k = 0; k < size; ++k) {
        const double weight = weights_.values[words[k]];
        if (weight == 0.0) continue;
        words_.push_back(static_cast<std::int32_t>(words[k]));
        values_.push_back(part.repeats.times(static_cast<std::int64_t>(counts[k]), row - part.start) * weight);
        total += values_.back();
      }
    });
    if (!(total > 0.0)) return std::numeric_limits<float>::infinity();
    return query.value(words_.data(), std::ssize(words_), Side::both,
                       [&](std::int64_t k) { return static_cast<float>(values_[at(k)] / total); });
  }

  // The cosine distance of the row that was compared last, summed over the words of the query, two by two.
  float cosine_of(const TouchedQuery& query, const CosineShare& cosine) {
    double squares = 0.0;
    for (double& value : values_) {
      value = static_cast<double>(static_cast<float>(value / total_));  // the mass
      squares += value * value;
    }
    const double length = std::sqrt(squares);
    products_.assign(at(cosine.words), 0.0f);
    for (std::size_t k = 0; k < words_.size(); ++k) {
      values_[k] = static_cast<double>(static_cast<float>(values_[k] / length));
      const std::int32_t own = query.touched(words_[k]).own;
      if (own >= 0) products_[at(own)] = cosine.unit[own] * static_cast<float>(values_[k]);
    }
    const float found = 1.0f - moved_two_by_two(cosine.words, [&](std::int64_t k) { return products_[at(k)]; });
    return found < cosine.lost ? static_cast<float>(half_squared_difference(query, cosine)) : found;
  }

  double half_squared_difference(const TouchedQuery& query, const CosineShare& cosine) const {
    double sum = 0.0;
    std::int64_t next = 0;
    const auto add = [&](double difference) { sum += difference * difference; };
    for (std::size_t k = 0; k < words_.size(); ++k) {
      const std::int32_t own = query.touched(words_[k]).own;
      for (; next < own; ++next) add(cosine.unit[next]);
      add(values_[k] - (own < 0 ? 0.0 : static_cast<double>(cosine.unit[next++])));
    }
    for (; next < cosine.words; ++next) add(cosine.unit[next]);
    return 0.5 * sum;
  }

  const std::vector<SearchedPart>& parts_;
  const WordWeights& weights_;
  std::vector<std::int32_t> words_;
  std::vector<double> values_;  // what each of them counts times what it weighs
  double total_ = 0.0;
  std::vector<float> products_;
};

// What a document weighs on the average; 1 where there is none.
float mean_weight(const std::vector<SearchedPart>& parts) {
  double rows = 1.0, total = 1.0;
  for (const SearchedPart& part : parts) {
    rows += static_cast<double>(part.bags.rows);
    total += static_cast<double>(part.bags.rows) * static_cast<double>(part.mean_total);
  }
  return static_cast<float>(total / rows);
}

// The touched words of a query as the lists of all parts take them.
struct QueryLists {
  ListedWords words;
  BlockSums::Scale scale;

  QueryLists(const BlendedQuery& query, const WordWeights& weights, float mean)
      : words(query, weights),
        scale{query.words.c_max(), words.heaviest(query.words.c_max()), words.largest_product(), query.cosine} {
    words.let_stay(1.0f / mean);
  }

  // The bounds of a block, in the memory of this thread.
  BlockSums& bounds(const SearchedPart& part, std::int64_t block, Visited& visited, Watch& watch) const {
    BlockSums& sums = BlockSums::of_this_thread();
    sums.begin(part, block, scale);
    sums.add(part.lists, block, words, visited, watch);
    return sums;
  }
};

// How many different words a document has on the average, at least one.
double words_of_a_row(const std::vector<SearchedPart>& parts) {
  double stored = 1.0, rows = 1.0;
  for (const SearchedPart& part : parts) {
    stored += static_cast<double>(part.bags.stored);
    rows += static_cast<double>(part.bags.rows);
  }
  return std::max(stored / rows, 1.0);
}

struct RowBlock {
  std::size_t part;
  std::int64_t number, rows;
};

// The blocks of all parts, the largest first.
std::vector<RowBlock> blocks_of(const std::vector<SearchedPart>& parts) {
  std::vector<RowBlock> blocks;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    for (std::int64_t b = 0; b < blocks_for(parts[p].bags.rows); ++b) {
      blocks.push_back({p, b, std::min(list_block_rows, parts[p].bags.rows - b * list_block_rows)});
    }
  }
  const auto fewer = [](const RowBlock& a, const RowBlock& b) { return a.rows < b.rows; };
  if (!blocks.empty()) std::iter_swap(blocks.begin(), std::max_element(blocks.begin(), blocks.end(), fewer));
  return blocks;
}

// Whether walking all documents once costs less than walking the lists of each query, judged by its first block.
bool together_pays(const std::vector<SearchedPart>& parts, const RowBlock& first, double nanoseconds) {
  constexpr double word = 2.4;  // nanoseconds: a word of a document for all queries
  return nanoseconds / static_cast<double>(first.rows) > words_of_a_row(parts) * word;
}

// The k nearest of the allowed rows of all parts to each of up to sixteen queries with one c_max and the same shares:
// the lists say how near the k-th is, then documents are walked once for all of them where that pays. `slack` is how
// far bounds and distances may be off.
void search(const std::vector<SearchedPart>& parts, const WordWeights& weights, std::vector<BlendedQuery>& queries,
            float slack, std::int64_t k, int threads, std::vector<NearestDocuments>& found, Watch& watch) {
  constexpr std::int64_t least_first = 32;  // rows that are compared to learn how near the k-th is
  const std::vector<RowBlock> blocks = blocks_of(parts);
  found.assign(queries.size(), {});
  if (blocks.empty() || k <= 0 || queries.empty()) return;
  const std::int64_t first = std::max(k, least_first);
  Visited seen;
  WeighedRows documents(parts, weights);
  const auto value = [&documents](BlendedQuery& query) {
    return [&documents, &query](std::int64_t row) { return documents.distance(query, row); };
  };
  std::vector<Compared<decltype(value(queries.front()))>> compared;
  std::vector<QueryLists> lists;
  const float mean = mean_weight(parts);
  std::vector<PanelRows> waiting(blocks.size());
  PanelLimits limits;
  limits.fill(-std::numeric_limits<float>::infinity());
  for (std::size_t q = 0; q < queries.size(); ++q) {
    lists.emplace_back(queries[q], weights, mean);
    compared.emplace_back(k, value(queries[q]));
    BlockSums& bounds = lists[q].bounds(parts[blocks[0].part], blocks[0].number, seen, watch);
    for (const NearRow& one : bounds.take_lowest(first)) compared[q].put(one.row);
    limits[q] = compared[q].worst() + slack;
    bounds.collect(limits[q], waiting[0][q]);
  }
  std::atomic<std::int64_t> visited{seen.entries};
  const auto one_by_one = [&](std::int64_t number, int) {
    const RowBlock& block = blocks[at(number + 1)];
    Visited here;
    for (std::size_t q = 0; q < queries.size(); ++q) {
      const BlockSums& bounds = lists[q].bounds(parts[block.part], block.number, here, watch);
      bounds.collect(limits[q], waiting[at(number + 1)][q]);
    }
    visited += here.entries;
  };
  const auto others = static_cast<std::int64_t>(blocks.size()) - 1;
  if (queries.size() == 1 || others == 0 || !together_pays(parts, blocks[0], seen.nanoseconds)) {
    for_blocks(others, threads, one_by_one, watch);
  } else {
    std::vector<ListedWords> words;
    for (const QueryLists& one : lists) words.push_back(one.words);
    const PanelWords together(words, weights.count);
    const auto body = [&](std::int64_t number, int) {
      const RowBlock& block = blocks[at(number + 1)];
      collect_panel(parts[block.part], block.number, together, queries.front().words.c_max(), queries.front().cosine,
                    limits, waiting[at(number + 1)], watch);
    };
    for_blocks(others, threads, body, watch);
  }
  for (std::size_t q = 0; q < queries.size(); ++q) {
    std::vector<NearRow>& all = waiting[0][q];
    for (std::size_t b = 1; b < waiting.size(); ++b) all.insert(all.end(), waiting[b][q].begin(), waiting[b][q].end());
    compare_first(all, compared[q], slack, at(first));
    compare_rising(all, compared[q], slack, watch);
    found[q] = std::move(compared[q]).found();
  }
  found.front().visited = visited;
}

constexpr float largest_cost = 1e30f;

// A query by the numbers of its words; those that no document has come behind all others.
class ListQuery {
 public:
  ListQuery(In<std::int32_t> words, In<float> masses, In<std::int32_t> positions, In<std::int32_t> related,
            In<float> costs, float c_max, Overlap overlap, std::int64_t vocabulary)
      : words_(std::move(words)), masses_(std::move(masses)), positions_(std::move(positions)),
        related_(std::move(related)), costs_(std::move(costs)), c_max_(c_max), overlap_(overlap),
        vocabulary_(vocabulary) {
    require(vocabulary >= 0 && vocabulary <= INT32_MAX, "the vocabulary must fit in an int32");
    require(words_.length() == masses_.length(), "one mass for each word");
    require(positions_.length() == related_.length() && costs_.length() == related_.length(),
            "one cost for each relation");
    require(overlap != Overlap::residual, "lists cannot serve residual");
    require(c_max >= 0.0f && c_max <= largest_cost, "c_max must be a cost");
    require_range(words_, 0, vocabulary, "words must lie in the vocabulary");
    require_range(related_, 0, vocabulary, "related words must lie in the vocabulary");
    require_range(positions_, 0, words_.length(), "positions must lie in the query");
    require_all(costs_, [c_max](float one) { return one >= 0.0f && one <= c_max; }, "costs must lie in 0 .. c_max");
    require_all(masses_, [](float one) { return one >= 0.0f && one <= 1.0f; }, "masses must lie in 0 .. 1");
  }

  float c_max() const { return c_max_; }
  std::int64_t words() const { return words_.length(); }
  void require_words(const WordWeights& weights) const {
    require(vocabulary_ >= weights.count, "a query must know every word that weighs something");
  }

  TouchedQuery made() const {
    TouchedQuery query(vocabulary_, c_max_, overlap_);
    for (std::int64_t i = 0; i < words_.length(); ++i) query.add(words_.data()[i], masses_.data()[i]);
    for (std::int64_t i = 0; i < related_.length(); ++i) {
      query.relate(positions_.data()[i], related_.data()[i], costs_.data()[i]);
    }
    query.finish();
    return query;
  }

 private:
  In<std::int32_t> words_;
  In<float> masses_;
  In<std::int32_t> positions_, related_;
  In<float> costs_;
  float c_max_;
  Overlap overlap_;
  std::int64_t vocabulary_;
};

// The share of the cosine distance in that of a query.
struct CosineView : CosineShare {
  CosineView(const In<float>& parts, float of_moved, float of_unshared, float lost_below)
      : CosineShare{parts.data(), parts.length(), of_moved, of_unshared, lost_below}, held(hold(parts)) {
    constexpr float least = 1e-7f, most = 1e7f;
    require(moved >= least && moved <= most && unshared >= least && unshared <= most, "shares must lie in 1e-7 .. 1e7");
    require_all(
        parts, [](float one) { return one >= 0.0f && one <= 2.0f; }, "the parts of a unit vector must lie in 0 .. 1");
  }

  Held held;
};

using Cosines = std::vector<const CosineView*>;

// The shares of the queries; no query has one, or all have the same.
std::vector<CosineShare> shares_of(const Cosines& cosines, const std::vector<const ListQuery*>& queries) {
  std::vector<CosineShare> found(queries.size());
  require(cosines.empty() || cosines.size() == queries.size(), "a share of cosine for each query, or for none");
  for (std::size_t q = 0; q < cosines.size(); ++q) {
    require(cosines[q] != nullptr, "a share must not be None");
    require(cosines[q]->words == queries[q]->words(), "one part of the unit for each word of the query");
    found[q] = *cosines[q];
    require(found[q].moved == found[0].moved && found[q].unshared == found[0].unshared,
            "the queries of a panel must have the same shares");
  }
  return found;
}

// The nearest rows to each of a panel of queries and their distances, -1 and infinity where there is none, and how many
// entries of lists and how many documents were looked at.
std::tuple<Made<std::int64_t, 2>, Made<float, 2>, std::int64_t, std::int64_t> nearest_by_lists(
    const std::vector<const ListQuery*>& queries, const Parts& parts, const WeightsView& weights,
    const Allowed& allowed, const Cosines& cosines, float slack, std::int64_t k, int threads) {
  const std::vector<SearchedPart> all = searched(parts, allowed);
  require(!queries.empty() && queries.size() <= panel_queries, "a panel has one to sixteen queries");
  require_k(k);
  require(slack >= 0.0f, "slack must not be negative");
  for (const ListQuery* query : queries) {
    require(query != nullptr, "a query must not be None");
    require(query->c_max() == queries.front()->c_max(), "the queries of a panel must have the same c_max");
    query->require_words(weights);
  }
  const std::vector<CosineShare> blended = shares_of(cosines, queries);
  std::vector<NearestDocuments> found;
  run_native([&](Watch& watch) {
    std::vector<BlendedQuery> made;
    for (std::size_t q = 0; q < queries.size(); ++q) made.push_back({queries[q]->made(), blended[q]});
    search(all, weights, made, slack, k, thread_limit(threads), found, watch);
  });
  std::int64_t evaluated = 0;
  for (const NearestDocuments& one : found) evaluated += one.evaluated;
  auto [rows, distances] = nearest_arrays(found, k);
  return {std::move(rows), std::move(distances), found.front().visited, evaluated};
}

Made<float> list_distances(const ListQuery& query, const Parts& parts, const WeightsView& weights,
                           const Cosines& cosines, const In<std::int64_t>& rows) {
  const std::vector<SearchedPart> all = searched(parts, rows);
  query.require_words(weights);
  const CosineShare share = shares_of(cosines, {&query}).front();
  auto out = make_array(0.0f, rows.length());
  run_native([&](Watch& watch) {
    BlendedQuery made{query.made(), share};
    Pace pace(watch);
    WeighedRows documents(all, weights);
    for (std::int64_t i = 0; i < rows.length(); ++i) {
      pace.spend(1 << 10);
      out.data()[i] = documents.distance(made, rows.data()[i]);
    }
  });
  return out;
}

}  // namespace

void bind_nearest_lists(nb::module_& m) {
  nb::class_<ListQuery>(m, "ListQuery", "A query of Rel-RWMD against documents with lists.")
      .def(nb::init<In<std::int32_t>, In<float>, In<std::int32_t>, In<std::int32_t>, In<float>, float, Overlap,
                    std::int64_t>(),
           "words"_in, "masses"_in, "positions"_in, "related"_in, "costs"_in, "c_max"_a, "overlap"_a, "vocabulary"_a);
  nb::class_<CosineView>(m, "CosineShare", "What the cosine distance adds to a share of Rel-RWMD.")
      .def(nb::init<const In<float>&, float, float, float>(), "unit"_in, "moved"_a, "unshared"_a, "lost"_a);
  m.def("nearest_by_lists", &nearest_by_lists, "queries"_a, "parts"_a, "weights"_a, "allowed"_in.none(), "cosines"_a,
        "slack"_a, "k"_a, "threads"_a,
        "The nearest rows to each query of a panel and their distances; how many entries of lists and documents were "
        "looked at.");
  m.def("list_distances", &list_distances, "query"_a, "parts"_a, "weights"_a, "cosines"_a, "rows"_in,
        "The distances of some rows to a query.");
}

}  // namespace wordferry
