#include "centroids/centroid.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "support/at.hpp"
#include "support/lanes.hpp"

namespace wordferry {

namespace {

constexpr double rounding = 1e-7;      // of lengths that are differences, relative to those they are made of
constexpr float below = 1.0f - 2e-5f;  // times a length in float32: no longer than the true one
constexpr float cut_short = 127.0f;    // the note of a code that is off by more than can be noted
constexpr float far_off = 1e30f;

// to += the rows of a matrix, each times its factor.
void add_rows(const double* matrix, const double* factors, std::int64_t rows, std::int64_t columns, double* to) {
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c) to[c] += factors[r] * matrix[r * columns + c];
  }
}

// Places centroids along the axes of a frame.
class Axes {
 public:
  explicit Axes(const CodeFrame& frame) : frame_(frame), turned_(at(frame.dimensions * axes())) {
    for (std::int64_t a = 0; a < axes(); ++a) {
      for (std::int64_t d = 0; d < frame.dimensions; ++d)
        turned_[at(d * axes() + a)] = frame.axes[a * frame.dimensions + d];
    }
  }

  // The coordinates of a centroid, and its length. `apart` is the square of what words without a vector add to it.
  double place(const double* centroid, double apart, double* point) const {
    double squares = 0.0, covered = 0.0;
    std::fill(point, point + frame_.coordinates, 0.0);
    std::vector<double> away(at(frame_.dimensions));
    for (std::int64_t d = 0; d < frame_.dimensions; ++d) {
      const double off = centroid[d] - frame_.mean[d];
      squares += off * off;
      away[at(d)] = off;
    }
    add_rows(turned_.data(), away.data(), frame_.dimensions, axes(), point);
    for (std::int64_t a = 0; a < axes(); ++a) covered += point[a] * point[a];
    point[axes()] = std::sqrt(std::max(squares - covered, 0.0) + (frame_.has_apart() ? 0.0 : apart));
    if (frame_.has_apart()) point[axes() + 1] = std::sqrt(apart);
    return std::sqrt(squares + apart);
  }

 private:
  std::int64_t axes() const { return frame_.axis_count; }

  const CodeFrame& frame_;
  std::vector<double> turned_;  // [dimensions][axes]: sums of all axes are made side by side
};

// Writes the code of a point to its lane of a group.
void encode(const CodeFrame& frame, const double* point, double length, std::int8_t* lane) {
  double squares = 0.0;
  for (std::int64_t c = 0; c < frame.coordinates; ++c) {
    const double code = std::clamp(std::nearbyint(point[c] / frame.steps[c]), -127.0, 127.0);
    lane[c * code_group] = static_cast<std::int8_t>(code);
    const double off = point[c] - code * frame.steps[c];
    squares += off * off;
  }
  const double error = std::sqrt(squares) * (1.0 + rounding) + rounding * length;
  const double note = std::min(std::ceil(error / frame.error_step), static_cast<double>(cut_short));
  lane[frame.coordinates * code_group] = static_cast<std::int8_t>(note);
}

// out[lane] = a length that no distance of the sixteen documents of a group to the point falls below; `aside` is the
// square of what the query has in a dimension in which no document has anything.
void group_bounds(const std::int8_t* codes, const float* point, const float* steps, std::int64_t coordinates,
                  float aside, float error_step, float rounded, float* out) {
  Lanes sums, step, off;
  fill_lanes(sums, aside);
  for (std::int64_t c = 0; c < coordinates; ++c) {
    fill_lanes(step, steps[c]);
    load(off, codes + c * code_group);
    off = point[c] - step * off;
    sums += off * off;
  }
  float squares[code_group], notes[code_group];
  store(squares, sums);
  load(off, codes + coordinates * code_group);
  store(notes, off);
  for (std::int64_t l = 0; l < code_group; ++l) {
    const float error = notes[l] < cut_short ? notes[l] * error_step + rounded : far_off;
    const float bound = std::sqrt(squares[l]) * below - error;
    out[l] = bound > 0.0f ? bound : 0.0f;
  }
}

// A query along the axes of a part.
struct PlacedQuery {
  // As documents see it that have some of its words without a vector. For all others what these words add stands at
  // right angles to what their own ones do: `apart` is its square, and the last coordinate of `point` is then 0.
  std::vector<float> shared, point, steps;
  float apart;
  float rounded;  // what turning coordinates to float32 and the last one's own rounding can add
};

PlacedQuery placed(const CodeFrame& frame, const double* centroid, double apart) {
  std::vector<double> place(static_cast<std::size_t>(frame.coordinates));
  const double length = Axes(frame).place(centroid, apart, place.data());
  const std::vector<float> shared(place.begin(), place.end());
  PlacedQuery query{shared, shared, std::vector<float>(frame.steps, frame.steps + frame.coordinates), 0.0f,
                    static_cast<float>(4.0 * rounding * length)};
  if (frame.has_apart()) {
    query.point.back() = 0.0f;
    query.apart = static_cast<float>(apart);
  }
  return query;
}

// The bounds of one block of rows, in the memory of this thread.
class CodeBounds {
 public:
  CodeBounds(const SearchedPart& part, const CodedPart& coded, const PlacedQuery& query, std::int64_t block)
      : allowed_(part.allowed), first_(block * list_block_rows), start_(part.start),
        rows_(std::min(list_block_rows, part.bags.rows - first_)), bounds_(memory()) {
    for (std::int64_t low = 0; low < rows_; low += code_group) {
      bound(coded, low, query.point, query.apart, query, bounds_.data() + low);
    }
  }

  // Bounds the documents again that have words without a vector of the query.
  void look_up(const StoredLists& lists, std::int64_t block, const CentroidTarget& target, const CodedPart& coded,
               const PlacedQuery& query) {
    const BlockLists all(lists, block);
    sound_ = all.sound();
    ListedRows found;
    std::vector<std::uint16_t> sharing(static_cast<std::size_t>(list_block_rows / code_group), 0);
    static_assert(code_group == number_rows);  // a number has a bit for each document of a group
    for (std::size_t i = 0; i < target.apart.size() && sound_; ++i) {
      sound_ = all.find(target.apart[i].word, found);
      if (!sound_) return;
      for (std::int64_t j = 0; j < found.size; ++j) {
        std::uint16_t& group = sharing[found.rows[j] / static_cast<std::size_t>(code_group)];
        group = static_cast<std::uint16_t>(group | (1u << (found.rows[j] % code_group)));
      }
      const std::int64_t most = list_block_rows / code_group;
      const std::int64_t numbers = found.bits == nullptr ? 0 : std::min(all.groups() * group_numbers, most);
      for (std::int64_t n = 0; n < numbers; ++n) {
        std::uint16_t& group = sharing[static_cast<std::size_t>(n)];
        group = static_cast<std::uint16_t>(group | found.bits[n]);
      }
    }
    float again[code_group];
    for (std::int64_t low = 0; low < rows_; low += code_group) {
      const std::uint16_t lanes = sharing[static_cast<std::size_t>(low / code_group)];
      if (lanes == 0) continue;
      bound(coded, low, query.shared, 0.0f, query, again);
      for (std::int64_t l = 0; l < code_group; ++l) {
        if ((lanes >> l & 1) != 0) bounds_[static_cast<std::size_t>(low + l)] = again[l];
      }
    }
  }

  bool sound() const { return sound_; }

  // A bound of 0 mostly says that nothing is known of a document, so that others are taken before it.
  void take_lowest(std::size_t count, std::vector<NearRow>& rows) const {
    rows.clear();
    for (std::int64_t i = 0; i < rows_; ++i) {
      const NearRow one{bounds_[static_cast<std::size_t>(i)], start_ + first_ + i};
      if (!(one.distance > 0.0f) || (rows.size() == count && !nearer(one, rows.front())) || !allowed(i)) continue;
      if (rows.size() == count) {
        std::pop_heap(rows.begin(), rows.end(), nearer);
        rows.back() = one;
      } else {
        rows.push_back(one);
      }
      std::push_heap(rows.begin(), rows.end(), nearer);
    }
    for (std::int64_t i = 0; i < rows_ && rows.size() < count; ++i) {
      const float bound = bounds_[static_cast<std::size_t>(i)];
      if (!(bound > 0.0f) && allowed(i)) rows.push_back({bound, start_ + first_ + i});
    }
    for (const NearRow& one : rows) bounds_[static_cast<std::size_t>(one.row - start_ - first_)] = -1.0f;
  }

  void collect(float limit, std::vector<NearRow>& rows) const {
    for (std::int64_t i = 0; i < rows_; ++i) {
      const float bound = bounds_[static_cast<std::size_t>(i)];
      if (bound > limit || bound < 0.0f || !allowed(i)) continue;
      rows.push_back({bound, start_ + first_ + i});
    }
  }

 private:
  bool allowed(std::int64_t row) const { return allowed_ == nullptr || allowed_[first_ + row] != 0; }

  // The bounds of the documents of the group that begins with a row.
  void bound(const CodedPart& coded, std::int64_t row, const std::vector<float>& point, float aside,
             const PlacedQuery& query, float* out) const {
    const CodeFrame& frame = coded.frame;
    const std::int8_t* const codes = coded.codes + (first_ + row) / code_group * code_group * (frame.coordinates + 1);
    const auto error_step = static_cast<float>(frame.error_step * (1.0 + rounding));
    group_bounds(codes, point.data(), query.steps.data(), frame.coordinates, aside, error_step, query.rounded, out);
  }

  static std::vector<float>& memory() {
    static thread_local std::vector<float> bounds(static_cast<std::size_t>(list_block_rows));
    return bounds;
  }

  const bool* allowed_;
  std::int64_t first_, start_, rows_;
  std::vector<float>& bounds_;
  bool sound_ = true;
};

bool distance_to(const std::vector<SearchedPart>& parts, const CentroidTarget& query, double apart, std::int64_t row,
                 Centroid& document, float& distance) {
  const SearchedPart& part = part_of(parts, row);
  if (!document.read(part, row - part.start)) return false;
  double squares = apart > 0.0 ? apart * document.apart_squares(query) : 0.0;
  for (std::size_t d = 0; d < query.centroid.size(); ++d) {
    const double off = query.centroid[d] - document.sum()[d];
    squares += off * off;
  }
  distance = document.empty() ? std::numeric_limits<float>::infinity() : static_cast<float>(std::sqrt(squares));
  return true;
}

}  // namespace

void add_vector(const float* vector, std::int64_t dimensions, float mass, double* sum) {
  for (std::int64_t d = 0; d < dimensions; ++d) sum[d] += static_cast<double>(mass) * static_cast<double>(vector[d]);
}

bool centroids_of(const std::vector<SearchedPart>& parts, const WordVectors& vectors, const std::int64_t* rows,
                  std::int64_t count, double* out, double* apart, Watch& watch) {
  Pace pace(watch);
  Centroid centroid(vectors);
  for (std::int64_t i = 0; i < count; ++i) {
    pace.spend(1 << 10);
    const SearchedPart& part = part_of(parts, rows[i]);
    if (!centroid.read(part, rows[i] - part.start)) return false;
    std::copy(centroid.sum().begin(), centroid.sum().end(), out + i * vectors.dimensions);
    apart[i] = std::sqrt(vectors.apart * centroid.apart_squares());
  }
  return true;
}

bool encode_centroids(const SearchedPart& part, const WordVectors& vectors, const CodeFrame& frame, std::int8_t* codes,
                      int threads, Watch& watch) {
  constexpr std::int64_t block_rows = 1024;
  const Axes axes(frame);
  const std::int64_t rows = part.bags.rows;
  std::atomic<bool> sound{true};
  const auto body = [&](std::int64_t block, int) {
    Centroid centroid(vectors);
    std::vector<double> point(static_cast<std::size_t>(frame.coordinates));
    Pace pace(watch);
    for (std::int64_t row = block * block_rows; row < std::min((block + 1) * block_rows, rows); ++row) {
      pace.spend(1 << 12);
      if (!centroid.read(part, row)) {
        sound = false;
        return;
      }
      std::int8_t* const group = codes + row / code_group * code_group * (frame.coordinates + 1);
      const double apart = vectors.apart * centroid.apart_squares();
      encode(frame, point.data(), axes.place(centroid.sum().data(), apart, point.data()), group + row % code_group);
    }
  };
  std::fill(codes, codes + frame.bytes(rows), std::int8_t{0});
  for_blocks((rows + block_rows - 1) / block_rows, threads, body, watch);
  return sound;
}

bool nearest_by_codes(const std::vector<SearchedPart>& parts, const std::vector<CodedPart>& codes,
                      const WordVectors& vectors, const CentroidTarget& query, std::int64_t k, int threads,
                      NearestDocuments& found, Watch& watch) {
  const std::vector<RowBlock> blocks = blocks_of(parts);
  if (blocks.empty() || k <= 0) return true;
  double squares = query.new_squares;
  for (const MassApart& one : query.apart) squares += static_cast<double>(one.mass) * static_cast<double>(one.mass);
  std::vector<PlacedQuery> queries;
  for (const CodedPart& coded : codes) {
    queries.push_back(placed(coded.frame, query.centroid.data(), vectors.apart * squares));
  }
  Centroid document(vectors);
  Compared compared(k, [&](std::int64_t row, float& distance) {
    return distance_to(parts, query, vectors.apart, row, document, distance);
  });
  const auto bounded = [&](std::int64_t at) {
    const RowBlock& block = blocks[static_cast<std::size_t>(at)];
    watch.check();
    const CodedPart& coded = codes[block.part];
    CodeBounds bounds(parts[block.part], coded, queries[block.part], block.number);
    if (coded.frame.has_apart()) {
      bounds.look_up(parts[block.part].lists, block.number, query, coded, queries[block.part]);
    }
    return bounds;
  };
  if (!nearest_by_bounds(static_cast<std::int64_t>(blocks.size()), bounded, compared, k, 0.0f, threads, watch)) {
    return false;
  }
  found.evaluated = compared.evaluated();
  found.best = std::move(compared).sorted();
  return true;
}

bool centroid_distances(const std::vector<SearchedPart>& parts, const WordVectors& vectors, const CentroidTarget& query,
                        const std::int64_t* rows, std::int64_t count, float* out, Watch& watch) {
  Centroid document(vectors);
  Pace pace(watch);
  for (std::int64_t i = 0; i < count; ++i) {
    pace.spend(1 << 12);
    if (!distance_to(parts, query, vectors.apart, rows[i], document, out[i])) return false;
  }
  return true;
}

}  // namespace wordferry
