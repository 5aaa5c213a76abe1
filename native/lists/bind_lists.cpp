#include <nanobind/stl/optional.h>

#include <cmath>
#include <optional>
#include <utility>

#include "lists/lists.hpp"
#include "support/bind.hpp"
#include "support/view.hpp"

namespace wordferry {

namespace {

using Numbers = In<std::int64_t>;
using Small = In<std::uint16_t>;
using Whole = In<std::int32_t>;

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

WordBags bags_of(const Numbers& indptr, const Whole& words, const Whole& counts, const Whole& group_of,
                 const Small& form_of, std::int64_t groups) {
  check_starts(indptr, length_of(words));
  require(length_of(counts) == length_of(words), "one count per word");
  require(length_of(group_of) == length_of(form_of), "one form per word");
  check_range(words, length_of(group_of), "words must lie in the vocabulary");
  check_range(group_of, groups, "stems must lie in 0 .. groups - 1");
  for (std::int64_t i = 0; i < length_of(counts); ++i) require(counts.data()[i] > 0, "counts must be positive");
  return {indptr.data(), words.data(), counts.data(), length_of(indptr) - 1, group_of.data(), form_of.data()};
}

void count_lists(const Numbers& indptr, const Whole& words, const Whole& counts, const Whole& group_of,
                 const Small& form_of, const Out<std::int64_t>& sizes, const Out<std::int64_t>& df) {
  const std::int64_t groups = length_of(sizes);
  require(length_of(df) == groups, "sizes and df must agree in length");
  const WordBags bags = bags_of(indptr, words, counts, group_of, form_of, groups);
  run_native([&](Watch& watch) { count_postings(bags, groups, sizes.data(), df.data(), watch); });
}

void fill_lists(const Numbers& indptr, const Whole& words, const Whole& counts, const Whole& group_of,
                const Small& form_of, const Numbers& starts, const Out<std::int32_t>& documents,
                const Out<std::uint16_t>& forms, const Out<std::uint16_t>& found) {
  const std::int64_t groups = length_of(starts) - 1;
  const WordBags bags = bags_of(indptr, words, counts, group_of, form_of, groups);
  check_starts(starts, length_of(documents));
  require(length_of(forms) == length_of(documents) && length_of(found) == length_of(documents), "lengths must agree");
  std::vector<std::int64_t> sizes(static_cast<std::size_t>(groups), 0), df(static_cast<std::size_t>(groups), 0);
  run_native([&](Watch& watch) {
    count_postings(bags, groups, sizes.data(), df.data(), watch);
    for (std::int64_t g = 0; g < groups; ++g) {
      if (starts.data()[g + 1] - starts.data()[g] != sizes[static_cast<std::size_t>(g)]) {
        throw nb::value_error("starts must leave every list the room it needs");
      }
    }
    std::vector<std::int64_t> places(starts.data(), starts.data() + groups);
    place_postings(bags, places.data(), documents.data(), forms.data(), found.data(), watch);
  });
}

// The lists of some documents, looked at once, so that a query need not.
class ListsView {
 public:
  ListsView(Numbers starts, Whole documents, Small forms, Small counts, Whole lengths)
      : starts_(std::move(starts)), documents_(std::move(documents)), forms_(std::move(forms)),
        counts_(std::move(counts)), lengths_(std::move(lengths)) {
    check_starts(starts_, length_of(documents_));
    require(length_of(forms_) == length_of(documents_) && length_of(counts_) == length_of(documents_),
            "one form and one count per posting");
    check_range(documents_, length_of(lengths_), "documents must lie in 0 .. rows - 1");
    for (std::int64_t g = 0; g + 1 < length_of(starts_); ++g) {
      for (std::int64_t at = starts_.data()[g] + 1; at < starts_.data()[g + 1]; ++at) {
        require(documents_.data()[at] >= documents_.data()[at - 1], "documents must not fall within a list");
      }
    }
  }

  WordLists get() const {
    return {starts_.data(),  documents_.data(),       forms_.data(),      counts_.data(),
            lengths_.data(), length_of(starts_) - 1, length_of(lengths_)};
  }

 private:
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

void near(const Numbers& indptr, const Whole& stems, const Whole& counts, const In<double>& weight,
          std::int64_t groups, const Out<std::int64_t, 2>& found, const Out<double, 2>& cosines) {
  check_starts(indptr, length_of(stems));
  require(length_of(counts) == length_of(stems) && length_of(weight) == length_of(stems), "one count and weight a stem");
  check_range(stems, groups, "stems must lie in 0 .. groups - 1");
  for (std::int64_t i = 0; i < length_of(counts); ++i) {
    require(counts.data()[i] > 0 && weight.data()[i] > 0 && std::isfinite(weight.data()[i]),
            "counts and weights must be positive");
  }
  const std::int64_t rows = length_of(indptr) - 1, m = static_cast<std::int64_t>(found.shape(1));
  require(length_of(found) == rows && length_of(cosines) == rows && cosines.shape(1) == found.shape(1),
          "one row of neighbours per document");
  run_native([&](Watch& watch) {
    nearest_among(indptr.data(), stems.data(), counts.data(), weight.data(), rows, groups, m, found.data(),
                  cosines.data(), watch);
  });
}

}  // namespace

void bind_lists(nb::module_& m) {
  m.def("count_lists", &count_lists, nb::arg("indptr").noconvert(), nb::arg("words").noconvert(),
        nb::arg("counts").noconvert(), nb::arg("group_of").noconvert(), nb::arg("form_of").noconvert(),
        nb::arg("sizes").noconvert(), nb::arg("df").noconvert(), "How long the list of each stem will be.");
  m.def("fill_lists", &fill_lists, nb::arg("indptr").noconvert(), nb::arg("words").noconvert(),
        nb::arg("counts").noconvert(), nb::arg("group_of").noconvert(), nb::arg("form_of").noconvert(),
        nb::arg("starts").noconvert(), nb::arg("documents").noconvert(), nb::arg("forms").noconvert(),
        nb::arg("found").noconvert(), "Bags of words to lists by stem.");
  nb::class_<ListsView>(m, "WordLists")
      .def(nb::init<Numbers, Whole, Small, Small, Whole>(), nb::arg("starts").noconvert(),
           nb::arg("documents").noconvert(), nb::arg("forms").noconvert(), nb::arg("counts").noconvert(),
           nb::arg("lengths").noconvert())
      .def("best", &best, nb::arg("groups").noconvert(), nb::arg("forms").noconvert(), nb::arg("factors").noconvert(),
           nb::arg("stem"), nb::arg("floor"), nb::arg("slope"), nb::arg("allowed").noconvert().none(),
           nb::arg("rows").noconvert(), nb::arg("scores").noconvert(), "The best documents; how many there are.");
  m.def("nearest_among", &near, nb::arg("indptr").noconvert(), nb::arg("stems").noconvert(),
        nb::arg("counts").noconvert(), nb::arg("weight").noconvert(), nb::arg("groups"), nb::arg("found").noconvert(),
        nb::arg("cosines").noconvert(), "For each document its nearest others by cosine.");
}

}  // namespace wordferry
