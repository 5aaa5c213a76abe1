#include "centroids/centroids.hpp"

#include <nanobind/stl/unique_ptr.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>

#include "centroids/codes.hpp"
#include "stored/views.hpp"
#include "support/at.hpp"

namespace wordferry {

namespace {

constexpr double largest_number = 1e30;

template <class T>
bool is_finite(T value) {
  return std::abs(value) <= static_cast<T>(largest_number);
}

// The vectors of words, which vector a word has, and what words weigh.
struct WordVectorsView : WordVectors {
  WordVectorsView(const In<float, 2>& all, const In<std::int32_t>& which, const WeightsView& weighed, double square)
      : WordVectors{all.data(), all.length(), all.length(1), weighed, which.data(), square},
        held(hold(all, which, weighed)) {
    require(apart >= 0.0 && apart <= largest_number, "apart must be the square of a length");
    require(which.length() == weights.count, "one weight and one vector, or -1, for each word");
    require_range(which, -1, vectors, "rows must lie in the vectors");
  }

  Held held;
};

// Parts with their exact totals; `wanted` is who may be found, or the rows to look up.
template <class Wanted>
std::vector<SearchedPart> with_totals(const Parts& parts, const Wanted& wanted) {
  std::vector<SearchedPart> found = searched(parts, wanted);
  for (const SearchedPart& part : found) require(part.exact != nullptr, "documents need their exact totals here");
  return found;
}

// The centroids of some rows, and the lengths of what their words without a vector add.
std::pair<Made<double, 2>, Made<double>> centroids_of(const Parts& parts, const WordVectorsView& vectors,
                                                      const In<std::int64_t>& rows) {
  const std::vector<SearchedPart> all = with_totals(parts, rows);
  auto out = make_array(0.0, rows.length(), vectors.dimensions);
  auto apart = make_array(0.0, rows.length());
  run_native([&](Watch& watch) {
    Pace pace(watch);
    Centroid<double> centroid(vectors);
    for (std::int64_t i = 0; i < rows.length(); ++i) {
      pace.spend(1 << 10);
      const SearchedPart& part = part_of(all, rows.data()[i]);
      centroid.read(part, rows.data()[i] - part.start);
      std::copy(centroid.sum().begin(), centroid.sum().end(), out.data() + i * vectors.dimensions);
      apart.data()[i] = std::sqrt(vectors.apart * centroid.apart_squares());
    }
  });
  return {std::move(out), std::move(apart)};
}

std::unique_ptr<CentroidCodes> encoded(const WeighedDocuments& part, const WordVectorsView& vectors,
                                       const In<double>& mean, const In<double, 2>& axes, const In<double>& most,
                                       int threads) {
  const SearchedPart all = with_totals({&part}, Allowed{}).front();
  require(mean.length() == vectors.dimensions && axes.length(1) == vectors.dimensions,
          "mean and axes have other dimensions than the vectors");
  require(axes.length() <= most_axes, "too many axes");
  require(most.length() == axes.length() + 3, "one largest number for each axis, and three more");
  constexpr const char* not_finite = "mean, axes and largest numbers must be finite";
  require_all(mean, is_finite<double>, not_finite);
  require_all(axes, is_finite<double>, not_finite);
  require_all(most, is_finite<double>, not_finite);
  auto made = std::make_unique<CentroidCodes>(
      CodeFrame{mean.data(), axes.data(), most.data(), vectors.dimensions, axes.length()});
  run_native([&](Watch& watch) { made->encode(all, vectors, thread_limit(threads), watch); });
  return made;
}

// A query against one part.
struct PartQuery {
  const SearchedPart& part;
  const CentroidCodes& codes;
  PlacedQuery placed;
};

// shared[row] = the square of what those of the query's words without a vector add that a document of a block has.
void add_shared(const StoredLists& lists, std::int64_t block, const CentroidTarget& target, double apart,
                std::vector<float>& shared) {
  shared.assign(at(list_block_rows), 0.0f);
  if (target.apart.empty()) return;
  const BlockLists all(lists, block);
  for (const MassApart& one : target.apart) {
    const ListedRows found = all.find(one.word);
    const double square = apart * static_cast<double>(one.mass) * static_cast<double>(one.mass);
    const auto more = static_cast<float>(square * (1.0 + 1e-6));
    if (found.bits != nullptr) {
      each_bit(found.bits, all.groups(), [&](std::int64_t row) { shared[at(row)] += more; });
      continue;  // the list repeats some of these
    }
    for (std::int64_t j = 0; j < found.size; ++j) shared[found.rows[j]] += more;
  }
}

// The rows from a first one to the end of its block, or fewer.
struct RowRange {
  std::size_t part;
  std::int64_t first, end;
};

// All rows; the first ranges are short, because what they have nearest says what others need not keep.
std::vector<RowRange> ranges_of(const std::vector<SearchedPart>& parts) {
  constexpr std::int64_t shortest = 1 << 10, longer = 1 << 3;
  std::vector<RowRange> ranges;
  std::int64_t size = shortest;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    for (std::int64_t first = 0; first < parts[p].bags.rows; first = ranges.back().end) {
      const std::int64_t block_end = (first / list_block_rows + 1) * list_block_rows;
      ranges.push_back({p, first, std::min({first + size, block_end, parts[p].bags.rows})});
      size = std::min(size * longer, list_block_rows);
    }
  }
  return ranges;
}

// The allowed rows of a range whose bounds do not exceed the limit.
std::vector<NearRow> near_codes(const PartQuery& query, const RowRange& range, const CentroidTarget& target,
                                double apart, float limit) {
  constexpr std::size_t ahead = 8;
  static thread_local std::vector<float> shared;
  const CentroidCodes& codes = query.codes;
  const bool* const allowed = query.part.allowed;
  std::vector<NearRow> rows;
  add_shared(query.part.lists, range.first / list_block_rows, target, apart, shared);
  for (std::int64_t low = range.first; low < range.end; low += code_group) {
    float squares[code_group];
    std::uint32_t near = codes.near(low, query.placed, shared.data() + low % list_block_rows, limit, squares);
    for (; near != 0; near &= near - 1) {
      const int lane = std::countr_zero(near);
      const bool counts = low + lane < range.end && (allowed == nullptr || allowed[low + lane]);
      if (counts) rows.push_back({squares[lane], low + lane});
    }
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i + ahead < rows.size()) codes.fetch(rows[i + ahead].row);
    const float bound = codes.bound(rows[i].row, query.placed, rows[i].value);
    if (bound <= limit) rows[kept++] = {bound, query.part.start + rows[i].row};
  }
  rows.resize(kept);
  return rows;
}

class CentroidQuery {
 public:
  // `rows` are the vectors of words that have one; `apart` the numbers, rising, of those that have none.
  CentroidQuery(const WordVectorsView& vectors, const In<std::int32_t>& rows, const In<float>& masses,
                const In<std::int32_t>& apart, const In<float>& apart_masses)
      : vectors_(vectors) {
    target_.centroid.assign(at(vectors.dimensions), 0.0);
    require(rows.length() == masses.length() && apart.length() == apart_masses.length(), "one mass for each word");
    require_range(rows, 0, vectors.vectors, "rows must lie in the vectors");
    for (std::int64_t i = 0; i < rows.length(); ++i) {
      add_vector(vectors.data + rows.data()[i] * vectors.dimensions, vectors.dimensions, masses.data()[i],
                 target_.centroid.data());
    }
    require_rising(apart, "words without a vector must rise");
    for (std::int64_t i = 0; i < apart.length(); ++i) {
      const auto mass = static_cast<double>(apart_masses.data()[i]);
      if (apart.data()[i] < vectors.weights.count) {
        target_.apart.push_back({apart.data()[i], apart_masses.data()[i]});
      } else {
        target_.new_squares += mass * mass;
      }
    }
    constexpr const char* not_finite = "masses and vectors must be finite";
    require_all(target_.centroid, is_finite<double>, not_finite);
    require_all(apart_masses, is_finite<float>, not_finite);
    require(is_finite(target_.new_squares), not_finite);
  }

  // The nearest of the allowed rows and their distances, and how many documents were compared in full.
  std::tuple<Made<std::int64_t, 2>, Made<float, 2>, std::int64_t> nearest(
      const Parts& parts, const std::vector<const CentroidCodes*>& codes, const Allowed& allowed, std::int64_t k,
      int threads) const {
    const std::vector<SearchedPart> all = with_totals(parts, allowed);
    require(codes.size() == parts.size(), "one set of codes for each part");
    require_k(k);
    for (std::size_t p = 0; p < parts.size(); ++p) {
      require(codes[p] != nullptr, "codes must not be None");
      require(codes[p]->rows() == all[p].bags.rows, "the codes are not those of the part");
      require(codes[p]->dimensions() == vectors_.dimensions, "codes of other dimensions than the vectors");
    }
    std::vector<NearestDocuments> found(1);
    if (k > 0) run_native([&](Watch& watch) { found[0] = search(all, codes, k, thread_limit(threads), watch); });
    auto [rows, distances] = nearest_arrays(found, k);
    return {std::move(rows), std::move(distances), found[0].evaluated};
  }

  Made<float> distances(const Parts& parts, const In<std::int64_t>& rows) const {
    const std::vector<SearchedPart> all = with_totals(parts, rows);
    auto out = make_array(0.0f, rows.length());
    run_native([&](Watch& watch) {
      Centroid<double> document(vectors_);
      Pace pace(watch);
      for (std::int64_t i = 0; i < rows.length(); ++i) {
        pace.spend(1 << 12);
        out.data()[i] = distance_to(all, rows.data()[i], document);
      }
    });
    return out;
  }

 private:
  float distance_to(const std::vector<SearchedPart>& parts, std::int64_t row, Centroid<double>& document) const {
    const SearchedPart& part = part_of(parts, row);
    document.read(part, row - part.start);
    double squares = vectors_.apart > 0.0 ? vectors_.apart * document.apart_squares(target_) : 0.0;
    for (std::size_t d = 0; d < target_.centroid.size(); ++d) {
      const double off = target_.centroid[d] - document.sum()[d];
      squares += off * off;
    }
    return document.empty() ? std::numeric_limits<float>::infinity() : static_cast<float>(std::sqrt(squares));
  }

  NearestDocuments search(const std::vector<SearchedPart>& parts, const std::vector<const CentroidCodes*>& codes,
                          std::int64_t k, int threads, Watch& watch) const {
    const std::vector<RowRange> ranges = ranges_of(parts);
    std::vector<PartQuery> queries;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      queries.push_back({parts[p], *codes[p], codes[p]->place(target_, vectors_)});
    }
    Centroid<double> document(vectors_);
    Compared compared(k, [&](std::int64_t row) { return distance_to(parts, row, document); });
    std::atomic<float> limit{compared.worst()};
    std::mutex comparing;
    const auto body = [&](std::int64_t number, int) {
      const RowRange& range = ranges[at(number)];
      std::vector<NearRow> rows = near_codes(queries[range.part], range, target_, vectors_.apart, limit);
      const std::lock_guard<std::mutex> one_at_a_time(comparing);
      compare_rising(rows, compared, 0.0f, watch);
      limit = compared.worst();
    };
    for_blocks(std::ssize(ranges), threads, body, watch);
    return std::move(compared).found();
  }

  WordVectorsView vectors_;
  CentroidTarget target_;
};

}  // namespace

void bind_centroids(nb::module_& m) {
  nb::class_<WordVectorsView>(m, "WordVectors", "Vectors, which of them a word has, and what words weigh.")
      .def(nb::init<const In<float, 2>&, const In<std::int32_t>&, const WeightsView&, double>(), "vectors"_in,
           "rows"_in, "weights"_a, "apart"_a);
  m.def("centroids_of", &centroids_of, "parts"_a, "vectors"_a, "rows"_in,
        "The centroids of some rows, and the lengths of what their words without a vector add.");
  nb::class_<CentroidCodes>(m, "CentroidCodes", "The codes of the centroids of all rows of a part.")
      .def(nb::new_(&encoded), "part"_a, "vectors"_a, "mean"_in, "axes"_in, "most"_in, "threads"_a);
  nb::class_<CentroidQuery>(m, "CentroidQuery", "A query of the word centroid distance against stored documents.")
      .def(nb::init<const WordVectorsView&, const In<std::int32_t>&, const In<float>&, const In<std::int32_t>&,
                    const In<float>&>(),
           "vectors"_a, "rows"_in, "masses"_in, "apart"_in, "apart_masses"_in)
      .def("nearest", &CentroidQuery::nearest, "parts"_a, "codes"_a, "allowed"_in.none(), "k"_a, "threads"_a,
           "A line of the nearest rows and one of their distances; how many documents were compared in full.")
      .def("distances", &CentroidQuery::distances, "parts"_a, "rows"_in, "The distances of some rows.");
}

}  // namespace wordferry
