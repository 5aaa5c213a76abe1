#include "words/word_search.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "stored/part.hpp"
#include "stored/stored_view.hpp"
#include "support/bind.hpp"

namespace wordferry {

namespace {

// What a word that comes once is worth in each document, at least, in parts of 65,536.
struct Once {
  double floor, slope;
  std::vector<std::uint16_t> values;
};

// Documents as word search takes them, with the tokens of each. Every offset is checked when it is used.
class WordDocuments {
 public:
  WordDocuments(const StoredDocuments& stored, In<float> lengths) : stored_(stored), lengths_(std::move(lengths)) {
    require(lengths_.length() == rows(), "one length for each document");
    classes_.assign(static_cast<std::size_t>(blocks_for(rows()) * list_block_rows), 0);
    run_native([&](Watch& watch) {
      Pace pace(watch);
      for (std::int64_t row = 0; row < rows(); ++row) {
        const std::int64_t length = tokens_of(lengths_.data(), row);
        const std::uint8_t one = length_class(length);
        classes_[static_cast<std::size_t>(row)] = one;
        least_class_ = std::min<int>(least_class_, one);
        largest_class_ = std::max<int>(largest_class_, one);
        pace.spend(4);
      }
    });
  }

  std::int64_t rows() const { return stored_.documents(); }

  // What a word that comes once is worth in each document; kept for the constants that were asked for last.
  std::shared_ptr<const Once> once(const Saturation& saturation) const {
    const std::scoped_lock lock(*mutex_);
    if (once_ != nullptr && once_->floor == saturation.floor && once_->slope == saturation.slope) return once_;
    auto made = std::make_shared<Once>(Once{saturation.floor, saturation.slope, {}});
    std::uint16_t values[length_classes];
    for (int one = 0; one < length_classes; ++one) {
      const double value = 65536.0 / (1.0 + saturation.floor + saturation.slope * least_length(one));
      values[one] = static_cast<std::uint16_t>(std::clamp(std::ceil(value * (1 + 1e-9)), 1.0, 65535.0));
    }
    made->values.resize(classes_.size());
    for (std::size_t row = 0; row < classes_.size(); ++row) made->values[row] = values[classes_[row]];
    once_ = std::move(made);
    return once_;
  }

  WordPart get(std::int64_t start, const Once* once) const {
    return {stored_.lists(),
            stored_.bags(),
            lengths_.data(),
            classes_.data(),
            once == nullptr ? nullptr : once->values.data(),
            least_class_,
            largest_class_,
            start};
  }

 private:
  StoredDocuments stored_;
  In<float> lengths_;
  std::vector<std::uint8_t> classes_;
  int least_class_ = length_classes - 1, largest_class_ = 0;
  std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
  mutable std::shared_ptr<const Once> once_;
};

// The documents of some parts one after the other; holds on to what was made for them.
struct WordParts {
  std::vector<WordPart> parts;
  std::vector<std::shared_ptr<const Once>> once;
  std::int64_t rows = 0;

  WordParts(const std::vector<const WordDocuments*>& given, const Saturation* saturation) {
    for (const WordDocuments* part : given) {
      require(part != nullptr, "a part must not be None");
      if (saturation != nullptr) once.push_back(part->once(*saturation));
      parts.push_back(part->get(rows, saturation == nullptr ? nullptr : once.back().get()));
      rows += part->rows();
    }
  }
};

FormQuery query_of(const In<std::int32_t>& slots, const In<std::int32_t>& words, const In<std::uint8_t>& is_exact,
                   const In<double>& factors, const Saturation& saturation) {
  constexpr double largest = 1e100;
  require(words.length() == slots.length() && is_exact.length() == slots.length(), "one word and form for each slot");
  FormQuery query{{}, {factors.data(), factors.data() + factors.length()}, saturation};
  for (const double factor : query.factors) require(factor >= 0 && factor <= largest, "factors must not be negative");
  for (const double value : {saturation.stem, saturation.floor, saturation.slope}) {
    require(value >= 0 && value <= largest, "the constants must not be negative");
  }
  for (std::int64_t i = 0; i < slots.length(); ++i) {
    const std::int32_t slot = slots.data()[i];
    require(slot >= 0 && slot < factors.length(), "slots must lie in 0 .. factors - 1");
    require(i == 0 || slots.data()[i - 1] <= slot, "slots must not fall");
    query.forms.push_back({slot, words.data()[i], is_exact.data()[i] != 0});
  }
  return query;
}

std::tuple<std::int64_t, std::int64_t, std::int64_t> best(const std::vector<const WordDocuments*>& parts,
                                                          const In<std::int32_t>& slots, const In<std::int32_t>& words,
                                                          const In<std::uint8_t>& is_exact, const In<double>& factors,
                                                          double stem, double floor, double slope,
                                                          const Allowed& allowed, const Out<std::int64_t>& rows,
                                                          const Out<double>& scores) {
  const FormQuery query = query_of(slots, words, is_exact, factors, {stem, floor, slope});
  const WordParts all(parts, &query.saturation);
  require(rows.length() == scores.length(), "rows and scores must have the same length");
  require(!allowed || allowed->length() == all.rows, "allowed has one value for each row");
  const std::uint8_t* mask = allowed ? allowed->data() : nullptr;
  BestRows found;
  bool sound = true;
  if (rows.length() > 0) {
    run_native([&](Watch& watch) { sound = best_by_words(all.parts, query, mask, rows.length(), found, watch); });
  }
  require(sound, "the lists lead outside of themselves");
  for (std::size_t i = 0; i < found.best.size(); ++i) {
    rows.data()[i] = found.best[i].row;
    scores.data()[i] = found.best[i].score;
  }
  return {static_cast<std::int64_t>(found.best.size()), found.visited, found.evaluated};
}

void scores(const std::vector<const WordDocuments*>& parts, const In<std::int32_t>& slots,
            const In<std::int32_t>& words, const In<std::uint8_t>& is_exact, const In<double>& factors, double stem,
            double floor, double slope, const In<std::int64_t>& rows, const Out<double>& values) {
  const FormQuery query = query_of(slots, words, is_exact, factors, {stem, floor, slope});
  const WordParts all(parts, nullptr);
  require(rows.length() == values.length(), "rows and scores must have the same length");
  require_range(rows.data(), rows.length(), 0, all.rows, "rows must lie in the parts");
  bool sound = true;
  run_native(
      [&](Watch& watch) { sound = scores_of(all.parts, query, rows.data(), rows.length(), values.data(), watch); });
  require(sound, "the bags lead outside of themselves");
}

void near(const std::vector<const WordDocuments*>& parts, const In<std::int32_t>& group_of, const In<double>& idf,
          const In<std::int64_t>& rows, const In<std::int32_t>& wanted, const Out<std::int64_t, 2>& found,
          const Out<double, 2>& cosines, const Out<std::uint8_t>& complete) {
  const WordParts all(parts, nullptr);
  require_range(rows.data(), rows.length(), 0, all.rows, "rows must lie in the parts");
  require(found.length() == rows.length() && cosines.length() == rows.length() && complete.length() == rows.length() &&
              found.length(1) == cosines.length(1),
          "one row of neighbours per document");
  for (std::int64_t i = 1; i < wanted.length(); ++i) {
    require(wanted.data()[i - 1] < wanted.data()[i], "the wanted stems must rise");
  }
  const StemWeights stems{group_of.data(), group_of.length(), idf.data(), idf.length()};
  const std::vector<std::int32_t> all_wanted(wanted.data(), wanted.data() + wanted.length());
  bool sound = true;
  run_native([&](Watch& watch) {
    sound = near_rows(all.parts, stems, rows.data(), rows.length(), all_wanted, found.length(1), found.data(),
                      cosines.data(), complete.data(), watch);
  });
  require(sound, "the bags lead outside of themselves");
}

void frequencies(const StoredWordLists& lists, const In<std::int64_t>& starts, const In<std::int32_t>& words,
                 const Out<std::int64_t>& df) {
  require(starts.length() == df.length() + 1, "starts has one value more than df");
  for (std::int64_t i = 0; i < starts.length(); ++i) {
    const std::int64_t before = i == 0 ? 0 : starts.data()[i - 1];
    require(starts.data()[i] >= before && starts.data()[i] <= words.length(), "starts must rise within the words");
  }
  bool sound = true;
  run_native([&](Watch& watch) {
    sound = stem_frequencies(lists.get(), starts.data(), words.data(), df.length(), df.data(), watch);
  });
  require(sound, "the lists lead outside of themselves");
}

// Which of a few documents, given by their stems, are nearest to each other.
void among(const In<std::int64_t>& indptr, const In<std::int32_t>& stems, const In<std::int32_t>& counts,
           const In<double>& weight, std::int64_t groups, const Out<std::int64_t, 2>& found,
           const Out<double, 2>& cosines) {
  require(groups >= 0 && groups <= std::numeric_limits<std::int32_t>::max(), "groups must fit in an int32");
  const std::int64_t rows = indptr.length() - 1;
  require(rows >= 0 && indptr.data()[0] == 0 && indptr.data()[rows] == stems.length(), "indptr must span the stems");
  for (std::int64_t i = 0; i < rows; ++i) require(indptr.data()[i] <= indptr.data()[i + 1], "indptr must not fall");
  require(counts.length() == stems.length() && weight.length() == stems.length(), "one count and weight a stem");
  require_range(stems.data(), stems.length(), 0, groups, "stems must lie in 0 .. groups - 1");
  bool fits = true;
  for (std::int64_t i = 0; i < counts.length(); ++i) {
    fits &= counts.data()[i] > 0 && weight.data()[i] >= 0 && std::isfinite(weight.data()[i]);
  }
  require(fits, "counts must be positive and weights not negative");
  require(found.length() == rows && cosines.length() == rows && cosines.length(1) == found.length(1),
          "one row of neighbours per document");
  run_native([&](Watch& watch) {
    nearest_among(indptr.data(), stems.data(), counts.data(), weight.data(), rows, groups, found.length(1),
                  found.data(), cosines.data(), watch);
  });
}

}  // namespace

void bind_word_search(nb::module_& m) {
  nb::class_<WordDocuments>(m, "WordDocuments", "Stored documents with the tokens of each, for word search.")
      .def(nb::init<const StoredDocuments&, In<float>>(), nb::arg("stored"), nb::arg("lengths").noconvert());
  m.def("best_by_words", &best, nb::arg("parts"), nb::arg("slots").noconvert(), nb::arg("words").noconvert(),
        nb::arg("is_exact").noconvert(), nb::arg("factors").noconvert(), nb::arg("stem"), nb::arg("floor"),
        nb::arg("slope"), nb::arg("allowed").noconvert().none(), nb::arg("rows").noconvert(),
        nb::arg("scores").noconvert(),
        "The best documents: how many there are, and how many entries of lists and documents were looked at.");
  m.def("scores_by_words", &scores, nb::arg("parts"), nb::arg("slots").noconvert(), nb::arg("words").noconvert(),
        nb::arg("is_exact").noconvert(), nb::arg("factors").noconvert(), nb::arg("stem"), nb::arg("floor"),
        nb::arg("slope"), nb::arg("rows").noconvert(), nb::arg("scores").noconvert(),
        "The scores of some documents, 0 where one has no word of the query.");
  m.def("near_rows", &near, nb::arg("parts"), nb::arg("group_of").noconvert(), nb::arg("idf").noconvert(),
        nb::arg("rows").noconvert(), nb::arg("wanted").noconvert(), nb::arg("found").noconvert(),
        nb::arg("cosines").noconvert(), nb::arg("complete").noconvert(),
        "For each of some documents the nearest others, and whether it has all wanted stems.");
  m.def("nearest_among", &among, nb::arg("indptr").noconvert(), nb::arg("stems").noconvert(),
        nb::arg("counts").noconvert(), nb::arg("weight").noconvert(), nb::arg("groups"), nb::arg("found").noconvert(),
        nb::arg("cosines").noconvert(), "For each of a few documents its nearest others by cosine.");
  m.def("stem_frequencies", &frequencies, nb::arg("lists"), nb::arg("starts").noconvert(), nb::arg("words").noconvert(),
        nb::arg("df").noconvert(), "Add the document frequency of each stem.");
}

}  // namespace wordferry
