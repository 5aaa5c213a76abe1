#include "lists/stored_words.hpp"

#include <algorithm>

#include "lists/best.hpp"

namespace wordferry {

namespace {

// The list of a word in one block; false when it leads outside.
bool find_list(const StoredLists& set, std::int64_t block, std::int32_t word, WholeList& found) {
  BlockLists lists(set, block);
  ListedRows list;
  if (!lists.sound() || !lists.find(word, list)) return false;
  found.read(list, set.width, lists.groups());
  return true;
}

// What the forms of one word of a query add up to in each row of a block, and which rows they touch.
class Sums {
 public:
  Sums() : exact_(static_cast<std::size_t>(list_block_rows)), other_(static_cast<std::size_t>(list_block_rows)) {}

  void add(const WholeList& list, bool exact) {
    std::vector<std::int64_t>& sums = exact ? exact_ : other_;
    for (std::size_t i = 0; i < list.rows().size(); ++i) {
      const std::size_t row = list.rows()[i];
      if (exact_[row] == 0 && other_[row] == 0) touched_.push_back(list.rows()[i]);
      sums[row] += list.counts()[i];
    }
  }

  // Adds the word's part to the scores, and forgets it. False when a row lies behind the last one.
  bool finish(double factor, const Saturation& saturation, const std::int32_t* lengths, std::int64_t rows,
              double* scores) {
    bool sound = true;
    for (const std::uint16_t row : touched_) {
      const double tf = static_cast<double>(exact_[row]) + saturation.stem * static_cast<double>(other_[row]);
      exact_[row] = other_[row] = 0;
      if (row >= rows) {
        sound = false;
      } else if (tf > 0) {
        const double rest = saturation.floor + saturation.slope * static_cast<double>(lengths[row]);
        scores[row] += factor * (tf / (tf + rest));
      }
    }
    touched_.clear();
    return sound;
  }

 private:
  std::vector<std::int64_t> exact_, other_;
  std::vector<std::uint16_t> touched_;
};

}  // namespace

bool best_by_words(const StoredLists (&sets)[2], const std::vector<StoredForm>& forms,
                   const std::vector<double>& factors, const Saturation& saturation, const std::int32_t* lengths,
                   std::int64_t rows, const std::uint8_t* allowed, std::int64_t k, std::vector<Scored>& best,
                   Watch& watch) {
  Best kept(k);
  Sums sums;
  WholeList list;
  std::vector<double> scores(static_cast<std::size_t>(list_block_rows), 0.0);
  for (std::int64_t low = 0, block = 0; low < rows; low += list_block_rows, ++block) {
    const std::int64_t high = std::min(low + list_block_rows, rows);
    bool touched = false;
    for (std::size_t at = 0; at < forms.size();) {
      const std::int32_t slot = forms[at].slot;
      for (; at < forms.size() && forms[at].slot == slot; ++at) {
        const StoredLists& set = sets[forms[at].other ? 1 : 0];
        if (!find_list(set, block, forms[at].word, list)) return false;
        touched = touched || list.size() > 0;
        sums.add(list, forms[at].exact);
      }
      watch.check();
      const double factor = factors[static_cast<std::size_t>(slot)];
      if (!sums.finish(factor, saturation, lengths + low, high - low, scores.data())) return false;
    }
    if (!touched) continue;
    kept.collect(scores.data(), low, high, allowed);
    std::fill(scores.begin(), scores.end(), 0.0);
  }
  best = std::move(kept).sorted();
  return true;
}

bool stem_frequencies(const StoredLists (&sets)[2], const std::int32_t* const (&group_of)[2],
                      const std::int64_t (&sizes)[2], std::int64_t groups, std::int64_t* df, Watch& watch) {
  struct Word {
    std::int32_t group, word, set;
  };
  std::vector<std::uint32_t> seen(static_cast<std::size_t>(list_block_rows), 0);
  std::uint32_t stamp = 0;
  WholeList list;
  for (std::int64_t block = 0; block < sets[0].block_count; ++block) {
    std::vector<Word> words;
    for (std::int32_t set = 0; set < 2; ++set) {
      if (!BlockLists(sets[set], block).sound()) return false;
      const auto note = [&](const std::int64_t* blocks, const std::int32_t* names) {
        for (std::int64_t i = blocks[block]; i < blocks[block + 1]; ++i) {
          if (names[i] < 0 || names[i] >= sizes[set]) return false;
          const std::int32_t group = group_of[set][names[i]];
          if (group >= groups) return false;
          if (group >= 0) words.push_back({group, names[i], set});
        }
        return true;
      };
      if (!note(sets[set].blocks, sets[set].words) || !note(sets[set].bit_blocks, sets[set].bit_words)) return false;
    }
    std::sort(words.begin(), words.end(), [](const Word& a, const Word& b) { return a.group < b.group; });
    for (std::size_t at = 0; at < words.size();) {
      watch.check();
      const std::int32_t group = words[at].group;
      const bool alone = at + 1 == words.size() || words[at + 1].group != group;
      ++stamp;
      for (; at < words.size() && words[at].group == group; ++at) {
        if (!find_list(sets[words[at].set], block, words[at].word, list)) return false;
        if (alone) df[group] += list.size();
        for (std::size_t i = 0; !alone && i < list.rows().size(); ++i) {
          const std::uint16_t row = list.rows()[i];
          df[group] += seen[row] != stamp;
          seen[row] = stamp;
        }
      }
    }
  }
  return true;
}

}  // namespace wordferry
