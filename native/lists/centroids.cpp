#include "lists/centroids.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "support/at.hpp"
#include "support/cpu.hpp"
#include "support/lanes.hpp"

namespace wordferry {

namespace {

constexpr double rounding = 1e-7;      // of lengths that are differences, relative to those they are made of
constexpr float below = 1.0f - 2e-5f;  // times a length in float32: no longer than the true one
constexpr float cut_short = 127.0f;     // the note of a code that is off by more than can be noted
constexpr float far_off = 1e30f;

// The centroid of one row of a part; `total` is 0 for a row without words. False when the row leads outside.
bool centroid_of(const SearchedPart& part, std::int64_t row, const Vectors& vectors, double* sum, float& total) {
  std::fill(sum, sum + vectors.dimensions, 0.0);
  total = part.bags.totals[row];
  return part.bags.read(row, vectors.words, [&](const auto* words, const auto* counts, std::int64_t size) {
    for (std::int64_t k = 0; k < size && total > 0.0f; ++k) {
      add_vector(vectors.data + words[k] * vectors.dimensions, vectors.dimensions, mass_of(counts[k], total), sum);
    }
  });
}

WF_CLONES
void add_scaled(const double* from, std::int64_t count, double factor, double* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] += factor * from[i];
}

// Places centroids along the axes of a frame.
class Axes {
 public:
  explicit Axes(const CodeFrame& frame) : frame_(frame), turned_(at(frame.dimensions * axes())) {
    for (std::int64_t a = 0; a < axes(); ++a) {
      for (std::int64_t d = 0; d < frame.dimensions; ++d) turned_[at(d * axes() + a)] = frame.axes[a * frame.dimensions + d];
    }
  }

  // The coordinates of a centroid, with the length of what lies outside of all axes as the last one. Returns its length.
  double place(const double* centroid, double* point) const {
    double squares = 0.0, covered = 0.0;
    std::fill(point, point + frame_.coordinates, 0.0);
    for (std::int64_t d = 0; d < frame_.dimensions; ++d) {
      const double away = centroid[d] - frame_.mean[d];
      squares += away * away;
      add_scaled(turned_.data() + d * axes(), axes(), away, point);
    }
    for (std::int64_t a = 0; a < axes(); ++a) covered += point[a] * point[a];
    point[axes()] = std::sqrt(std::max(squares - covered, 0.0));
    return std::sqrt(squares);
  }

 private:
  std::int64_t axes() const { return frame_.coordinates - 1; }

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

// out[lane] = a length that no distance of the sixteen documents of a group to the point falls below.
WF_CLONES
void group_bounds(const std::int8_t* codes, const float* point, const float* steps, std::int64_t coordinates,
                  float error_step, float rounded, float* out) {
  Lanes sums, step, off;
  fill_lanes(sums, 0.0f);
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
  std::vector<float> point, steps;
  float rounded;  // what turning coordinates to float32 and the last one's own rounding can add
};

PlacedQuery placed(const CodeFrame& frame, const double* centroid) {
  std::vector<double> point(static_cast<std::size_t>(frame.coordinates));
  const double length = Axes(frame).place(centroid, point.data());
  return {std::vector<float>(point.begin(), point.end()),
          std::vector<float>(frame.steps, frame.steps + frame.coordinates), static_cast<float>(4.0 * rounding * length)};
}

// The bounds of one block of rows, in the memory of this thread.
class CodeBounds {
 public:
  CodeBounds(const SearchedPart& part, const CodedPart& coded, const PlacedQuery& query, std::int64_t block)
      : allowed_(part.allowed), first_(block * list_block_rows), start_(part.start),
        rows_(std::min(list_block_rows, part.bags.rows - first_)), bounds_(memory()) {
    const CodeFrame& frame = coded.frame;
    const std::int64_t size = (frame.coordinates + 1) * code_group;
    const auto error_step = static_cast<float>(frame.error_step * (1.0 + rounding));
    for (std::int64_t low = 0; low < rows_; low += code_group) {
      group_bounds(coded.codes + (first_ + low) / code_group * size, query.point.data(), query.steps.data(),
                   frame.coordinates, error_step, query.rounded, bounds_.data() + low);
    }
  }

  bool sound() const { return true; }

  void take_lowest(std::size_t count, std::vector<NearRow>& rows) const {
    std::vector<NearRow> all;
    collect(std::numeric_limits<float>::infinity(), all);
    const std::size_t some = std::min(count, all.size());
    std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(some), all.end(), nearer);
    rows.assign(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(some));
    for (const NearRow& one : rows) bounds_[static_cast<std::size_t>(one.row - start_ - first_)] = -1.0f;
  }

  void collect(float limit, std::vector<NearRow>& rows) const {
    for (std::int64_t i = 0; i < rows_; ++i) {
      const float bound = bounds_[static_cast<std::size_t>(i)];
      if (bound > limit || bound < 0.0f || (allowed_ != nullptr && allowed_[first_ + i] == 0)) continue;
      rows.push_back({bound, start_ + first_ + i});
    }
  }

 private:
  static std::vector<float>& memory() {
    static thread_local std::vector<float> bounds(static_cast<std::size_t>(list_block_rows));
    return bounds;
  }

  const std::uint8_t* allowed_;
  std::int64_t first_, start_, rows_;
  std::vector<float>& bounds_;
};

bool distance_to(const std::vector<SearchedPart>& parts, const Vectors& vectors, const double* centroid,
                 std::int64_t row, std::vector<double>& sum, float& distance) {
  const SearchedPart& part = part_of(parts, row);
  float total = 0.0f;
  if (!centroid_of(part, row - part.start, vectors, sum.data(), total)) return false;
  double squares = 0.0;
  for (std::int64_t d = 0; d < vectors.dimensions; ++d) {
    const double off = centroid[d] - sum[static_cast<std::size_t>(d)];
    squares += off * off;
  }
  distance = total > 0.0f ? static_cast<float>(std::sqrt(squares)) : std::numeric_limits<float>::infinity();
  return true;
}

}  // namespace

WF_CLONES
void add_vector(const float* vector, std::int64_t dimensions, float mass, double* sum) {
  for (std::int64_t d = 0; d < dimensions; ++d) sum[d] += static_cast<double>(mass) * static_cast<double>(vector[d]);
}

bool centroids_of(const std::vector<SearchedPart>& parts, const Vectors& vectors, const std::int64_t* rows,
                  std::int64_t count, double* out, Watch& watch) {
  Pace pace(watch);
  for (std::int64_t i = 0; i < count; ++i) {
    pace.spend(1 << 10);
    const SearchedPart& part = part_of(parts, rows[i]);
    float total = 0.0f;
    if (!centroid_of(part, rows[i] - part.start, vectors, out + i * vectors.dimensions, total)) return false;
  }
  return true;
}

bool encode_centroids(const SearchedPart& part, const Vectors& vectors, const CodeFrame& frame, std::int8_t* codes,
                      int threads, Watch& watch) {
  constexpr std::int64_t block_rows = 1024;
  const Axes axes(frame);
  std::atomic<bool> sound{true};
  const auto body = [&](std::int64_t block, int) {
    std::vector<double> sum(static_cast<std::size_t>(vectors.dimensions));
    std::vector<double> point(static_cast<std::size_t>(frame.coordinates));
    Pace pace(watch);
    for (std::int64_t row = block * block_rows; row < std::min((block + 1) * block_rows, part.bags.rows); ++row) {
      float total = 0.0f;
      pace.spend(1 << 12);
      if (!centroid_of(part, row, vectors, sum.data(), total)) {
        sound = false;
        return;
      }
      std::int8_t* const group = codes + row / code_group * code_group * (frame.coordinates + 1);
      encode(frame, point.data(), axes.place(sum.data(), point.data()), group + row % code_group);
    }
  };
  std::fill(codes, codes + frame.bytes(part.bags.rows), std::int8_t{0});
  for_blocks((part.bags.rows + block_rows - 1) / block_rows, threads, body, watch);
  return sound;
}

bool nearest_by_codes(const std::vector<SearchedPart>& parts, const std::vector<CodedPart>& codes,
                      const Vectors& vectors, const double* centroid, std::int64_t k, int threads, NearestRows& found,
                      Watch& watch) {
  const std::vector<RowBlock> blocks = blocks_of(parts);
  if (blocks.empty() || k <= 0) return true;
  std::vector<PlacedQuery> queries;
  for (const CodedPart& one : codes) queries.push_back(placed(one.frame, centroid));
  std::vector<double> sum(static_cast<std::size_t>(vectors.dimensions));
  Compared compared(k, [&](std::int64_t row, float& distance) {
    return distance_to(parts, vectors, centroid, row, sum, distance);
  });
  const auto bounded = [&](std::int64_t at) {
    const RowBlock& block = blocks[static_cast<std::size_t>(at)];
    watch.check();
    return CodeBounds(parts[block.part], codes[block.part], queries[block.part], block.number);
  };
  if (!nearest_by_bounds(static_cast<std::int64_t>(blocks.size()), bounded, compared, k, 0.0f, threads, watch)) {
    return false;
  }
  found.evaluated = compared.evaluated();
  found.best = std::move(compared).sorted();
  return true;
}

bool centroid_distances(const std::vector<SearchedPart>& parts, const Vectors& vectors, const double* centroid,
                        const std::int64_t* rows, std::int64_t count, float* out, Watch& watch) {
  std::vector<double> sum(static_cast<std::size_t>(vectors.dimensions));
  Pace pace(watch);
  for (std::int64_t i = 0; i < count; ++i) {
    pace.spend(1 << 12);
    if (!distance_to(parts, vectors, centroid, rows[i], sum, out[i])) return false;
  }
  return true;
}

}  // namespace wordferry
