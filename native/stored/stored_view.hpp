// Inverted lists as Python hands them over.
#pragma once

#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "stored/stored_lists.hpp"
#include "support/bind.hpp"

namespace wordferry {

// Lists that are mapped from files: lengths are checked here, every offset when it is used. Holds on to its arrays.
class StoredWordLists {
 public:
  template <class Count>
  StoredWordLists(std::int64_t documents, In<std::int64_t> blocks, In<std::int32_t> words, In<std::int64_t, 2> starts,
                  In<std::uint16_t> rows, In<Count> counts, In<std::int64_t> bit_blocks, In<std::int32_t> bit_words,
                  In<std::int32_t> bit_sizes, In<std::uint16_t> bits)
      : documents_(documents), blocks_(std::move(blocks)), words_(std::move(words)), starts_(std::move(starts)),
        rows_(std::move(rows)), counts_(std::move(counts)), bit_blocks_(std::move(bit_blocks)),
        bit_words_(std::move(bit_words)), bit_sizes_(std::move(bit_sizes)), bits_(std::move(bits)) {
    require(documents >= 0, "the number of documents must not be negative");
    require(blocks_.length() == blocks_for(documents) + 1 && bit_blocks_.length() == blocks_.length(),
            "one block for each 65,536 rows");
    require(starts_.length() == words_.length() + 1 && starts_.length(1) == 2, "words and starts must agree");
    require(bit_words_.length() == bit_sizes_.length(), "one size for each word with bits");
    counted_ = std::get<In<Count>>(counts_).length();
    std::vector<WordTable> tables;
    for (std::int64_t block = 0; block + 1 < blocks_.length(); ++block) {
      const std::int64_t first = blocks_.data()[block], last = blocks_.data()[block + 1];
      const bool inside = first >= 0 && first <= last && last <= words_.length();
      tables.push_back(inside ? word_table(words_.data() + first, words_.data() + last) : WordTable{});
    }
    tables_ = std::make_shared<const std::vector<WordTable>>(std::move(tables));
  }

  std::int64_t documents() const { return documents_; }

  StoredLists get() const {
    constexpr int widths[] = {1, 2, 4};
    return {blocks_.data(),
            words_.data(),
            starts_.data(),
            rows_.data(),
            std::visit([](const auto& some) -> const void* { return some.data(); }, counts_),
            widths[counts_.index()],
            bit_blocks_.data(),
            bit_words_.data(),
            bit_sizes_.data(),
            bits_.data(),
            blocks_.length() - 1,
            words_.length(),
            rows_.length(),
            counted_,
            bit_words_.length(),
            bits_.length(),
            documents_,
            tables_.get()};
  }

 private:
  std::int64_t documents_, counted_ = 0;
  In<std::int64_t> blocks_;
  In<std::int32_t> words_;
  In<std::int64_t, 2> starts_;
  In<std::uint16_t> rows_;
  std::variant<In<std::uint8_t>, In<std::uint16_t>, In<std::int32_t>> counts_;
  In<std::int64_t> bit_blocks_;
  In<std::int32_t> bit_words_, bit_sizes_;
  In<std::uint16_t> bits_;
  std::shared_ptr<const std::vector<WordTable>> tables_;  // the copies of a view share them
};

}  // namespace wordferry
