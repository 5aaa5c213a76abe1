// What the touched words of a query save in each row of a block of 65,536 rows.
#pragma once

#include <cstdint>
#include <vector>

#include "nearest/pruned.hpp"
#include "relaxed/touched.hpp"
#include "stored/bit_sums.hpp"
#include "support/watch.hpp"

namespace wordferry {

// How a distance is made of Rel-RWMD and the cosine distance: moved * the one + unshared * the other. `unit` are the
// query's words as a vector of length 1, in their order. Cosine distances below `lost` are computed again from the
// differences of the vectors, because 1 less the product has too few digits.
struct CosineShare {
  const float* unit = nullptr;  // none for Rel-RWMD alone
  std::int64_t words = 0;
  float moved = 1.0f, unshared = 0.0f, lost = 0.0f;
};

// A query with its share of the cosine distance.
struct BlendedQuery {
  TouchedQuery words;
  CosineShare cosine;
};

// The touched words of a query, rising, with what their lists save.
struct ListedWord {
  std::int32_t word;
  float near;  // as in TouchedWords
  float gain;
  float common;
  float product;  // what one occurrence adds to the product with the query, where cosine has a share
};

class ListedWords {
 public:
  // Those of the query's words that documents have and that weigh something.
  ListedWords(const BlendedQuery& query, const WordWeights& weights);
  const std::vector<ListedWord>& words() const { return words_; }
  // What the heaviest of them weighs, at least a little; to be asked before some of them are let stay.
  float heaviest(float c_max) const;
  // The largest product, at least a little.
  float largest_product() const;
  // Words of which the query has at least this mass are taken to stay as a whole, as they do in most documents. That
  // makes bounds lower, and cheaper.
  void let_stay(float mass);

 private:
  std::vector<ListedWord> words_;
};

// What a block has of the listed words.
struct BlockWords {
  struct List {
    ListedRows rows;
    std::size_t word;  // its place among the listed words
  };
  std::vector<List> lists, bits;
  std::vector<BlockLists::Places> places;
  std::int64_t groups = 0;

  void find(const StoredLists& stored, std::int64_t block, const ListedWords& words);
};

// How much of the lists a search has looked at.
struct Visited {
  std::int64_t entries = 0;
  double nanoseconds = 0.0;  // about what that took
};

// The memory belongs to a thread.
class BlockSums {
 public:
  static BlockSums& of_this_thread();

  // What the bounds of all blocks are made of: a word that is not touched costs c_max, no touched word weighs more than
  // `heaviest`, and none adds more than `largest_product` to a product.
  struct Scale {
    float c_max, heaviest, largest_product;
    CosineShare cosine;
  };
  void begin(const SearchedPart& part, std::int64_t block, const Scale& scale);

  // Sums up lists of that block.
  void add(const StoredLists& lists, std::int64_t block, const ListedWords& words, Visited& visited, Watch& watch);

  // Takes out the allowed rows with the lowest bounds, at most `count` of them: they come with no later call.
  std::vector<NearRow> take_lowest(std::int64_t count);

  // Appends the allowed rows whose bound does not exceed the limit.
  void collect(float limit, std::vector<NearRow>& rows) const;

 private:
  bool allowed(std::int64_t row) const { return allowed_ == nullptr || allowed_[row]; }
  float bound(std::int64_t row) const;
  // Sums of one kind, in units and rounded up, so that no bound is too high.
  struct Sums {
    std::vector<std::int32_t> rows;
    float units = 1.0f;       // of 1
    std::int32_t coarse = 1;  // units in one of those in which bits are summed up
    void scale(float largest, float most, float longest);
  };
  void add_list(const ListedRows& list, int width, float gain, const ListedWord* staying, Sums& sums);
  void add_gains(const ListedWords& words, float ListedWord::* gain, Sums& sums, Watch& watch);
  void add_staying(const ListedWords& words, Watch& watch);

  Sums saved_, products_;
  BlockRows block_;
  BlockWords found_;
  std::vector<WeighedBits> weighed_;
  float c_max_ = 0.0f;
  float rest_ = 0.0f, scale_ = 1.0f;  // a row that saves nothing is at scale * rest
  float share_ = 0.0f;                // how much a product of 1 saves
  const float* norms_ = nullptr;      // of the rows of the block; none where cosine has no share
  const bool* allowed_ = nullptr;
  std::int64_t start_ = 0, rows_ = 0;
};

}  // namespace wordferry
