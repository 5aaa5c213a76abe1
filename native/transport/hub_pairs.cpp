// rel-wmd, equations (8)-(11): a word goes to a related word at their distance, or through the hub at c_max. Only
// words with a related word on the other side need deciding; they fall into small independent groups.
#include <algorithm>
#include <numeric>

#include "support/at.hpp"
#include "transport/document_pairs.hpp"

namespace wordferry {

namespace {

struct Link {
  std::int32_t group, source, sink;
  float cost;
};

class HubPairs : public Pairs {
 public:
  HubPairs(const Bags& x, const Bags& y, const HubCosts& costs, bool keep, Watch& watch)
      : x_(x), rest_(x, y, keep), costs_(costs), keep_(keep), pace_(watch), solver_(watch) {
    first_.assign(at(costs.graph.rows), -1);
    place_.assign(at(costs.graph.rows), -1);
  }

  // Lists for each word the query's words that are related to it.
  void begin(std::int64_t query, std::int64_t) override {
    for (const std::int32_t word : touched_) first_[at(word)] = -1;
    touched_.clear();
    entries_.clear();
    query_ = query;
    for (std::int64_t k = x_.indptr[query]; k < x_.indptr[query + 1]; ++k) {
      const std::int32_t from = x_.indices[k];
      if (keep_) add(from, from, 0);
      for (std::int64_t e = costs_.graph.indptr[from]; e < costs_.graph.indptr[from + 1]; ++e) {
        const float cost = costs_.graph.data[e];
        const std::int32_t word = costs_.graph.indices[e];
        if (static_cast<double>(cost) < costs_.c_max && word != from) add(word, from, cost);
      }
    }
  }

  double bound(std::int64_t) override { return 0; }

  double solve(std::int64_t other) override {
    double value = 0;
    if (!rest_.find(query_, other, value)) return value;
    find_links();
    const Left& left = rest_.left();
    Mass through_hub = 0;
    for (const Mass mass : left.sources().mass) through_hub += mass;
    double total = 0;
    group_links();
    for (std::size_t begin = 0; begin < links_.size();) {
      std::size_t end = begin;
      while (end < links_.size() && links_[end].group == links_[begin].group) ++end;
      total += solve_group(begin, end, through_hub, other);
      begin = end;
    }
    return (total + costs_.c_max * static_cast<double>(through_hub)) / left.total;
  }

 private:
  struct Entry {
    std::int32_t from, next;
    float cost;
  };

  void add(std::int32_t word, std::int32_t from, float cost) {
    if (first_[at(word)] < 0) touched_.push_back(word);
    entries_.push_back({from, first_[at(word)], cost});
    first_[at(word)] = static_cast<std::int32_t>(entries_.size()) - 1;
  }

  // Links between words that are left, as places on the side of sources and of sinks, sorted.
  void find_links() {
    const Left& left = rest_.left();
    links_.clear();
    for (int i = 0; i < left.x.size(); ++i) place_[at(left.x.words[at(i)])] = i;
    for (int j = 0; j < left.y.size(); ++j) {
      for (std::int32_t e = first_[at(left.y.words[at(j)])]; e >= 0; e = entries_[at(e)].next) {
        const std::int32_t i = place_[at(entries_[at(e)].from)];
        if (i < 0) continue;
        links_.push_back({0, left.swap ? j : i, left.swap ? i : j, entries_[at(e)].cost});
      }
    }
    for (const std::int32_t word : left.x.words) place_[at(word)] = -1;
  }

  int group_of(int node) {
    while (group_[at(node)] != node) node = group_[at(node)] = group_[at(group_[at(node)])];
    return node;
  }

  // Sources are nodes 0 .., sinks follow; links sorted by group, then source, then sink.
  void group_links() {
    const Left& left = rest_.left();
    const int sources = left.sources().size();
    group_.resize(at(left.x.size() + left.y.size()));
    std::iota(group_.begin(), group_.end(), 0);
    for (const Link& link : links_) {
      const int a = group_of(link.source), b = group_of(sources + link.sink);
      group_[at(std::max(a, b))] = std::min(a, b);  // so the root is the first source
    }
    for (Link& link : links_) link.group = group_of(link.source);
    std::sort(links_.begin(), links_.end(), [](const Link& a, const Link& b) {
      if (a.group != b.group) return a.group < b.group;
      return a.source != b.source ? a.source < b.source : a.sink < b.sink;
    });
  }

  // The cost of what goes along links[begin .. end); that mass is taken off `through_hub`.
  double solve_group(std::size_t begin, std::size_t end, Mass& through_hub, std::int64_t other) {
    const Left& left = rest_.left();
    const std::vector<Mass>&supply = left.sources().mass, &demand = left.sinks().mass;
    sources_.clear();
    sinks_.clear();
    for (std::size_t k = begin; k < end; ++k) {
      pace_.spend(static_cast<std::int64_t>(sinks_.size()));
      if (sources_.empty() || sources_.back() != links_[k].source) sources_.push_back(links_[k].source);
      if (std::find(sinks_.begin(), sinks_.end(), links_[k].sink) == sinks_.end()) sinks_.push_back(links_[k].sink);
    }
    if (sources_.size() == 1 || sinks_.size() == 1) return solve_star(begin, end, supply, demand, through_hub);
    return solve_dense(begin, end, supply, demand, through_hub, other);
  }

  // One word on one side: it is served by its cheapest links first.
  double solve_star(std::size_t begin, std::size_t end, const std::vector<Mass>& supply,
                    const std::vector<Mass>& demand, Mass& through_hub) {
    const bool one_source = sources_.size() == 1;
    Mass room = one_source ? supply[at(sources_[0])] : demand[at(sinks_[0])];
    std::stable_sort(links_.begin() + static_cast<std::ptrdiff_t>(begin),
                     links_.begin() + static_cast<std::ptrdiff_t>(end),
                     [](const Link& a, const Link& b) { return a.cost < b.cost; });
    double total = 0;
    for (std::size_t k = begin; k < end && room > 0; ++k) {
      const Mass mass = std::min(room, one_source ? demand[at(links_[k].sink)] : supply[at(links_[k].source)]);
      room -= mass;
      through_hub -= mass;
      total += static_cast<double>(mass) * static_cast<double>(links_[k].cost);
    }
    return total;
  }

  // The group and the hub, which takes what no link takes: as a last sink at c_max and a last source at 0.
  double solve_dense(std::size_t begin, std::size_t end, const std::vector<Mass>& supply,
                     const std::vector<Mass>& demand, Mass& through_hub, std::int64_t other) {
    const auto m = static_cast<int>(sources_.size()), n = static_cast<int>(sinks_.size());
    std::sort(sinks_.begin(), sinks_.end());
    solver_.prepare(m + 1, n + 1, Precision::fine);
    Mass offered = 0, wanted = 0;
    for (int i = 0; i < m; ++i) {
      pace_.spend(n);
      offered += solver_.supply()[i] = supply[at(sources_[at(i)])];
      std::fill(solver_.fine_row(i), solver_.fine_row(i) + n + 1, costs_.c_max);
    }
    for (int j = 0; j < n; ++j) wanted += solver_.demand()[j] = demand[at(sinks_[at(j)])];
    std::fill(solver_.fine_row(m), solver_.fine_row(m) + n + 1, 0.0);
    solver_.supply()[m] = wanted;
    solver_.demand()[n] = offered;
    int i = 0;
    for (std::size_t k = begin; k < end; ++k) {
      while (sources_[at(i)] != links_[k].source) ++i;
      const auto j = std::lower_bound(sinks_.begin(), sinks_.end(), links_[k].sink) - sinks_.begin();
      solver_.fine_row(i)[j] = links_[k].cost;
    }
    if (solver_.solve() == Proof::failed) throw Unsolved{query_, other};
    through_hub -= offered;
    return solver_.total();
  }

  Bags x_;
  Rest rest_;
  HubCosts costs_;
  bool keep_;
  Pace pace_;
  std::vector<std::int32_t> first_, place_, touched_;
  std::vector<Entry> entries_;
  std::vector<Link> links_;
  std::vector<std::int32_t> group_, sources_, sinks_;
  Solver solver_;
  std::int64_t query_ = 0;
};

}  // namespace

std::unique_ptr<Pairs> hub_pairs(const Bags& x, const Bags& y, const HubCosts& costs, bool keep, Watch& watch) {
  return std::make_unique<HubPairs>(x, y, costs, keep, watch);
}

}  // namespace wordferry
