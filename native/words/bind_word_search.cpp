#include "words/word_search.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
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

#include "stored/views.hpp"
#include "support/at.hpp"

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
  WordDocuments(const StoredDocuments& stored, const In<float>& lengths)
      : part_{stored.lists(), stored.bags(), lengths.data()}, held_(hold(stored, lengths)) {
    require(lengths.length() == rows(), "one length for each document");
    classes_.assign(at(blocks_for(rows()) * list_block_rows), 0);
    run_native([&](Watch& watch) {
      Pace pace(watch);
      for (std::int64_t row = 0; row < rows(); ++row) {
        const std::uint8_t one = length_class(tokens_of(part_.lengths, row));
        classes_[at(row)] = one;
        part_.least_class = std::min<int>(part_.least_class, one);
        part_.largest_class = std::max<int>(part_.largest_class, one);
        pace.spend(4);
      }
    });
  }

  std::int64_t rows() const { return part_.bags.rows; }

  // What a word that comes once is worth in each document; kept for the constants that were asked for last.
  std::shared_ptr<const Once> once(const Saturation& saturation) const {
    const std::scoped_lock lock(*mutex_);
    if (once_ != nullptr && once_->floor == saturation.floor && once_->slope == saturation.slope) return once_;
    auto made = std::make_shared<Once>(Once{saturation.floor, saturation.slope, {}});
    std::uint16_t values[class_count];
    for (int one = 0; one < class_count; ++one) {
      const double value = 65536.0 / (1.0 + saturation.floor + saturation.slope * least_length(one));
      values[one] = static_cast<std::uint16_t>(std::clamp(std::ceil(value * (1 + 1e-9)), 1.0, 65535.0));
    }
    made->values.resize(classes_.size());
    for (std::size_t row = 0; row < classes_.size(); ++row) made->values[row] = values[classes_[row]];
    once_ = std::move(made);
    return once_;
  }

  WordPart get(std::int64_t start, const Once* once) const {
    WordPart found = part_;
    found.length_classes = classes_.data();
    found.once = once == nullptr ? nullptr : once->values.data();
    found.start = start;
    return found;
  }

 private:
  WordPart part_;
  Held held_;
  std::vector<std::uint8_t> classes_;
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

std::tuple<Made<std::int64_t>, Made<double>, std::int64_t, std::int64_t> best(
    const std::vector<const WordDocuments*>& parts, const FormQuery& query, const Allowed& allowed, std::int64_t k) {
  const WordParts all(parts, &query.saturation);
  const bool* const mask = mask_of(allowed, all.rows);
  require(k >= 0, "k must not be negative");
  BestRows found;
  run_native([&](Watch& watch) { found = best_by_words(all.parts, query, mask, k, watch); });
  std::vector<std::int64_t> rows;
  std::vector<double> scores;
  for (const auto& [score, row] : found.best) {
    rows.push_back(row);
    scores.push_back(score);
  }
  return {as_array(std::move(rows)), as_array(std::move(scores)), found.visited, found.evaluated};
}

Made<double> scores(const std::vector<const WordDocuments*>& parts, const FormQuery& query,
                    const In<std::int64_t>& rows) {
  const WordParts all(parts, nullptr);
  auto values = make_array(0.0, rows.length());
  require_range(rows, 0, all.rows, "rows must lie in the parts");
  run_native([&](Watch& watch) { scores_of(all.parts, query, rows.span(), values.data(), watch); });
  return values;
}

std::tuple<Made<std::int64_t, 2>, Made<double, 2>, Made<bool>> near(const std::vector<const WordDocuments*>& parts,
                                                                    const In<std::int32_t>& group_of,
                                                                    const In<double>& idf, const In<std::int64_t>& rows,
                                                                    const In<std::int32_t>& wanted, std::int64_t m) {
  const WordParts all(parts, nullptr);
  require_range(rows, 0, all.rows, "rows must lie in the parts");
  auto found = make_array(std::int64_t{-1}, rows.length(), m);
  auto cosines = make_array(0.0, rows.length(), m);
  auto complete = make_array(false, rows.length());
  require_rising(wanted, "the wanted stems must rise");
  const StemWeights stems{group_of.data(), group_of.length(), idf.data(), idf.length()};
  run_native([&](Watch& watch) {
    near_rows(all.parts, stems, rows.span(), wanted.span(), m, found.data(), cosines.data(), complete.data(), watch);
  });
  return {std::move(found), std::move(cosines), std::move(complete)};
}

Made<std::int64_t> frequencies(const StoredWordLists& lists, const In<std::int64_t>& starts,
                               const In<std::int32_t>& words) {
  require(starts.length() >= 1, "starts must not be empty");
  const std::int64_t stems = starts.length() - 1;
  auto df = make_array(std::int64_t{0}, stems);
  for (std::int64_t i = 0; i < starts.length(); ++i) {
    const std::int64_t before = i == 0 ? 0 : starts.data()[i - 1];
    require(starts.data()[i] >= before && starts.data()[i] <= words.length(), "starts must rise within the words");
  }
  run_native(
      [&](Watch& watch) { stem_frequencies(lists.get(), starts.data(), words.data(), stems, df.data(), watch); });
  return df;
}

std::tuple<Made<std::int32_t>, Made<std::uint64_t>, Made<std::int32_t>, std::int64_t> merged_keys(
    const In<std::uint64_t>& known, const In<std::int32_t>& numbers, const In<std::uint64_t>& keys) {
  const std::int64_t all = known.length() + keys.length();
  require(numbers.length() == known.length(), "one number for each known key");
  require(all <= std::numeric_limits<std::int32_t>::max(), "too many keys");
  require_rising(known, "keys must rise");
  require_rising(keys, "keys must rise");
  auto groups = make_array(std::int32_t{0}, keys.length());
  auto merged = make_array(std::uint64_t{0}, all);
  auto merged_numbers = make_array(std::int32_t{0}, all);
  const std::int64_t count = merge_keys(known.data(), numbers.data(), known.length(), keys.data(), keys.length(),
                                        groups.data(), merged.data(), merged_numbers.data());
  return {std::move(groups), std::move(merged), std::move(merged_numbers), count};
}

// Which of a few documents, given by their stems, are nearest to each other.
std::pair<Made<std::int64_t, 2>, Made<double, 2>> among(const In<std::int64_t>& indptr, const In<std::int32_t>& stems,
                                                        const In<std::int32_t>& counts, const In<double>& weight,
                                                        std::int64_t groups, std::int64_t m) {
  require(groups >= 0 && groups <= std::numeric_limits<std::int32_t>::max(), "groups must fit in an int32");
  const std::int64_t rows = indptr.length() - 1;
  require(rows >= 0 && indptr.data()[0] == 0 && indptr.data()[rows] == stems.length(), "indptr must span the stems");
  for (std::int64_t i = 0; i < rows; ++i) require(indptr.data()[i] <= indptr.data()[i + 1], "indptr must not fall");
  require(counts.length() == stems.length() && weight.length() == stems.length(), "one count and weight a stem");
  require_range(stems, 0, groups, "stems must lie in 0 .. groups - 1");
  require_all(counts, [](std::int32_t one) { return one > 0; }, "counts must be positive");
  require_all(weight, [](double one) { return one >= 0 && std::isfinite(one); }, "weights must not be negative");
  auto found = make_array(std::int64_t{-1}, rows, m);
  auto cosines = make_array(0.0, rows, m);
  run_native([&](Watch& watch) {
    nearest_among({indptr.span(), stems.span(), counts.span(), weight.span(), groups}, m, found.data(), cosines.data(),
                  watch);
  });
  return {std::move(found), std::move(cosines)};
}

}  // namespace

void bind_word_search(nb::module_& m) {
  nb::class_<WordDocuments>(m, "WordDocuments", "Stored documents with the tokens of each, for word search.")
      .def(nb::init<const StoredDocuments&, const In<float>&>(), "stored"_a, "lengths"_in);
  nb::class_<FormQuery>(m, "FormQuery", "The forms of the words of a query, by slot, and what BM25 needs beside them.")
      .def("__init__", &make_query, "slots"_in, "words"_in, "is_exact"_in, "factors"_in, "stem"_a, "floor"_a,
           "slope"_a);
  m.def("best_by_words", &best, "parts"_a, "query"_a, "allowed"_in.none(), "k"_a,
        "The best rows and their scores, and how many entries of lists and documents were looked at.");
  m.def("scores_by_words", &scores, "parts"_a, "query"_a, "rows"_in,
        "The scores of some documents, 0 where one has no word of the query.");
  m.def(
      "near_rows", &near, "parts"_a, "group_of"_in, "idf"_in, "rows"_in, "wanted"_in, "m"_a,
      "For each of some documents the nearest others (-1: none), their cosines, and whether it has all wanted stems.");
  m.def("nearest_among", &among, "indptr"_in, "stems"_in, "counts"_in, "weight"_in, "groups"_a, "m"_a,
        "For each of a few documents its nearest others (-1: none), and their cosines.");
  m.def("stem_frequencies", &frequencies, "lists"_a, "starts"_in, "words"_in, "Document frequency of each stem.");
  m.def("merge_keys", &merged_keys, "known"_in, "numbers"_in, "keys"_in,
        "The numbers of keys among known ones, new ones behind them; all keys in order, their numbers, and how many.");
}

}  // namespace wordferry
