// Which of a few hundred documents stand together: cosines through a small inverted list of their stems.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <tuple>
#include <utility>

#include "support/at.hpp"
#include "words/word_search.hpp"

namespace wordferry {

namespace {

// Documents as CSR over stems (one stem may come several times in a row), `weight` the idf of each entry.
struct StemRows {
  std::span<const std::int64_t> indptr;
  std::span<const std::int32_t> stems, counts;
  std::span<const double> weight;
  std::int64_t groups;  // stems are below this
};

struct Entry {
  std::int32_t stem;  // numbered among the stems of these documents
  double weight;
};

// The documents as rows of unit vectors over stems that are numbered as they come.
class Rows {
 public:
  explicit Rows(const StemRows& all) : starts_{0} {
    std::vector<std::int32_t> local(at(all.groups), -1);
    std::vector<std::size_t> place;  // of each stem, its last entry
    for (std::size_t row = 0; row + 1 < all.indptr.size(); ++row) {
      const std::size_t first = entries_.size();
      for (auto k = at(all.indptr[row]); k < at(all.indptr[row + 1]); ++k) {
        if (all.weight[k] == 0) continue;  // stop words
        std::int32_t& number = local[at(all.stems[k])];
        if (number < 0) {
          number = static_cast<std::int32_t>(place.size());
          place.push_back(0);
          sizes_.push_back(0);
          idf_.push_back(all.weight[k]);
        }
        std::size_t& known = place[at(number)];
        if (known < first || known >= entries_.size() || entries_[known].stem != number) {
          known = entries_.size();
          entries_.push_back({number, 0.0});
          ++sizes_[at(number)];
        }
        entries_[known].weight += all.counts[k];  // the count for now
      }
      scale(first);
      starts_.push_back(entries_.size());
    }
  }

  std::size_t size() const { return starts_.size() - 1; }
  const Entry* begin(std::size_t row) const { return entries_.data() + starts_[row]; }
  const Entry* end(std::size_t row) const { return entries_.data() + starts_[row + 1]; }
  const std::vector<std::size_t>& sizes() const { return sizes_; }

 private:
  void scale(std::size_t first) {
    double squares = 0;
    for (std::size_t k = first; k < entries_.size(); ++k) {
      Entry& entry = entries_[k];
      entry.weight = (1.0 + (entry.weight == 1.0 ? 0.0 : std::log(entry.weight))) * idf_[at(entry.stem)];
      squares += entry.weight * entry.weight;
    }
    const double length = std::sqrt(squares);
    for (std::size_t k = first; k < entries_.size(); ++k) entries_[k].weight /= length;
  }

  std::vector<Entry> entries_;
  std::vector<std::size_t> starts_;
  std::vector<std::size_t> sizes_;
  std::vector<double> idf_;
};

struct Posting {
  std::size_t row;
  double weight;
};

// All cosines between the rows; the diagonal stays 0.
std::vector<double> cosines_of(const Rows& rows, Watch& watch) {
  const std::size_t n = rows.size();
  std::vector<std::size_t> next{0};
  for (const std::size_t size : rows.sizes()) next.push_back(next.back() + size);
  std::vector<Posting> postings(next.back());
  std::vector<std::size_t> fill(next);
  for (std::size_t row = 0; row < n; ++row) {
    for (const Entry* entry = rows.begin(row); entry != rows.end(row); ++entry) {
      postings[fill[at(entry->stem)]++] = {row, entry->weight};
    }
  }
  std::vector<double> products(n * n, 0.0);
  Pace pace(watch);
  for (std::size_t row = 0; row < n; ++row) {
    double* out = products.data() + row * n;
    for (const Entry* entry = rows.begin(row); entry != rows.end(row); ++entry) {
      const auto stem = at(entry->stem);
      const std::size_t first = ++next[stem];  // rows rise, so the list's head is this row: only later ones are left
      for (std::size_t k = first; k < fill[stem]; ++k) out[postings[k].row] += entry->weight * postings[k].weight;
      pace.spend(static_cast<std::int64_t>(fill[stem] - first) + 1);
    }
    for (std::size_t other = row + 1; other < n; ++other) products[other * n + row] = out[other];
  }
  return products;
}

// For each document the `m` others whose vectors ((1 + ln count) * idf, length 1) have the largest cosine above 0, by
// (cosine falling, row rising); missing places stay -1 and 0.
void find_nearest(const StemRows& rows, std::int64_t m, std::int64_t* found, double* cosines, Watch& watch) {
  const Rows documents(rows);
  const std::vector<double> products = cosines_of(documents, watch);
  const std::size_t n = documents.size(), places = at(m);
  Pace pace(watch);
  for (std::size_t row = 0; row < n; ++row) {
    const double* values = products.data() + row * n;
    std::int64_t* ids = found + row * places;
    double* best = cosines + row * places;
    for (std::size_t other = 0; other < n && places > 0; ++other) {
      if (values[other] <= best[places - 1]) continue;  // of equal ones the earlier row stays
      std::size_t k = places - 1;
      for (; k > 0 && values[other] > best[k - 1]; --k) {
        best[k] = best[k - 1];
        ids[k] = ids[k - 1];
      }
      best[k] = values[other];
      ids[k] = static_cast<std::int64_t>(other);
    }
    pace.spend(static_cast<std::int64_t>(n));
  }
}

// For each of some rows the m nearest of the others, and whether it has all of the wanted stems, which rise.
std::tuple<Made<std::int64_t, 2>, Made<double, 2>, Made<bool>> near_rows(
    const std::vector<const WordDocuments*>& parts, const In<std::int32_t>& group_of, const In<double>& idf,
    const In<std::int64_t>& rows, const In<std::int32_t>& wanted, std::int64_t m) {
  const WordParts all(parts, nullptr);
  require_range(rows, 0, all.rows, "rows must lie in the parts");
  auto found = make_array(std::int64_t{-1}, rows.length(), m);
  auto cosines = make_array(0.0, rows.length(), m);
  auto complete = make_array(false, rows.length());
  require_rising(wanted, "the wanted stems must rise");
  const std::span<const std::int32_t> stems = wanted.span();
  run_native([&](Watch& watch) {
    std::vector<std::int64_t> indptr{0};
    std::vector<std::int32_t> groups, counts;
    std::vector<double> weight;
    std::vector<std::int64_t> seen(stems.size(), -1);
    std::uint64_t marks = 0;  // of the wanted stems, so that most others need not be looked for
    for (const std::int32_t stem : stems) marks |= std::uint64_t{1} << (stem & 63);
    for (std::int64_t i = 0; i < rows.length(); ++i) {
      std::size_t has = 0;
      const WordPart& part = part_of(all.parts, rows.data()[i]);
      part.bags.each(rows.data()[i] - part.start, [&](std::int32_t word, std::int32_t often) {
        const std::int32_t group = word >= 0 && word < group_of.length() ? group_of.data()[word] : -1;
        require_inside(group >= 0 && group < idf.length() && often > 0);
        groups.push_back(group);
        counts.push_back(often);
        weight.push_back(idf.data()[group]);
        if ((marks >> (group & 63) & 1) == 0) return;
        const auto place = std::lower_bound(stems.begin(), stems.end(), group);
        if (place == stems.end() || *place != group) return;
        std::int64_t& last_seen = seen[at(place - stems.begin())];
        has += last_seen != i ? 1 : 0;
        last_seen = i;
      });
      complete.data()[i] = has == stems.size();
      indptr.push_back(static_cast<std::int64_t>(groups.size()));
    }
    find_nearest({indptr, groups, counts, weight, idf.length()}, m, found.data(), cosines.data(), watch);
  });
  return {std::move(found), std::move(cosines), std::move(complete)};
}

// Which of a few documents, given by their stems, are nearest to each other.
std::pair<Made<std::int64_t, 2>, Made<double, 2>> nearest_among(const In<std::int64_t>& indptr,
                                                                const In<std::int32_t>& stems,
                                                                const In<std::int32_t>& counts,
                                                                const In<double>& weight, std::int64_t groups,
                                                                std::int64_t m) {
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
    find_nearest({indptr.span(), stems.span(), counts.span(), weight.span(), groups}, m, found.data(), cosines.data(),
                 watch);
  });
  return {std::move(found), std::move(cosines)};
}

}  // namespace

void bind_near_rows(nb::module_& m) {
  m.def(
      "near_rows", &near_rows, "parts"_a, "group_of"_in, "idf"_in, "rows"_in, "wanted"_in, "m"_a,
      "For each of some documents the nearest others (-1: none), their cosines, and whether it has all wanted stems.");
  m.def("nearest_among", &nearest_among, "indptr"_in, "stems"_in, "counts"_in, "weight"_in, "groups"_a, "m"_a,
        "For each of a few documents its nearest others (-1: none), and their cosines.");
}

}  // namespace wordferry
