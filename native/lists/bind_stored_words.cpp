#include "lists/stored_words.hpp"

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

#include "lists/part.hpp"
#include "lists/stored_view.hpp"
#include "support/bind.hpp"

namespace wordferry {

namespace {

using Places = std::variant<In<std::int64_t>, In<std::int32_t>>;

template <class Arrays>
std::int64_t length_of(const Arrays& arrays) {
  return std::visit([](const auto& some) { return some.length(); }, arrays);
}

// Bags of words by row, of any of the widths that files have.
class StoredRows {
 public:
  StoredRows(Places indptr, BagWords words, Counts counts)
      : indptr_(std::move(indptr)), words_(std::move(words)), counts_(std::move(counts)) {
    require(length_of(indptr_) >= 1, "indptr must not be empty");
    require(length_of(words_) == length_of(counts_), "one count for each word of a bag");
  }

  CountedRows get() const {
    constexpr int places[] = {8, 4}, words[] = {2, 4}, counts[] = {1, 2, 4};
    return {data_of(indptr_), places[indptr_.index()], data_of(words_),        words[words_.index()],
            data_of(counts_), counts[counts_.index()], length_of(indptr_) - 1, length_of(words_)};
  }

 private:
  Places indptr_;
  BagWords words_;
  Counts counts_;
};

// What a word that comes once is worth in each document, at least, in parts of 65,536.
struct Once {
  double floor, slope;
  std::vector<std::uint16_t> values;
};

// Documents as word search takes them. Lengths are looked at once; every offset is checked when it is used. Holds on to
// what it is made of (see keep_alive below).
class StoredPart {
 public:
  StoredPart(const StoredWordLists& known, const StoredWordLists& others, const StoredRows& bags,
             const StoredRows& other_bags, In<float> totals)
      : lists_{&known, &others}, bags_{&bags, &other_bags}, totals_(std::move(totals)) {
    require(bags.get().rows == rows() && other_bags.get().rows == rows(),
            "one row of both kinds of words for each document");
    require(known.documents() == rows() && others.documents() == rows(), "the lists must be of the same documents");
    classes_.assign(static_cast<std::size_t>(blocks_for(rows()) * list_block_rows), 0);
    run_native([&](Watch& watch) {
      each_length(watch, [&](std::int64_t row, std::int64_t length) {
        const std::uint8_t one = length_class(length);
        classes_[static_cast<std::size_t>(row)] = one;
        least_class_ = std::min<int>(least_class_, one);
        largest_class_ = std::max<int>(largest_class_, one);
        tokens_ += length;
      });
    });
  }

  std::int64_t rows() const { return totals_.length(); }

  // The tokens of all documents, or of those that are alive.
  std::int64_t tokens(const std::optional<In<std::uint8_t>>& alive) const {
    if (!alive) return tokens_;
    require(alive->length() == rows(), "alive has one value for each row");
    std::int64_t total = tokens_;
    const CountedRows others = bags_[1]->get();
    for (std::int64_t row = 0; row < rows(); ++row) {
      std::int64_t length = 0;
      if (alive->data()[row] != 0) continue;
      require(length_of(totals_.data(), others, row, length), outside);
      total -= length;
    }
    return total;
  }

  // What a word that comes once is worth in each document; kept for the constants that were asked for last.
  std::shared_ptr<const Once> once(const Saturation& saturation) const {
    const std::scoped_lock lock(mutex_);
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
    return {{lists_[0]->get(), lists_[1]->get()},
            {bags_[0]->get(), bags_[1]->get()},
            totals_.data(),
            classes_.data(),
            once == nullptr ? nullptr : once->values.data(),
            least_class_,
            largest_class_,
            rows(),
            start};
  }

 private:
  template <class Use>
  void each_length(Watch& watch, Use&& use) const {
    const CountedRows others = bags_[1]->get();
    Pace pace(watch);
    for (std::int64_t row = 0; row < rows(); ++row) {
      std::int64_t length = 0;
      if (!length_of(totals_.data(), others, row, length)) throw std::invalid_argument(outside);
      use(row, length);
      pace.spend(4);
    }
  }

  static constexpr const char* outside = "the bags lead outside of themselves";
  const StoredWordLists* lists_[2];
  const StoredRows* bags_[2];
  In<float> totals_;
  std::vector<std::uint8_t> classes_;
  int least_class_ = length_classes - 1, largest_class_ = 0;
  std::int64_t tokens_ = 0;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const Once> once_;
};

// The documents of some parts one after the other; holds on to what was made for them.
struct StoredParts {
  std::vector<WordPart> parts;
  std::vector<std::shared_ptr<const Once>> once;
  std::int64_t rows = 0;

  StoredParts(const std::vector<const StoredPart*>& given, const Saturation* saturation) {
    for (const StoredPart* part : given) {
      require(part != nullptr, "a part must not be None");
      if (saturation != nullptr) once.push_back(part->once(*saturation));
      parts.push_back(part->get(rows, saturation == nullptr ? nullptr : once.back().get()));
      rows += part->rows();
    }
  }
};

FormQuery query_of(const In<std::int32_t>& slots, const In<std::int32_t>& words, const In<std::uint8_t>& is_other,
                   const In<std::uint8_t>& is_exact, const In<double>& factors, const Saturation& saturation) {
  constexpr double largest = 1e100;
  require(words.length() == slots.length() && is_other.length() == slots.length() &&
              is_exact.length() == slots.length(),
          "one word, kind and form for each slot");
  FormQuery query{{}, {factors.data(), factors.data() + factors.length()}, saturation};
  for (const double factor : query.factors) require(factor >= 0 && factor <= largest, "factors must not be negative");
  for (const double value : {saturation.stem, saturation.floor, saturation.slope}) {
    require(value >= 0 && value <= largest, "the constants must not be negative");
  }
  for (std::int64_t i = 0; i < slots.length(); ++i) {
    const std::int32_t slot = slots.data()[i];
    require(slot >= 0 && slot < factors.length(), "slots must lie in 0 .. factors - 1");
    require(i == 0 || slots.data()[i - 1] <= slot, "slots must not fall");
    query.forms.push_back({slot, words.data()[i], is_other.data()[i] != 0, is_exact.data()[i] != 0});
  }
  return query;
}

std::tuple<std::int64_t, std::int64_t, std::int64_t> best(
    const std::vector<const StoredPart*>& parts, const In<std::int32_t>& slots, const In<std::int32_t>& words,
    const In<std::uint8_t>& is_other, const In<std::uint8_t>& is_exact, const In<double>& factors, double stem,
    double floor, double slope, const std::optional<In<std::uint8_t>>& allowed, const Out<std::int64_t>& rows,
    const Out<double>& scores) {
  const FormQuery query = query_of(slots, words, is_other, is_exact, factors, {stem, floor, slope});
  const StoredParts all(parts, &query.saturation);
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

void near(const std::vector<const StoredPart*>& parts, const In<std::int32_t>& group_of, std::int64_t vocabulary,
          const In<double>& idf, const In<std::int64_t>& rows, const In<std::int32_t>& wanted,
          const Out<std::int64_t, 2>& found, const Out<double, 2>& cosines, const Out<std::uint8_t>& complete) {
  const StoredParts all(parts, nullptr);
  require(vocabulary >= 0 && vocabulary <= group_of.length(), "the vocabulary must lie in group_of");
  require_range(rows.data(), rows.length(), 0, all.rows, "rows must lie in the parts");
  require(found.length() == rows.length() && cosines.length() == rows.length() && complete.length() == rows.length() &&
              found.length(1) == cosines.length(1),
          "one row of neighbours per document");
  for (std::int64_t i = 1; i < wanted.length(); ++i) {
    require(wanted.data()[i - 1] < wanted.data()[i], "the wanted stems must rise");
  }
  const StemWeights stems{group_of.data(), vocabulary, group_of.length(), idf.data(), idf.length()};
  const std::vector<std::int32_t> all_wanted(wanted.data(), wanted.data() + wanted.length());
  bool sound = true;
  run_native([&](Watch& watch) {
    sound = near_rows(all.parts, stems, rows.data(), rows.length(), all_wanted, found.length(1), found.data(),
                      cosines.data(), complete.data(), watch);
  });
  require(sound, "the bags lead outside of themselves");
}

void frequencies(const StoredWordLists& known, const StoredWordLists& others, const In<std::int64_t>& starts,
                 const In<std::int32_t>& words, std::int64_t vocabulary, const Out<std::int64_t>& df) {
  require(known.documents() == others.documents(), "both sets of lists must be of the same documents");
  require(starts.length() == df.length() + 1, "starts has one value more than df");
  for (std::int64_t i = 0; i < starts.length(); ++i) {
    const std::int64_t before = i == 0 ? 0 : starts.data()[i - 1];
    require(starts.data()[i] >= before && starts.data()[i] <= words.length(), "starts must rise within the words");
  }
  require(vocabulary >= 0, "the vocabulary must not be negative");
  const StoredLists sets[2] = {known.get(), others.get()};
  bool sound = true;
  run_native([&](Watch& watch) {
    sound = stem_frequencies(sets, starts.data(), words.data(), df.length(), vocabulary, df.data(), watch);
  });
  require(sound, "the lists lead outside of themselves");
}

template <class Count>
void bind_init(nb::class_<StoredWordLists>& made) {
  made.def(nb::init<std::int64_t, In<std::int64_t>, In<std::int32_t>, In<std::int64_t, 2>, In<std::uint16_t>,
                    In<Count>, In<std::int64_t>, In<std::int32_t>, In<std::int32_t>, In<std::uint16_t>>(),
           nb::arg("documents"), nb::arg("blocks").noconvert(), nb::arg("words").noconvert(),
           nb::arg("starts").noconvert(), nb::arg("rows").noconvert(),
           nb::arg("counts").noconvert(), nb::arg("bit_blocks").noconvert(), nb::arg("bit_words").noconvert(),
           nb::arg("bit_sizes").noconvert(), nb::arg("bits").noconvert());
}

}  // namespace

void bind_stored_words(nb::module_& m) {
  nb::class_<StoredWordLists> made(m, "StoredWordLists");
  bind_init<std::uint8_t>(made);
  bind_init<std::uint16_t>(made);
  bind_init<std::int32_t>(made);
  nb::class_<StoredRows>(m, "StoredRows", "Words and counts by row.")
      .def(nb::init<Places, BagWords, Counts>(), nb::arg("indptr").noconvert(), nb::arg("words").noconvert(),
           nb::arg("counts").noconvert());
  nb::class_<StoredPart>(m, "StoredPart", "Documents by word and by row, with a vector and without.")
      .def(nb::init<const StoredWordLists&, const StoredWordLists&, const StoredRows&, const StoredRows&,
                    In<float>>(),
           nb::arg("known"), nb::arg("others"), nb::arg("bags"), nb::arg("other_bags"), nb::arg("totals").noconvert(),
           nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>())
      .def("tokens", &StoredPart::tokens, nb::arg("alive").noconvert().none(), "The tokens of documents.");
  m.def("best_by_words", &best, nb::arg("parts"), nb::arg("slots").noconvert(), nb::arg("words").noconvert(),
        nb::arg("is_other").noconvert(), nb::arg("is_exact").noconvert(), nb::arg("factors").noconvert(),
        nb::arg("stem"), nb::arg("floor"), nb::arg("slope"), nb::arg("allowed").noconvert().none(),
        nb::arg("rows").noconvert(), nb::arg("scores").noconvert(),
        "The best documents: how many there are, and how many entries of lists and documents were looked at.");
  m.def("near_rows", &near, nb::arg("parts"), nb::arg("group_of").noconvert(), nb::arg("vocabulary"),
        nb::arg("idf").noconvert(), nb::arg("rows").noconvert(), nb::arg("wanted").noconvert(),
        nb::arg("found").noconvert(), nb::arg("cosines").noconvert(), nb::arg("complete").noconvert(),
        "For each of some documents the nearest others, and whether it has all wanted stems.");
  m.def("stem_frequencies", &frequencies, nb::arg("known"), nb::arg("others"), nb::arg("starts").noconvert(),
        nb::arg("words").noconvert(), nb::arg("vocabulary"), nb::arg("df").noconvert());
}

}  // namespace wordferry
