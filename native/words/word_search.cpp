#include "words/word_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>

#include "support/at.hpp"

namespace wordferry {

namespace {

constexpr int exact_classes = 64, steps = 16, step_bits = 4, first_bit = 6, last_bit = 17;

std::uint8_t length_class(std::int64_t length) {
  if (length < exact_classes) return static_cast<std::uint8_t>(std::max(length, std::int64_t{0}));
  int bit = first_bit;
  while (bit < last_bit && (length >> (bit + 1)) != 0) ++bit;
  const auto step = static_cast<int>(std::min<std::int64_t>((length >> (bit - step_bits)) - steps, steps - 1));
  return static_cast<std::uint8_t>(exact_classes + (bit - first_bit) * steps + step);
}

// Document frequency of each stem: in how many rows some of its words stand, those from starts[group] on.
Made<std::int64_t> stem_frequencies(const StoredWordLists& all, const In<std::int64_t>& starts,
                                    const In<std::int32_t>& words) {
  require(starts.length() >= 1, "starts must not be empty");
  const std::int64_t stems = starts.length() - 1;
  auto frequencies = make_array(std::int64_t{0}, stems);
  for (std::int64_t i = 0; i < starts.length(); ++i) {
    const std::int64_t before = i == 0 ? 0 : starts.data()[i - 1];
    require(starts.data()[i] >= before && starts.data()[i] <= words.length(), "starts must rise within the words");
  }
  const std::int64_t* const bounds = starts.data();
  std::int64_t* const df = frequencies.data();
  run_native([&](Watch& watch) {
    std::vector<std::uint32_t> seen(at(list_block_rows), 0);
    std::uint32_t stamp = 0;
    Pace pace(watch);
    for (std::int64_t block = 0; block < all.lists.block_count; ++block) {
      const BlockLists lists(all.lists, block);
      for (std::int64_t group = 0; group < stems; ++group) {
        const bool alone = bounds[group + 1] - bounds[group] == 1;
        ++stamp;
        const auto note = [&](std::int64_t row) {
          std::uint32_t& last = seen[at(row)];
          df[group] += last != stamp ? 1 : 0;
          last = stamp;
        };
        for (std::int64_t at = bounds[group]; at < bounds[group + 1]; ++at) {
          const ListedRows list = lists.find(words.data()[at]);
          pace.spend(100 + list.size + list.present);
          if (alone) {
            df[group] += list.bits == nullptr ? list.size : list.present;  // a list beside bits names no other rows
            continue;
          }
          each_listed(list, all.lists.width, [&](std::int64_t row, std::int32_t) { note(row); });
          if (list.bits != nullptr) each_bit(list.bits, lists.groups(), note);
        }
      }
    }
  });
  return frequencies;
}

// Numbers for keys, which ascend: groups[i] = the number of keys[i] among the known ones, which ascend too, or the next
// one; and known and new keys in order, their numbers, and how many there are.
std::tuple<Made<std::int32_t>, Made<std::uint64_t>, Made<std::int32_t>, std::int64_t> merge_keys(
    const In<std::uint64_t>& old, const In<std::int32_t>& old_numbers, const In<std::uint64_t>& added) {
  const std::int64_t all = old.length() + added.length();
  require(old_numbers.length() == old.length(), "one number for each known key");
  require(all <= std::numeric_limits<std::int32_t>::max(), "too many keys");
  require_rising(old, "keys must rise");
  require_rising(added, "keys must rise");
  auto all_groups = make_array(std::int32_t{0}, added.length());
  auto all_keys = make_array(std::uint64_t{0}, all);
  auto all_numbers = make_array(std::int32_t{0}, all);
  const std::uint64_t *const known = old.data(), *const keys = added.data();
  const std::int32_t* const numbers = old_numbers.data();
  const std::int64_t known_count = old.length(), count = added.length();
  std::int32_t *const groups = all_groups.data(), *const merged_numbers = all_numbers.data();
  std::uint64_t* const merged = all_keys.data();
  auto next = static_cast<std::int32_t>(known_count);
  std::int64_t size = 0, i = 0, j = 0;
  for (; i < known_count && j < count; ++size) {  // without a branch that depends on keys: none could be guessed
    const std::uint64_t one = known[i], other = keys[j];
    const std::int32_t number = one <= other ? numbers[i] : next;
    merged[size] = one <= other ? one : other;
    merged_numbers[size] = number;
    groups[j] = number;  // where keys[j] is not this key, its turn comes later
    next += one <= other ? 0 : 1;
    i += one <= other ? 1 : 0;
    j += other <= one ? 1 : 0;
  }
  for (; i < known_count; ++i, ++size) {
    merged[size] = known[i];
    merged_numbers[size] = numbers[i];
  }
  for (; j < count; ++j, ++size) {
    merged[size] = keys[j];
    merged_numbers[size] = groups[j] = next++;
  }
  return {std::move(all_groups), std::move(all_keys), std::move(all_numbers), size};
}

}  // namespace

double least_length(int length_class) {
  if (length_class < exact_classes) return length_class;
  const int bit = first_bit + (length_class - exact_classes) / steps, step = (length_class - exact_classes) % steps;
  return static_cast<double>((steps + step) << (bit - step_bits));
}

std::int64_t tokens_of(const float* lengths, std::int64_t row) {
  constexpr float most = 1 << 30;
  return lengths[row] >= 0.0f && lengths[row] < most ? static_cast<std::int64_t>(lengths[row]) : 0;
}

WordDocuments::WordDocuments(const StoredDocuments& stored, const In<float>& lengths)
    : part_{stored.lists, stored.bags, lengths.data()}, held_(hold(stored, lengths)) {
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

std::shared_ptr<const Once> WordDocuments::once(const Saturation& saturation) const {
  const std::scoped_lock lock(*mutex_);
  const Saturation* const last = once_ == nullptr ? nullptr : &once_->saturation;
  if (last != nullptr && last->floor == saturation.floor && last->slope == saturation.slope) return once_;
  std::uint16_t values[class_count];
  for (int one = 0; one < class_count; ++one) {
    const double value = 65536.0 / (1.0 + saturation.floor + saturation.slope * least_length(one));
    values[one] = static_cast<std::uint16_t>(std::clamp(std::ceil(value * (1 + 1e-9)), 1.0, 65535.0));
  }
  std::vector<std::uint16_t> of_rows(classes_.size());
  for (std::size_t row = 0; row < of_rows.size(); ++row) of_rows[row] = values[classes_[row]];
  once_ = std::make_shared<Once>(Once{saturation, std::move(of_rows)});
  return once_;
}

void bind_word_lists(nb::module_& m) {
  nb::class_<WordDocuments>(m, "WordDocuments", "Stored documents with the tokens of each, for word search.")
      .def(nb::init<const StoredDocuments&, const In<float>&>(), "stored"_a, "lengths"_in);
  m.def("stem_frequencies", &stem_frequencies, "lists"_a, "starts"_in, "words"_in, "Document frequency of each stem.");
  m.def("merge_keys", &merge_keys, "known"_in, "numbers"_in, "keys"_in,
        "The numbers of keys among known ones, new ones behind them; all keys in order, their numbers, and how many.");
}

}  // namespace wordferry
