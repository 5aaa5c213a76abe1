#include "texts/word_counts.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace wordferry {

namespace {

constexpr std::int64_t documents_a_block = 64;
constexpr WordCode unresolved = INT32_MIN;

std::uint64_t hash_of(std::string_view word) {
  std::uint64_t hash = 1469598103934665603u;
  for (const char letter : word) hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211u;
  return hash ^ (hash >> 29);
}

// For each byte 0 (no letter or digit of ASCII), or what it is in lower case.
constexpr std::array<char, 256> lower_letters() {
  std::array<char, 256> found{};
  for (int c = '0'; c <= '9'; ++c) found[static_cast<std::size_t>(c)] = static_cast<char>(c);
  for (int c = 'a'; c <= 'z'; ++c) {
    found[static_cast<std::size_t>(c)] = static_cast<char>(c);
    found[static_cast<std::size_t>(c - 'a' + 'A')] = static_cast<char>(c);
  }
  return found;
}

constexpr auto lower = lower_letters();

char letter_at(std::string_view text, std::size_t at) {
  return at < text.size() ? lower[static_cast<unsigned char>(text[at])] : '\0';
}

// The codes of the words of some documents, in the order of the text; words that the table does not have stand apart.
struct Block {
  std::vector<WordCode> codes;
  std::vector<std::size_t> ends;
  std::vector<std::string> missing;
  CountedTexts counted;
};

class Reader {
 public:
  Reader(const WordTable& table, const Splitting& how, Block& out) : table_(table), how_(how), out_(out) {}

  void words(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::size_t end = std::min(bytes.find(word_end), bytes.size());
      put(bytes.substr(0, end), false);
      bytes.remove_prefix(std::min(end + 1, bytes.size()));
    }
    out_.ends.push_back(out_.codes.size());
  }

  // Runs of letters and digits, joined by single apostrophes or hyphens; hyphens part words.
  void text(std::string_view bytes) {
    std::size_t at = 0;
    while (at < bytes.size()) {
      if (letter_at(bytes, at) == 0) {
        ++at;
        continue;
      }
      word_.clear();
      bool apostrophe = false;
      while (true) {
        for (char letter = letter_at(bytes, at); letter != 0; letter = letter_at(bytes, ++at)) {
          word_.push_back(how_.lowercase ? letter : bytes[at]);
        }
        if (at >= bytes.size() || bytes[at] != '\'' || letter_at(bytes, at + 1) == 0) break;
        apostrophe = true;
        word_.push_back(bytes[at++]);
      }
      if (apostrophe) drop_apostrophes();
      if (static_cast<std::int64_t>(word_.size()) >= how_.min_length) put(word_, true);
    }
    out_.ends.push_back(out_.codes.size());
  }

 private:
  void drop_apostrophes() {
    for (const std::string_view ending : {"'s", "'S"}) {
      if (std::string_view(word_).ends_with(ending)) word_.resize(word_.size() - ending.size());
    }
    word_.erase(std::remove(word_.begin(), word_.end(), '\''), word_.end());
  }

  void put(std::string_view word, bool stops) {
    const WordTable::Entry* const found = table_.find(word);
    if (found != nullptr && stops && found->stop) return;
    if (found != nullptr && found->code != no_code) {
      out_.codes.push_back(found->code);
      return;
    }
    out_.codes.push_back(unresolved);
    out_.missing.emplace_back(word);
  }

  const WordTable& table_;
  const Splitting& how_;
  Block& out_;
  std::string word_;
};

// Gives numbers to the words that the table lacked, in the order in which they came.
std::int32_t resolve(WordTable& table, Block& block, std::int32_t next, std::string& new_words) {
  auto word = block.missing.begin();
  for (WordCode& code : block.codes) {
    if (code != unresolved) continue;
    WordTable::Entry& entry = table.put(*word);
    if (entry.code == no_code) {
      entry.code = next++;
      new_words.append(*word).push_back(word_end);
    }
    code = entry.code;
    ++word;
  }
  return next;
}

void count_block(Block& block) {
  CountedTexts& out = block.counted;
  std::size_t begin = 0;
  for (const std::size_t end : block.ends) {
    const auto first = block.codes.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = block.codes.begin() + static_cast<std::ptrdiff_t>(end);
    std::sort(first, last);
    for (auto at = first; at != last;) {
      auto next = at;
      while (next != last && *next == *at) ++next;
      out.words.push_back(*at);
      out.counts.push_back(static_cast<std::int32_t>(next - at));
      at = next;
    }
    out.indptr.push_back(static_cast<std::int64_t>(out.words.size()));
    out.tokens.push_back(static_cast<std::int64_t>(end - begin));
    begin = end;
  }
}

template <class T>
void append(std::vector<T>& all, const std::vector<T>& some) {
  all.insert(all.end(), some.begin(), some.end());
}

void append_ends(std::vector<std::int64_t>& all, const std::vector<std::int64_t>& some) {
  const std::int64_t start = all.back();
  for (std::size_t i = 1; i < some.size(); ++i) all.push_back(start + some[i]);
}

}  // namespace

WordTable::WordTable() : entries_(1024) {}

std::size_t WordTable::place(std::string_view word, std::uint64_t hash) const {
  const std::size_t mask = entries_.size() - 1;
  for (std::size_t at = static_cast<std::size_t>(hash) & mask;; at = (at + 1) & mask) {
    const Entry& entry = entries_[at];
    if (!entry.used) return at;
    if (entry.hash == hash && entry.length == word.size() &&
        (word.empty() || std::memcmp(letters_.data() + entry.start, word.data(), word.size()) == 0)) {
      return at;
    }
  }
}

const WordTable::Entry* WordTable::find(std::string_view word) const {
  const Entry& entry = entries_[place(word, hash_of(word))];
  return entry.used ? &entry : nullptr;
}

WordTable::Entry& WordTable::put(std::string_view word) {
  if (2 * (count_ + 1) > entries_.size()) grow();
  const std::uint64_t hash = hash_of(word);
  Entry& entry = entries_[place(word, hash)];
  if (!entry.used) {
    entry = {hash, letters_.size(), static_cast<std::uint32_t>(word.size()), no_code, false, true};
    letters_.append(word);
    ++count_;
  }
  return entry;
}

void WordTable::grow() {
  std::vector<Entry> before(2 * entries_.size());
  before.swap(entries_);
  const std::size_t mask = entries_.size() - 1;
  for (const Entry& entry : before) {
    if (!entry.used) continue;
    std::size_t at = static_cast<std::size_t>(entry.hash) & mask;
    while (entries_[at].used) at = (at + 1) & mask;
    entries_[at] = entry;
  }
}

CountedTexts count_texts(WordTable& table, std::string_view bytes, const std::int64_t* ends, const std::uint8_t* split,
                         std::int64_t documents, const Splitting& how, std::int32_t next, int threads,
                         Watch& watch) {
  const std::int64_t count = (documents + documents_a_block - 1) / documents_a_block;
  std::vector<Block> blocks(static_cast<std::size_t>(count));
  const auto read = [&](std::int64_t number, int) {
    Reader reader(table, how, blocks[static_cast<std::size_t>(number)]);
    const std::int64_t last = std::min((number + 1) * documents_a_block, documents);
    for (std::int64_t i = number * documents_a_block; i < last; ++i) {
      const std::int64_t begin = i == 0 ? 0 : ends[i - 1];
      const auto document = bytes.substr(static_cast<std::size_t>(begin), static_cast<std::size_t>(ends[i] - begin));
      if (split[i] != 0) {
        reader.text(document);
      } else {
        reader.words(document);
      }
    }
  };
  for_blocks(count, threads, read, watch);
  CountedTexts all;
  for (Block& block : blocks) next = resolve(table, block, next, all.new_words);
  for_blocks(count, threads, [&](std::int64_t number, int) { count_block(blocks[static_cast<std::size_t>(number)]); },
             watch);
  for (Block& block : blocks) {
    append_ends(all.indptr, block.counted.indptr);
    append(all.tokens, block.counted.tokens);
    append(all.words, block.counted.words);
    append(all.counts, block.counted.counts);
    block = Block();
  }
  return all;
}

}  // namespace wordferry
