#include "document_pairs.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace wordferry {

namespace {

std::size_t at(int index) { return static_cast<std::size_t>(index); }

Mass total_of(const Bags& bags, std::int64_t row) {
  return std::accumulate(bags.data + bags.indptr[row], bags.data + bags.indptr[row + 1], Mass{0});
}

// Of two sides, whether the second has to be the sources for values to be the same both ways round.
bool second_first(const std::vector<std::int32_t>& x, const std::vector<std::int32_t>& y) {
  if (x.size() != y.size()) return y.size() < x.size();
  return y < x;
}

class DensePairs : public Pairs {
 public:
  DensePairs(const Bags& x, const Bags& y, const DenseCosts& costs) : rest_(x, y, false), costs_(costs) {}

  void begin(std::int64_t query) override {
    query_ = query;
    ready_ = -1;
  }

  double bound(std::int64_t other) override {
    double value = 0;
    if (!gather(other, value)) return value;
    ready_ = other;
    return solver_.dual_bound() / rest_.left().total;
  }

  double solve(std::int64_t other, const Stopped& stopped) override {
    double value = 0;
    if (ready_ != other && !gather(other, value)) return value;
    ready_ = -1;
    if (solver_.solve(stopped) == Proof::failed) throw Unsolved{query_, other};
    return solver_.total() / rest_.left().total;
  }

 private:
  bool gather(std::int64_t other, double& value) {
    if (!rest_.find(query_, other, value)) return false;
    const Left& left = rest_.left();
    const auto xs = static_cast<int>(left.x_words.size()), ys = static_cast<int>(left.y_words.size());
    solver_.prepare(left.swap ? ys : xs, left.swap ? xs : ys);
    std::copy(left.x_mass.begin(), left.x_mass.end(), left.swap ? solver_.demand() : solver_.supply());
    std::copy(left.y_mass.begin(), left.y_mass.end(), left.swap ? solver_.supply() : solver_.demand());
    const std::int32_t* targets = left.y_words.data();
    for (int i = 0; i < xs; ++i) {
      const float* from = costs_.costs + costs_.words * costs_.row_of[left.x_words[at(i)]];
      if (left.swap) {
        for (int j = 0; j < ys; ++j) solver_.cost_row(j)[i] = from[targets[j]];
      } else {
        double* to = solver_.cost_row(i);
        for (int j = 0; j < ys; ++j) to[j] = from[targets[j]];
      }
    }
    return true;
  }

  Rest rest_;
  DenseCosts costs_;
  Solver solver_;
  std::int64_t query_ = 0, ready_ = -1;
};

}  // namespace

bool Rest::find(std::int64_t query, std::int64_t other, double& value) {
  const std::int64_t xb = x_.indptr[query], xe = x_.indptr[query + 1], yb = y_.indptr[other], ye = y_.indptr[other + 1];
  value = xb == xe && yb == ye ? 0 : std::numeric_limits<double>::infinity();
  if (xb == xe || yb == ye) return false;
  const Mass x_total = total_of(x_, query), y_total = total_of(y_, other), common = std::gcd(x_total, y_total);
  const Mass x_scale = y_total / common, y_scale = x_total / common;
  Left& left = left_;
  left.total = static_cast<double>(x_total) * static_cast<double>(x_scale);
  left.x_words.clear();
  left.y_words.clear();
  left.x_mass.clear();
  left.y_mass.clear();
  const auto keep_x = [&](std::int32_t word, Mass mass) {
    left.x_words.push_back(word);
    left.x_mass.push_back(mass);
  };
  const auto keep_y = [&](std::int32_t word, Mass mass) {
    left.y_words.push_back(word);
    left.y_mass.push_back(mass);
  };
  std::int64_t i = xb, j = yb;
  while (i < xe || j < ye) {
    if (j == ye || (i < xe && x_.indices[i] < y_.indices[j])) {
      keep_x(x_.indices[i], x_.data[i] * x_scale);
      ++i;
    } else if (i == xe || y_.indices[j] < x_.indices[i]) {
      keep_y(y_.indices[j], y_.data[j] * y_scale);
      ++j;
    } else {
      const Mass a = x_.data[i] * x_scale, b = y_.data[j] * y_scale, shared = keep_ ? 0 : std::min(a, b);
      if (a > shared) keep_x(x_.indices[i], a - shared);
      if (b > shared) keep_y(y_.indices[j], b - shared);
      ++i;
      ++j;
    }
  }
  value = 0;
  left.swap = second_first(left.x_words, left.y_words);
  return !left.x_words.empty();
}

std::unique_ptr<Pairs> dense_pairs(const Bags& x, const Bags& y, const DenseCosts& costs) {
  return std::make_unique<DensePairs>(x, y, costs);
}

}  // namespace wordferry
