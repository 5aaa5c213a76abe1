#include <cmath>
#include <type_traits>
#include <utility>

#include "related/join.hpp"
#include "support/at.hpp"
#include "support/bind.hpp"

namespace wordferry {

namespace {

using Numbers = In<std::int32_t>;
using NumberRows = In<std::int32_t, 2>;
using Values = In<float>;
using ValueRows = In<float, 2>;

// New words that are joined to known ones. What changes is found first and written after that, so that the caller can
// provide the memory for it.
class Joining {
 public:
  Joining(ValueRows vectors, In<std::int64_t> words, NumberRows own, ValueRows distances, NumberRows later_own,
          ValueRows later_distances, Numbers places, int threads)
      : vectors_(std::move(vectors)), words_(std::move(words)), own_(std::move(own)), distances_(std::move(distances)),
        later_own_(std::move(later_own)), later_distances_(std::move(later_distances)), places_(std::move(places)) {
    const std::int64_t r = own_.length(1), most = std::int64_t{1} << 31;
    require(r >= 1 && later_own_.length(1) == r, "lists must have one length, of at least 1");
    require(distances_.length() == own_.length() && distances_.length(1) == r, "own and distances must have one shape");
    require(later_distances_.length() == later_own_.length() && later_distances_.length(1) == r,
            "later own and distances must have one shape");
    require(words_.length() > places_.length() && words_.length() > r,
            "more words than lists, and than places in a list");
    require(words_.length() < most && own_.length() + later_own_.length() < most, "words must fit in 31 bits");
    const int limit = thread_limit(threads);
    run_native([&](Watch& watch) {
      require_range(words_, 0, vectors_.length(), "a word has no vector");
      require_range(places_, 0, own_.length() + later_own_.length(), "a list is not there");
      for (std::int64_t word = 0; word < places_.length(); ++word) {
        require_range(std::span(lists().list(word), at(r)), 0, places_.length(),
                      "a word in a list is not among the words");
      }
      const Points points{vectors_.data(), nullptr, vectors_.length(1), words_.data()};
      changed_ = join_lists(points, words_.length(), lists(), limit, watch);
      if (changed_.largest < HUGE_VAL) links_ = changed_links(changed_, lists());
    });
  }

  double total() const { return changed_.total; }
  double largest() const { return changed_.largest; }
  std::int64_t rows() const { return static_cast<std::int64_t>(changed_.words.size()); }
  void rank_sums(const Out<double>& out) const {
    require(out.length() == own_.length(1), "one sum for each place of a list");
    std::copy(changed_.rank_sums.begin(), changed_.rank_sums.end(), out.data());
  }

  // The changed lists, which will stand from row `first` on, and where the list of each word is.
  void write_lists(std::int64_t first, const Out<std::int32_t, 2>& own, const Out<float, 2>& distances,
                   const Out<std::int32_t>& places) const {
    require_whole();
    require(own.length() == rows() && own.length(1) == own_.length(1), "own needs a row for each list");
    require(distances.length() == rows() && distances.length(1) == own_.length(1),
            "distances needs a row for each list");
    require(places.length() == words_.length(), "one place for each word");
    require_place(first, rows());
    std::copy(changed_.own.begin(), changed_.own.end(), own.data());
    std::copy(changed_.distances.begin(), changed_.distances.end(), distances.data());
    std::copy(places_.data(), places_.data() + places_.length(), places.data());
    for (std::int64_t row = 0; row < rows(); ++row) {
      places.data()[changed_.words[at(row)]] = static_cast<std::int32_t>(first + row);
    }
  }

  // Finds the rows of the graph that change; returns how many entries they have at most.
  std::int64_t link(Numbers indices, Values data, Numbers later_indices, Values later_data, Numbers starts,
                    Numbers ends) {
    require_whole();
    require(data.length() == indices.length() && later_data.length() == later_indices.length(),
            "indices and data must have one length");
    require(starts.length() == places_.length() && ends.length() == places_.length(), "one span for each word");
    indices_ = std::move(indices), data_ = std::move(data), later_indices_ = std::move(later_indices);
    later_data_ = std::move(later_data), starts_ = std::move(starts), ends_ = std::move(ends);
    require_spans();
    entries_ = changed_entries(links_, links(), places_.length());
    return entries_;
  }

  // Those rows, which will stand from entry `first` on, and where the row of each word is.
  void write_links(std::int64_t first, const Out<std::int32_t>& indices, const Out<float>& data,
                   const Out<std::int32_t>& starts, const Out<std::int32_t>& ends) const {
    require(entries_ >= 0, "there are no links to be written");
    require(indices.length() == entries_ && data.length() == entries_, "room is needed for every entry");
    require(starts.length() == words_.length() && ends.length() == words_.length(), "one span for each word");
    require_place(first, entries_);
    require_spans();  // they may have been changed since
    require(changed_entries(links_, links(), places_.length()) == entries_, "the graph is another one now");
    std::copy(starts_.data(), starts_.data() + starts_.length(), starts.data());
    std::copy(ends_.data(), ends_.data() + ends_.length(), ends.data());
    wordferry::write_links(links_, links(), places_.length(), first, indices.data(), data.data(), starts.data(),
                           ends.data());
  }

 private:
  template <class Array>
  static InTwo<std::remove_const_t<typename Array::Scalar>> in_two(const Array& first, const Array& later) {
    return {first.data(), static_cast<std::int64_t>(first.size()), later.data()};
  }
  OwnLists lists() const {
    return {in_two(own_, later_own_), in_two(distances_, later_distances_), places_.data(), places_.length(),
            own_.length(1)};
  }
  StoredLinks links() const {
    return {in_two(indices_, later_indices_), in_two(data_, later_data_), starts_.data(), ends_.data()};
  }
  void require_whole() const { require(changed_.largest < HUGE_VAL, "the vectors are out of range"); }
  void require_spans() const {
    const std::int64_t entries = indices_.length(), last = entries + later_indices_.length();
    for (std::int64_t word = 0; word < places_.length(); ++word) {
      const std::int64_t start = starts_.data()[word], end = ends_.data()[word];
      require(0 <= start && start <= end && end <= (start < entries ? entries : last),
              "a row of the graph is not there");
    }
  }
  static void require_place(std::int64_t first, std::int64_t count) {
    require(first >= 0 && first < (std::int64_t{1} << 31) - count, "places must fit in 31 bits");
  }

  ValueRows vectors_;
  In<std::int64_t> words_;
  NumberRows own_;
  ValueRows distances_;
  NumberRows later_own_;
  ValueRows later_distances_;
  Numbers places_;
  ChangedLists changed_;
  Numbers indices_, later_indices_, starts_, ends_;
  Values data_, later_data_;
  std::vector<LinkChange> links_;
  std::int64_t entries_ = -1;
};

}  // namespace

void bind_join(nb::module_& m) {
  nb::class_<Joining>(m, "Joining", "New words, compared with all others: the lists and links that change.")
      .def(nb::init<ValueRows, In<std::int64_t>, NumberRows, ValueRows, NumberRows, ValueRows, Numbers, int>(),
           "vectors"_in, "words"_in, "own"_in, "distances"_in, "later_own"_in, "later_distances"_in, "places"_in,
           "threads"_a)
      .def_prop_ro("total", &Joining::total, "The sum of the distances of all ordered pairs that have a new word.")
      .def_prop_ro("largest", &Joining::largest, "The largest squared length of a vector.")
      .def_prop_ro("rows", &Joining::rows, "How many lists change.")
      .def("rank_sums", &Joining::rank_sums, "out"_in,
           "By how much the sums of the distances at each place of all lists grow.")
      .def("write_lists", &Joining::write_lists, "first"_a, "own"_in, "distances"_in, "places"_in,
           "The changed lists, and where all lists are.")
      .def("link", &Joining::link, nb::lock_self(), "indices"_in, "data"_in, "later_indices"_in, "later_data"_in,
           "starts"_in, "ends"_in, "Find the rows of the graph that change; how many entries they have at most.")
      .def("write_links", &Joining::write_links, nb::lock_self(), "first"_a, "indices"_in, "data"_in, "starts"_in,
           "ends"_in, "The changed rows, and where all rows are.");
}

}  // namespace wordferry
