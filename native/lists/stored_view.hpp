// Lists of an index as bound functions take them.
#pragma once

#include <cstdint>
#include <utility>
#include <variant>

#include "lists/stored_words.hpp"
#include "support/arrays.hpp"

namespace wordferry {

// Lists that are mapped from files: lengths are checked here, every offset when it is used. Holds on to its arrays.
class StoredWordLists {
 public:
  template <class Count>
  StoredWordLists(In<std::int64_t> blocks, In<std::int32_t> words, In<std::int64_t> starts, In<std::uint16_t> rows,
                  In<Count> counts)
      : blocks_(std::move(blocks)), words_(std::move(words)), starts_(std::move(starts)), rows_(std::move(rows)),
        counts_(std::move(counts)) {
    require(blocks_.shape(0) >= 1 && starts_.shape(0) == words_.shape(0) + 1, "blocks, words and starts must agree");
    require(rows_.shape(0) == std::get<In<Count>>(counts_).shape(0), "one count for each row of a list");
  }

  std::int64_t blocks() const { return static_cast<std::int64_t>(blocks_.shape(0)) - 1; }

  StoredLists get() const {
    const void* const counts = std::visit([](const auto& some) -> const void* { return some.data(); }, counts_);
    constexpr int widths[] = {1, 2, 4};
    return {{blocks_.data(), words_.data(), starts_.data(), rows_.data(), counts, blocks(),
             static_cast<std::int64_t>(words_.shape(0)), static_cast<std::int64_t>(rows_.shape(0))},
            widths[counts_.index()]};
  }

 private:
  In<std::int64_t> blocks_;
  In<std::int32_t> words_;
  In<std::int64_t> starts_;
  In<std::uint16_t> rows_;
  std::variant<In<std::uint8_t>, In<std::uint16_t>, In<std::int32_t>> counts_;
};

inline std::int64_t blocks_for(std::int64_t rows) { return (rows + list_block_rows - 1) / list_block_rows; }

}  // namespace wordferry
