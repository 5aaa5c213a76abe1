#include "transport/tree.hpp"

namespace wordferry {

void Tree::reset(int m, int n) {
  sources = m;
  sinks = n;
  const auto count = at(m + n);
  parent.resize(count);
  order.resize(count + block_size);
  position.resize(count);
  size.resize(count);
  flow.resize(count);
  piece_.resize(count + block_size);
  tail_.resize(count);
  head_.resize(count);
  first_arc_.assign(count, -1);
  next_arc_.clear();
  arc_end_.clear();
  arc_flow_.clear();
}

void Tree::add_arc(int source, int sink, Mass mass) {
  const auto number = static_cast<std::int32_t>(arc_end_.size());  // the arc, once in the list of either end
  next_arc_.push_back(first_arc_[at(source)]);
  next_arc_.push_back(first_arc_[at(sources + sink)]);
  first_arc_[at(source)] = number;
  first_arc_[at(sources + sink)] = number + 1;
  arc_end_.push_back(sources + sink);
  arc_end_.push_back(source);
  arc_flow_.push_back(mass);
}

void Tree::component(int node, std::vector<char>& reached, std::vector<std::int32_t>& found) const {
  reached[at(node)] = 1;
  auto head = found.size();
  found.push_back(node);
  for (; head < found.size(); ++head) {
    for (int arc = first_arc_[at(found[head])]; arc >= 0; arc = next_arc_[at(arc)]) {
      const int other = arc_end_[at(arc)];
      if (reached[at(other)]) continue;
      reached[at(other)] = 1;
      found.push_back(other);
    }
  }
}

void Tree::grow(int root) {
  parent[at(root)] = -1;
  flow[at(root)] = 0;
  std::int32_t* stack = piece_.data();
  int waiting = 0, done = 0;
  stack[waiting++] = root;
  while (waiting > 0) {
    const int node = stack[--waiting];
    position[at(node)] = done;
    order[at(done++)] = node;
    size[at(node)] = 1;
    for (int arc = first_arc_[at(node)]; arc >= 0; arc = next_arc_[at(arc)]) {
      const int other = arc_end_[at(arc)];
      if (other == parent[at(node)]) continue;
      parent[at(other)] = node;
      flow[at(other)] = arc_flow_[at(arc / 2)];
      stack[waiting++] = other;
    }
  }
  for (int k = done - 1; k > 0; --k) {
    const int node = order[at(k)];
    size[at(parent[at(node)])] += size[at(node)];
  }
}

}  // namespace wordferry
