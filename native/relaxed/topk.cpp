// The k nearest of each row, kept while blocks of values come in.
#include <limits>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "support/at.hpp"
#include "support/best.hpp"
#include "support/bind.hpp"

namespace wordferry {

namespace {

constexpr std::int64_t rows_a_block = 16;
constexpr std::int64_t most_places = std::int64_t{1} << 36;

// Callers on several threads take turns.
class NearestRows {
 public:
  NearestRows(std::int64_t rows, std::int64_t k) : rows_(rows), k_(k) {
    require(rows >= 0 && k >= 1 && (rows == 0 || k <= most_places / rows),
            "rows must not be negative, k must be at least 1, and both of a size that fits in memory");
    heaps_.assign(at(rows), BestK<float>(k));
  }

  // Values of some rows, as candidates from number `first` on.
  void offer(std::int64_t first_row, const Matrix& values, std::int64_t first, const std::optional<In<bool>>& allowed,
             int threads) {
    const std::int64_t rows = values.length(), columns = values.length(1), stride = row_stride(values);
    require(first_row >= 0 && first_row <= rows_ - rows, "values has rows that are not there");
    require(first >= 0 && first <= std::numeric_limits<std::int64_t>::max() - columns, "first must not be negative");
    require(!allowed || allowed->length() == columns, "allowed needs a value for each column");
    run_native([&](Watch& watch) {
      const std::lock_guard lock(mutex_);
      require_open();
      for_ranges(rows, rows_a_block, thread_limit(threads), watch, [&](std::int64_t row, std::int64_t end, int) {
        for (; row < end; ++row) {
          watch.check();
          heaps_[at(first_row + row)].offer_all(values.data() + row * stride, columns, first,
                                                allowed ? allowed->data() : nullptr);
        }
      });
    });
  }

  // Each row sorted by (distance, index). The candidates are used up.
  std::pair<Made<std::int64_t, 2>, Made<float, 2>> finish(int threads) {
    auto indices = make_array(std::int64_t{-1}, rows_, k_);
    auto distances = make_array(std::numeric_limits<float>::infinity(), rows_, k_);
    run_native([&](Watch& watch) {
      const std::lock_guard lock(mutex_);
      require_open();
      std::vector<BestK<float>> heaps = std::exchange(heaps_, {});
      for_ranges(rows_, rows_a_block, thread_limit(threads), watch, [&](std::int64_t row, std::int64_t end, int) {
        for (; row < end; ++row) {
          watch.check();
          std::int64_t place = row * k_;
          for (const auto& [distance, index] : std::move(heaps[at(row)]).sorted()) {
            distances.data()[place] = distance;
            indices.data()[place++] = index;
          }
        }
      });
    });
    return {std::move(indices), std::move(distances)};
  }

 private:
  void require_open() const { require(std::ssize(heaps_) == rows_, "finished already: make another"); }

  std::int64_t rows_, k_;
  std::mutex mutex_;
  std::vector<BestK<float>> heaps_;  // none once finished
};

}  // namespace

void bind_topk(nb::module_& m) {
  nb::class_<NearestRows>(m, "Nearest", "The k nearest of each row while blocks of values come in.")
      .def(nb::init<std::int64_t, std::int64_t>(), "rows"_a, "k"_a)
      .def("offer", &NearestRows::offer, "first_row"_a, "values"_in, "first"_a, "allowed"_in.none(), "threads"_a,
           "Values of some rows, as candidates from number `first` on, where they are allowed.")
      .def("finish", &NearestRows::finish, "threads"_a,
           "Indices and distances, sorted; places without a candidate are (-1, inf). Nothing can be offered then.");
}

}  // namespace wordferry
