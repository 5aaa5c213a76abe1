#include <nanobind/stl/tuple.h>

#include <limits>
#include <mutex>
#include <tuple>
#include <utility>

#include "support/bind.hpp"
#include "texts/word_counts.hpp"

namespace wordferry {

namespace {

constexpr std::int32_t largest_code = std::numeric_limits<std::int32_t>::max() / 2;

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
