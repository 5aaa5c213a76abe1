#include <algorithm>
#include <unordered_map>

#include "related/join.hpp"
#include "support/at.hpp"

namespace wordferry {

namespace {

// The lists as they are after the change.
class Present {
 public:
  Present(const ChangedLists& changed, const OwnLists& lists) : changed_(changed), lists_(lists) {
    rows_.reserve(changed.words.size());
    for (std::size_t row = 0; row < changed.words.size(); ++row) rows_[changed.words[row]] = row;
  }

  bool has(std::int32_t word, std::int32_t other) const {
    const auto found = rows_.find(word);
    const std::int32_t* own =
        found == rows_.end() ? lists_.list(word) : changed_.own.data() + found->second * at(lists_.r);
    return std::find(own, own + lists_.r, other) != own + lists_.r;
  }

 private:
  const ChangedLists& changed_;
  const OwnLists& lists_;
  std::unordered_map<std::int32_t, std::size_t> rows_;
};

// Calls with each word of `changes` and its changes, from first to last.
template <class Call>
void each_word(const std::vector<LinkChange>& changes, Call&& call) {
  for (auto first = changes.begin(); first != changes.end();) {
    const auto last =
        std::find_if(first, changes.end(), [&](const LinkChange& one) { return one.word != first->word; });
    call(first->word, &*first, &*first + (last - first));
    first = last;
  }
}

}  // namespace

std::vector<LinkChange> changed_links(const ChangedLists& changed, const OwnLists& lists) {
  const Present present(changed, lists);
  const auto old = static_cast<std::int32_t>(lists.words);
  std::vector<LinkChange> changes;
  const auto both_ways = [&](std::int32_t a, std::int32_t b, float distance, bool gone) {
    changes.push_back({a, b, distance, gone});
    changes.push_back({b, a, distance, gone});
  };
  for (std::size_t row = 0; row < changed.words.size(); ++row) {
    const std::int32_t word = changed.words[row];
    const std::int32_t* own = changed.own.data() + row * at(lists.r);
    const float* distances = changed.distances.data() + row * at(lists.r);
    for (std::int64_t k = 0; k < lists.r; ++k) {
      if (word >= old || own[k] >= old) both_ways(word, own[k], distances[k], false);
    }
    if (word >= old) continue;
    const std::int32_t* before = lists.list(word);
    for (std::int64_t k = 0; k < lists.r; ++k) {
      const bool stays = std::find(own, own + lists.r, before[k]) != own + lists.r;
      if (!stays && !present.has(before[k], word)) both_ways(word, before[k], 0.0F, true);
    }
  }
  const auto key = [](const LinkChange& one) { return std::pair(one.word, one.other); };
  std::sort(changes.begin(), changes.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  const auto same = [&](const auto& a, const auto& b) { return key(a) == key(b); };
  changes.erase(std::unique(changes.begin(), changes.end(), same), changes.end());
  return changes;
}

std::int64_t changed_entries(const std::vector<LinkChange>& changes, const StoredLinks& links, std::int64_t old) {
  std::int64_t entries = 0;
  each_word(changes, [&](std::int32_t word, const LinkChange* first, const LinkChange* last) {
    entries += (word < old ? links.degree(word) : 0) + (last - first);
  });
  return entries;
}

void write_links(const std::vector<LinkChange>& changes, const StoredLinks& links, std::int64_t old, std::int64_t first,
                 std::int32_t* indices, float* data, std::int32_t* starts, std::int32_t* ends) {
  std::int64_t place = 0;
  each_word(changes, [&](std::int32_t word, const LinkChange* change, const LinkChange* last) {
    const std::int64_t begin = place, degree = word < old ? links.degree(word) : 0;
    if (degree > 0) {
      const std::int32_t* row = links.row(word);
      const float* distances = links.distances_of(word);
      for (std::int64_t k = 0; k < degree; ++k) {
        while (change != last && change->other < row[k]) ++change;
        if (change != last && change->other == row[k]) continue;  // it goes
        indices[place] = row[k];
        data[place++] = distances[k];
      }
    }
    for (; change != last; ++change) {  // others come behind all that were there
      if (change->gone) continue;
      indices[place] = change->other;
      data[place++] = change->distance;
    }
    starts[word] = static_cast<std::int32_t>(first + begin);
    ends[word] = static_cast<std::int32_t>(first + place);
  });
}

}  // namespace wordferry
