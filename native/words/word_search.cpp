#include "words/word_search.hpp"

#include <algorithm>

#include "support/at.hpp"

namespace wordferry {

namespace {

constexpr int exact_classes = 64, steps = 16, step_bits = 4, first_bit = 6, last_bit = 17;

}  // namespace

std::uint8_t length_class(std::int64_t length) {
  if (length < exact_classes) return static_cast<std::uint8_t>(std::max(length, std::int64_t{0}));
  int bit = first_bit;
  while (bit < last_bit && (length >> (bit + 1)) != 0) ++bit;
  const auto step = static_cast<int>(std::min<std::int64_t>((length >> (bit - step_bits)) - steps, steps - 1));
  return static_cast<std::uint8_t>(exact_classes + (bit - first_bit) * steps + step);
}

double least_length(int length_class) {
  if (length_class < exact_classes) return length_class;
  const int bit = first_bit + (length_class - exact_classes) / steps, step = (length_class - exact_classes) % steps;
  return static_cast<double>((steps + step) << (bit - step_bits));
}

std::int64_t tokens_of(const float* lengths, std::int64_t row) {
  constexpr float most = 1 << 30;
  return lengths[row] >= 0.0f && lengths[row] < most ? static_cast<std::int64_t>(lengths[row]) : 0;
}

void stem_frequencies(const StoredLists& stored, const std::int64_t* starts, const std::int32_t* words,
                      std::int64_t groups, std::int64_t* df, Watch& watch) {
  std::vector<std::uint32_t> seen(at(list_block_rows), 0);
  std::uint32_t stamp = 0;
  Pace pace(watch);
  for (std::int64_t block = 0; block < stored.block_count; ++block) {
    const BlockLists lists(stored, block);
    for (std::int64_t group = 0; group < groups; ++group) {
      const bool alone = starts[group + 1] - starts[group] == 1;
      ++stamp;
      const auto note = [&](std::int64_t row) {
        std::uint32_t& last = seen[at(row)];
        df[group] += last != stamp ? 1 : 0;
        last = stamp;
      };
      for (std::int64_t at = starts[group]; at < starts[group + 1]; ++at) {
        const ListedRows list = lists.find(words[at]);
        pace.spend(100 + list.size + list.present);
        if (alone) {
          df[group] += list.bits == nullptr ? list.size : list.present;  // a list beside bits names no other rows
          continue;
        }
        each_listed(list, stored.width, [&](std::int64_t row, std::int32_t) { note(row); });
        if (list.bits != nullptr) each_bit(list.bits, lists.groups(), note);
      }
    }
  }
}

std::int64_t merge_keys(const std::uint64_t* known, const std::int32_t* numbers, std::int64_t known_count,
                        const std::uint64_t* keys, std::int64_t count, std::int32_t* groups, std::uint64_t* merged,
                        std::int32_t* merged_numbers) {
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
  return size;
}

}  // namespace wordferry
