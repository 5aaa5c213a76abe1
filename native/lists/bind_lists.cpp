#include <nanobind/stl/optional.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "lists/lists.hpp"
#include "support/bind.hpp"
#include "support/view.hpp"

namespace wordferry {

namespace {

using Numbers = In<std::int64_t>;
using Small = In<std::uint16_t>;
using Whole = In<std::int32_t>;

constexpr std::int64_t largest_whole = std::int64_t{1} << 31;  // one more than an int32 holds

std::int64_t length_of(const auto& array) { return static_cast<std::int64_t>(array.shape(0)); }

void check_starts(const Numbers& starts, std::int64_t stored) {
  require(length_of(starts) > 0 && starts.data()[0] == 0, "starts must begin with 0");
  for (std::int64_t i = 1; i < length_of(starts); ++i) {
    require(starts.data()[i] >= starts.data()[i - 1], "starts must not fall");
  }
  require(starts.data()[length_of(starts) - 1] == stored, "starts must end with the number of entries");
}

void check_range(const Whole& values, std::int64_t high, const char* message) {
  bool fits = true;
  for (std::int64_t i = 0; i < length_of(values); ++i) fits = fits && values.data()[i] >= 0 && values.data()[i] < high;
  require(fits, message);
}

// Bags of words, looked at and counted once, so that they can be turned round without looking again.
class BagsView {
 public:
  BagsView(Numbers indptr, Whole words, Whole counts, Whole group_of, Small form_of, std::int64_t groups)
      : indptr_(std::move(indptr)), words_(std::move(words)), counts_(std::move(counts)),
        group_of_(std::move(group_of)), form_of_(std::move(form_of)) {
    require(groups >= 0 && groups <= std::numeric_limits<std::int32_t>::max(), "groups must fit in an int32");
    run_native([&](Watch& watch) {
      check(groups, watch);
      sizes_.assign(static_cast<std::size_t>(groups), 0);
      df_.assign(static_cast<std::size_t>(groups), 0);
      count_postings(get(), groups, sizes_.data(), df_.data(), watch);
    });
  }

  void count(const Out<std::int64_t>& sizes, const Out<std::int64_t>& df) const {
    require(length_of(sizes) == groups() && length_of(df) == groups(), "sizes and df have one value for each stem");
    std::copy(sizes_.begin(), sizes_.end(), sizes.data());
    std::copy(df_.begin(), df_.end(), df.data());
  }

  void fill(const Out<std::int32_t>& documents, const Out<std::uint16_t>& forms,
            const Out<std::uint16_t>& counts) const {
    std::vector<std::int64_t> places;
    std::int64_t total = 0;
    for (const std::int64_t size : sizes_) {
      places.push_back(total);
      total += size;
    }
    require(length_of(documents) == total && length_of(forms) == total && length_of(counts) == total,
            "documents, forms and counts must have the room that the lists need");
    run_native([&](Watch& watch) {
      // Fresh memory is touched in order first: the postings of a few rows would touch a large page each, unheard.
      in_pieces(0, total, watch, [&](std::int64_t low, std::int64_t high) {
        std::fill(documents.data() + low, documents.data() + high, 0);
        std::fill(forms.data() + low, forms.data() + high, std::uint16_t{0});
        std::fill(counts.data() + low, counts.data() + high, std::uint16_t{0});
      });
      place_postings(get(), places.data(), documents.data(), forms.data(), counts.data(), watch);
    });
  }

 private:
  std::int64_t groups() const { return static_cast<std::int64_t>(sizes_.size()); }

  WordBags get() const {
    return {indptr_.data(), words_.data(), counts_.data(), length_of(indptr_) - 1, group_of_.data(), form_of_.data()};
  }

  void check(std::int64_t groups, Watch& watch) const {
    check_starts(indptr_, length_of(words_));
    require(length_of(counts_) == length_of(words_), "one count per word");
    require(length_of(group_of_) == length_of(form_of_), "one form per word");
    check_range(group_of_, groups, "stems must lie in 0 .. groups - 1");
    const std::int64_t vocabulary = length_of(group_of_);
    in_pieces(0, length_of(words_), watch, [&](std::int64_t low, std::int64_t high) {
      require_range(words_.data() + low, high - low, 0, vocabulary, "words must lie in the vocabulary");
      require_range(counts_.data() + low, high - low, 1, largest_whole, "counts must be positive");
    });
  }

  Numbers indptr_;
  Whole words_, counts_, group_of_;
  Small form_of_;
  std::vector<std::int64_t> sizes_, df_;  // of the list of each stem: postings, and different documents
};

// The lists of some documents, looked at once, so that a query need not.
class ListsView {
 public:
  ListsView(Numbers starts, Whole documents, Small forms, Small counts, Whole lengths)
      : starts_(std::move(starts)), documents_(std::move(documents)), forms_(std::move(forms)),
        counts_(std::move(counts)), lengths_(std::move(lengths)) {
    run_native([&](Watch& watch) { check(watch); });
  }

  WordLists get() const {
    return {starts_.data(),  documents_.data(),       forms_.data(),      counts_.data(),
            lengths_.data(), length_of(starts_) - 1, length_of(lengths_)};
  }

 private:
  void check(Watch& watch) const {
    check_starts(starts_, length_of(documents_));
    require(length_of(forms_) == length_of(documents_) && length_of(counts_) == length_of(documents_),
            "one form and one count per posting");
    const std::int64_t rows = length_of(lengths_);
    in_pieces(0, length_of(documents_), watch, [&](std::int64_t low, std::int64_t high) {
      require_range(documents_.data() + low, high - low, 0, rows, "documents must lie in 0 .. rows - 1");
    });
    Pace pace(watch);
    for (std::int64_t g = 0; g + 1 < length_of(starts_); ++g) {
      bool rises = true;
      for (std::int64_t at = starts_.data()[g] + 1; at < starts_.data()[g + 1]; ++at) {
        rises &= documents_.data()[at] >= documents_.data()[at - 1];
      }
      require(rises, "documents must not fall within a list");
      pace.spend(starts_.data()[g + 1] - starts_.data()[g] + 1);
    }
  }

  Numbers starts_;
  Whole documents_;
  Small forms_, counts_;
  Whole lengths_;
};

std::int64_t best(const ListsView& view, const Whole& groups, const Whole& forms, const In<double>& factors,
                  double stem, double floor, double slope, const std::optional<In<std::uint8_t>>& allowed, const Out<std::int64_t>& rows,
                  const Out<double>& scores) {
  const WordLists lists = view.get();
  require(length_of(groups) == length_of(forms) && length_of(groups) == length_of(factors), "one form per query word");
  check_range(groups, lists.groups, "stems must lie in the lists");
  require(length_of(rows) == length_of(scores) && length_of(rows) > 0, "rows and scores must agree in length");
  require(stem >= 0 && floor >= 0 && slope >= 0, "the constants must not be negative");
  require(!allowed || length_of(*allowed) == lists.rows, "allowed has another length than the documents");
  const std::uint8_t* mask = allowed ? allowed->data() : nullptr;
  std::vector<QueryWord> query;
  for (std::int64_t q = 0; q < length_of(groups); ++q) {
    query.push_back({groups.data()[q], forms.data()[q], factors.data()[q]});
  }
  std::int64_t count = 0;
  run_native([&](Watch& watch) {
    for (const Scored& one : best_documents(lists, query, {stem, floor, slope}, mask, length_of(rows), watch)) {
      rows.data()[count] = one.row;
      scores.data()[count++] = one.score;
    }
  });
  return count;
}

// A few documents by their stems, looked at once.
class StemRows {
 public:
  StemRows(Numbers indptr, Whole stems, Whole counts, In<double> weight, std::int64_t groups)
      : indptr_(std::move(indptr)), stems_(std::move(stems)), counts_(std::move(counts)), weight_(std::move(weight)),
        groups_(groups) {
    require(groups >= 0 && groups <= std::numeric_limits<std::int32_t>::max(), "groups must fit in an int32");
    const nb::gil_scoped_release release;
    check_starts(indptr_, length_of(stems_));
    require(length_of(counts_) == length_of(stems_) && length_of(weight_) == length_of(stems_),
            "one count and weight a stem");
    check_range(stems_, groups, "stems must lie in 0 .. groups - 1");
    bool fits = true;
    for (std::int64_t i = 0; i < length_of(counts_); ++i) {
      fits &= counts_.data()[i] > 0 && weight_.data()[i] > 0 && std::isfinite(weight_.data()[i]);
    }
    require(fits, "counts and weights must be positive");
  }

  void nearest(const Out<std::int64_t, 2>& found, const Out<double, 2>& cosines) const {
    const std::int64_t rows = length_of(indptr_) - 1, m = found.length(1);
    require(length_of(found) == rows && length_of(cosines) == rows && cosines.length(1) == m,
            "one row of neighbours per document");
    run_native([&](Watch& watch) {
      nearest_among(indptr_.data(), stems_.data(), counts_.data(), weight_.data(), rows, groups_, m, found.data(),
                    cosines.data(), watch);
    });
  }

 private:
  Numbers indptr_;
  Whole stems_, counts_;
  In<double> weight_;
  std::int64_t groups_;
};

}  // namespace

void bind_lists(nb::module_& m) {
  nb::class_<BagsView>(m, "WordBags", "Bags of words, to be turned into lists by stem.")
      .def(nb::init<Numbers, Whole, Whole, Whole, Small, std::int64_t>(), nb::arg("indptr").noconvert(),
           nb::arg("words").noconvert(), nb::arg("counts").noconvert(), nb::arg("group_of").noconvert(),
           nb::arg("form_of").noconvert(), nb::arg("groups"))
      .def("count", &BagsView::count, nb::arg("sizes").noconvert(), nb::arg("df").noconvert(),
           "How long the list of each stem is, and how many documents it names.")
      .def("fill", &BagsView::fill, nb::arg("documents").noconvert(), nb::arg("forms").noconvert(),
           nb::arg("counts").noconvert(), "The lists, one after the other.");
  nb::class_<ListsView>(m, "WordLists")
      .def(nb::init<Numbers, Whole, Small, Small, Whole>(), nb::arg("starts").noconvert(),
           nb::arg("documents").noconvert(), nb::arg("forms").noconvert(), nb::arg("counts").noconvert(),
           nb::arg("lengths").noconvert())
      .def("best", &best, nb::arg("groups").noconvert(), nb::arg("forms").noconvert(), nb::arg("factors").noconvert(),
           nb::arg("stem"), nb::arg("floor"), nb::arg("slope"), nb::arg("allowed").noconvert().none(),
           nb::arg("rows").noconvert(), nb::arg("scores").noconvert(), "The best documents; how many there are.");
  nb::class_<StemRows>(m, "StemRows", "A few documents by their stems.")
      .def(nb::init<Numbers, Whole, Whole, In<double>, std::int64_t>(), nb::arg("indptr").noconvert(),
           nb::arg("stems").noconvert(), nb::arg("counts").noconvert(), nb::arg("weight").noconvert(),
           nb::arg("groups"))
      .def("nearest", &StemRows::nearest, nb::arg("found").noconvert(), nb::arg("cosines").noconvert(),
           "For each document its nearest others by cosine.");
}

}  // namespace wordferry
