// Words of documents, counted: a table of words with their numbers, and texts that are split and counted against it.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "support/at.hpp"
#include "support/bind.hpp"

namespace wordferry {

namespace {

constexpr std::int64_t documents_a_block = 64;

// Ends every word where words stand one after the other: a byte that no UTF-8 text holds.
constexpr char word_end = '\xff';

// The number of a word, by which the words of a document are ordered.
using WordCode = std::int32_t;
constexpr WordCode no_code = -1;

constexpr WordCode unresolved = INT32_MIN;
constexpr std::int32_t largest_code = std::numeric_limits<std::int32_t>::max() / 2;

// Stands before a stop word of a text, which has a number of its own.
constexpr char stop_mark = '\x01';

std::array<std::uint64_t, 2> random_key() {
  std::random_device source;
  const auto number = [&] { return std::uint64_t{source()} << 32 | source(); };
  return {number(), number()};
}

// SipHash-1-3 (Aumasson and Bernstein 2012) with a key of this process, so that nobody can write a text whose words all
// fall in one place. Nothing that is returned depends on the key.
std::uint64_t hash_of(std::string_view word) {
  static const std::array<std::uint64_t, 2> key = random_key();
  std::uint64_t a = key[0] ^ 0x736f6d6570736575u, b = key[1] ^ 0x646f72616e646f6du;
  std::uint64_t c = key[0] ^ 0x6c7967656e657261u, d = key[1] ^ 0x7465646279746573u;
  const auto round = [&] {
    a += b;
    c += d;
    b = std::rotl(b, 13) ^ a;
    d = std::rotl(d, 16) ^ c;
    a = std::rotl(a, 32) + d;
    c += b;
    d = std::rotl(d, 21) ^ a;
    b = std::rotl(b, 17) ^ c;
    c = std::rotl(c, 32);
  };
  const auto take = [&](std::uint64_t letters) {
    d ^= letters;
    round();
    a ^= letters;
  };
  std::uint64_t letters = 0;
  std::size_t done = 0;
  for (; done + sizeof letters <= word.size(); done += sizeof letters) {
    std::memcpy(&letters, word.data() + done, sizeof letters);
    take(letters);
  }
  letters = 0;
  if (done < word.size()) std::memcpy(&letters, word.data() + done, word.size() - done);
  take(letters ^ std::uint64_t{word.size()} << 56);
  c ^= 0xff;
  for (int k = 0; k < 3; ++k) round();
  return a ^ b ^ c ^ d;
}

class WordCodes {
 public:
  struct Entry {
    std::uint64_t hash = 0;
    std::uint64_t start = 0;
    std::uint32_t length = 0;
    WordCode code = no_code;
    WordCode stop_code = no_code;  // of the word behind the mark
    bool stop = false;
    bool used = false;
  };

  // Null when the word is not there.
  const Entry* find(std::string_view word) const {
    const Entry& entry = entries_[place(word, hash_of(word))];
    return entry.used ? &entry : nullptr;
  }

  // The entry of a word, a new one without a code if there is none.
  Entry& put(std::string_view word) {
    if (2 * (count_ + 1) > entries_.size()) grow();
    const std::uint64_t hash = hash_of(word);
    Entry& entry = entries_[place(word, hash)];
    if (!entry.used) {
      entry = {hash, letters_.size(), static_cast<std::uint32_t>(word.size()), no_code, no_code, false, true};
      letters_.append(word);
      ++count_;
    }
    return entry;
  }

  void set_code(std::string_view word, WordCode code) {
    put(word).code = code;
    if (word.starts_with(stop_mark)) put(word.substr(1)).stop_code = code;
  }

  // Of places in use, which is as far as a search may go.
  std::int64_t longest_run() const {
    std::int64_t longest = 0, run = 0;
    for (const Entry& entry : entries_) {
      run = entry.used ? run + 1 : 0;
      longest = std::max(longest, run);
    }
    return longest;
  }

 private:
  std::size_t place(std::string_view word, std::uint64_t hash) const {
    const std::size_t mask = entries_.size() - 1;
    for (std::size_t place = at(hash) & mask;; place = (place + 1) & mask) {
      const Entry& entry = entries_[place];
      if (!entry.used) return place;
      if (entry.hash == hash && entry.length == word.size() &&
          (word.empty() || std::memcmp(letters_.data() + entry.start, word.data(), word.size()) == 0)) {
        return place;
      }
    }
  }

  void grow() {
    std::vector<Entry> before(2 * entries_.size());
    before.swap(entries_);
    const std::size_t mask = entries_.size() - 1;
    for (const Entry& entry : before) {
      if (!entry.used) continue;
      std::size_t place = at(entry.hash) & mask;
      while (entries_[place].used) place = (place + 1) & mask;
      entries_[place] = entry;
    }
  }

  std::vector<Entry> entries_ = std::vector<Entry>(1024);
  std::string letters_;
  std::size_t count_ = 0;
};

// How a text of ASCII letters is split: as the tokenizer "words.v1" splits it.
struct Splitting {
  bool lowercase = true;
  std::int64_t min_length = 1;
};

// Documents as bags of words, the words of a row rising.
struct CountedTexts {
  std::vector<std::int64_t> indptr{0}, tokens;
  std::vector<std::int32_t> words, counts;
  std::string new_words;  // in the order of their numbers, each ended by word_end
};

// For each byte 0 (no letter or digit of ASCII), or what it is in lower case.
constexpr std::array<char, 256> lower_letters() {
  std::array<char, 256> found{};
  for (int c = '0'; c <= '9'; ++c) found[at(c)] = static_cast<char>(c);
  for (int c = 'a'; c <= 'z'; ++c) {
    found[at(c)] = static_cast<char>(c);
    found[at(c - 'a' + 'A')] = static_cast<char>(c);
  }
  return found;
}

constexpr auto lower = lower_letters();

char letter_at(std::string_view text, std::size_t at) {
  return at < text.size() ? lower[static_cast<unsigned char>(text[at])] : '\0';
}

// The codes of the words of some documents, in the order of the text; words that the table does not have stand apart.
struct TextBlock {
  std::vector<WordCode> codes;
  std::vector<std::size_t> ends;
  std::vector<std::string> missing;
  CountedTexts counted;
};

std::string_view view_of(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

// Calls each(word) for words that each end with word_end.
template <class Each>
void for_words(std::string_view bytes, Each&& each) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find(word_end);
    require(end != std::string_view::npos, "every word must end with the byte 0xff");
    require(end < std::numeric_limits<std::uint32_t>::max(), "a word is too long");
    each(bytes.substr(0, end));
    bytes.remove_prefix(end + 1);
  }
}

class TextReader {
 public:
  TextReader(const WordCodes& table, const Splitting& how, TextBlock& out) : table_(table), how_(how), out_(out) {}

  void words(std::string_view bytes) {
    for_words(bytes, [&](std::string_view word) { put(word, false); });
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
    const WordCodes::Entry* found = table_.find(word);
    if (found != nullptr && stops && found->stop) {
      if (found->stop_code != no_code) {
        out_.codes.push_back(found->stop_code);
        return;
      }
      marked_.assign(1, stop_mark).append(word);
      word = marked_;
      found = table_.find(word);
    }
    if (found != nullptr && found->code != no_code) {
      out_.codes.push_back(found->code);
      return;
    }
    out_.codes.push_back(unresolved);
    out_.missing.emplace_back(word);
  }

  const WordCodes& table_;
  const Splitting& how_;
  TextBlock& out_;
  std::string word_, marked_;
};

// Gives numbers to the words that the table lacked, in the order in which they came.
std::int32_t resolve(WordCodes& table, TextBlock& block, std::int32_t next, std::string& new_words) {
  auto word = block.missing.begin();
  for (WordCode& code : block.codes) {
    if (code != unresolved) continue;
    code = table.put(*word).code;
    if (code == no_code) {
      code = next++;
      table.set_code(*word, code);
      new_words.append(*word).push_back(word_end);
    }
    ++word;
  }
  return next;
}

void count_block(TextBlock& block) {
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

// One document after the other in `bytes`, document i ending at ends[i]. Where split[i] is set it is an ASCII text,
// else words that each end with word_end. Words that the table does not have are added to it with numbers from `next`
// on, in the order in which they come, so the result does not depend on the number of threads.
CountedTexts count_texts(WordCodes& table, std::string_view bytes, const std::int64_t* ends, const std::uint8_t* split,
                         std::int64_t documents, const Splitting& how, std::int32_t next, int threads, Watch& watch) {
  const std::int64_t count = (documents + documents_a_block - 1) / documents_a_block;
  std::vector<TextBlock> blocks(at(count));
  const auto read = [&](std::int64_t number, int) {
    TextReader reader(table, how, blocks[at(number)]);
    const std::int64_t last = std::min((number + 1) * documents_a_block, documents);
    for (std::int64_t i = number * documents_a_block; i < last; ++i) {
      const std::int64_t begin = i == 0 ? 0 : ends[i - 1];
      const auto document = bytes.substr(at(begin), at(ends[i] - begin));
      if (split[i] != 0) {
        reader.text(document);
      } else {
        reader.words(document);
      }
    }
  };
  for_blocks(count, threads, read, watch);
  CountedTexts all;
  for (TextBlock& block : blocks) next = resolve(table, block, next, all.new_words);
  for_blocks(count, threads, [&](std::int64_t number, int) { count_block(blocks[at(number)]); }, watch);
  for (TextBlock& block : blocks) {
    append_ends(all.indptr, block.counted.indptr);
    append(all.tokens, block.counted.tokens);
    append(all.words, block.counted.words);
    append(all.counts, block.counted.counts);
    block = TextBlock();
  }
  return all;
}

// indptr, words, counts and tokens of each document, and the new words.
using Counted = std::tuple<Made<std::int64_t>, Made<std::int32_t>, Made<std::int32_t>, Made<std::int64_t>, nb::bytes>;

class WordCounter {
 public:
  WordCounter(const nb::bytes& words, const In<std::int32_t>& codes, const nb::bytes& stop, bool lowercase,
              std::int64_t min_length)
      : how_{lowercase, min_length} {
    enter(words, codes);
    for_words(view_of(stop), [&](std::string_view word) { table_.put(word).stop = true; });
  }

  // Whoever waits for the lock does so without the GIL, which its holder may ask for.
  void add(const nb::bytes& words, const In<std::int32_t>& codes) {
    run_native([&](Watch&) {
      const std::lock_guard lock(mutex_);
      enter(words, codes);
    });
  }

  std::int64_t longest_run() {
    std::int64_t found = 0;
    run_native([&](Watch&) {
      const std::lock_guard lock(mutex_);
      found = table_.longest_run();
    });
    return found;
  }

  Counted count(const nb::bytes& bytes, const In<std::int64_t>& ends, const In<std::uint8_t>& split, std::int32_t next,
                int threads) {
    require(ends.length() == split.length(), "ends and split must agree in length");
    require(next >= 0 && next < largest_code, "next must be a number that fits");
    const std::int64_t size = static_cast<std::int64_t>(bytes.size());
    require(size < largest_code / 2, "too many bytes at once");
    for (std::int64_t i = 0; i < ends.length(); ++i) {
      require(ends.data()[i] >= (i == 0 ? 0 : ends.data()[i - 1]) && ends.data()[i] <= size,
              "ends must rise and stay in the bytes");
    }
    CountedTexts found;
    const int limit = thread_limit(threads);
    run_native([&](Watch& watch) {
      const std::lock_guard lock(mutex_);
      found = count_texts(table_, view_of(bytes), ends.data(), split.data(), ends.length(), how_, next, limit, watch);
    });
    return {as_array(std::move(found.indptr)), as_array(std::move(found.words)), as_array(std::move(found.counts)),
            as_array(std::move(found.tokens)), nb::bytes(found.new_words.data(), found.new_words.size())};
  }

 private:
  void enter(const nb::bytes& words, const In<std::int32_t>& codes) {
    std::int64_t at = 0;
    for_words(view_of(words), [&](std::string_view word) {
      require(at < codes.length(), "one code for each word");
      const WordCode code = codes.data()[at];
      require(code >= 0 && code < largest_code, "codes must not be negative");
      table_.set_code(word, code);
      ++at;
    });
    require(at == codes.length(), "one code for each word");
  }

  WordCodes table_;
  Splitting how_;
  std::mutex mutex_;
};

}  // namespace

void bind_texts(nb::module_& m) {
  nb::class_<WordCounter>(m, "WordCounter")
      .def(nb::init<const nb::bytes&, const In<std::int32_t>&, const nb::bytes&, bool, std::int64_t>(), "words"_a,
           "codes"_in, "stop"_a, "lowercase"_a, "min_length"_a)
      .def_prop_ro("longest_run", &WordCounter::longest_run, "As far as a search in the table may go.")
      .def("add", &WordCounter::add, "words"_a, "codes"_in)
      .def("count", &WordCounter::count, "bytes"_a, "ends"_in, "split"_in, "next"_a, "threads"_a,
           "Documents as bags of words: indptr, words, counts and the tokens of each document; and the new words.");
}

}  // namespace wordferry
