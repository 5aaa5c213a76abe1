// The basis of a network simplex on a bipartite problem: a spanning tree of m sources (nodes 0 .. m-1) and n sinks
// (nodes m .. m+n-1), kept as a preorder array, so that a subtree is a contiguous piece and moving one is a copy.
//
// Every tree is *strongly feasible*: an arc without flow goes from a source up to its parent sink. With the last
// blocking arc chosen to leave, this rules out cycling (Cunningham 1976), so there is no iteration limit to hit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "support/at.hpp"

namespace wordferry {

using Mass = std::int64_t;

class Tree {
 public:
  int sources = 0, sinks = 0;
  std::vector<std::int32_t> parent;    // -1 for the root
  std::vector<std::int32_t> order;     // nodes in preorder
  std::vector<std::int32_t> position;  // of each node in `order`
  std::vector<std::int32_t> size;      // of each node's subtree
  std::vector<Mass> flow;              // on the arc to the parent

  int nodes() const { return sources + sinks; }

  // An empty forest of m + n nodes; then add_arc() for its arcs with flow, then grow() for the rest.
  void reset(int m, int n);
  void add_arc(int source, int sink, Mass mass);
  int arcs() const { return static_cast<int>(arc_end_.size()) / 2; }

  // Marks the component of `node` (in `reached`) and appends it to `found`.
  void component(int node, std::vector<char>& reached, std::vector<std::int32_t>& found) const;

  // Makes the preorder tree below `root` from the arcs, which must connect all nodes.
  void grow(int root);

  // What a pivot moved: order[begin .. begin + count), and whether the entering source is in it (else the sink is).
  struct Moved {
    int begin, count;
    bool with_source;
  };

  // Arc source -> sink enters; the last blocking arc of its cycle leaves.
  Moved pivot(int source, int sink);

 private:
  // Copies [from, to) in whole blocks, so up to block_size - 1 more: both arrays have room for that.
  static constexpr int block_size = 8;
  static std::int32_t* copy_blocks(const std::int32_t* from, const std::int32_t* to, std::int32_t* out) {
    std::int32_t* end = out + (to - from);
    for (; from < to; from += block_size, out += block_size) std::memcpy(out, from, block_size * sizeof(std::int32_t));
    return end;
  }
  void reverse_path(const std::int32_t* path, int last, int above, Mass mass, int count);
  int place(const std::int32_t* path, int last, int above, int count);

  std::vector<std::int32_t> first_arc_, next_arc_, arc_end_, piece_, tail_, head_;
  std::vector<Mass> arc_flow_;
};

inline Tree::Moved Tree::pivot(int source, int sink) {
  std::int32_t* tail = tail_.data();  // from the source up to the join: source, sink, source, ...
  std::int32_t* head = head_.data();  // from the sink up to the join: sink, source, sink, ...
  // Arcs from a source of the tail up to its parent lose flow; among equals the one nearest to the source leaves.
  int tails = 0, heads = 0, node = source, last = -1;
  Mass delta = INT64_MAX;
  const int target = position[at(sources + sink)];
  for (; position[at(node)] > target || target >= position[at(node)] + size[at(node)]; node = parent[at(node)]) {
    const Mass value = flow[at(node)];
    const bool less = node < sources && value < delta;
    last = less ? tails : last;
    delta = less ? value : delta;
    tail[tails++] = node;
  }
  // So do arcs from a parent down to a sink of the head; among equals the one nearest to the join leaves.
  bool with_source = true;
  const int join = node;
  for (node = sources + sink; node != join; node = parent[at(node)]) {
    const Mass value = flow[at(node)];
    const bool less = node >= sources && value <= delta;
    with_source = less ? false : with_source;
    last = less ? heads : last;
    delta = less ? value : delta;
    head[heads++] = node;
  }
  const std::int32_t* moving = with_source ? tail : head;
  const int count = size[at(moving[last])], above = with_source ? sources + sink : source;
  const int begin = place(moving, last, above, count);
  const int tail_change = with_source ? -count : count;  // of the sizes of nodes that stay
  for (int k = 0; k < tails; ++k) {
    flow[at(tail[k])] += k % 2 == 0 ? -delta : delta;
    size[at(tail[k])] += with_source && k <= last ? 0 : tail_change;
  }
  for (int k = 0; k < heads; ++k) {
    flow[at(head[k])] += k % 2 == 0 ? -delta : delta;
    size[at(head[k])] -= !with_source && k <= last ? 0 : tail_change;
  }
  reverse_path(moving, last, above, delta, count);
  return {begin, count, with_source};
}

// Moves the subtree of path[last], re-rooted at path[0], to a place right below `above`; returns where it begins.
inline int Tree::place(const std::int32_t* path, int last, int above, int count) {
  std::int32_t* nodes_now = order.data();
  const int old_begin = position[at(path[last])];
  int from = position[at(path[0])], to = from + size[at(path[0])];
  std::int32_t* out = copy_blocks(nodes_now + from, nodes_now + to, piece_.data());
  for (int k = 1; k <= last; ++k) {  // of each node on the path what its child on the path does not hold
    const int begin = position[at(path[k])], end = begin + size[at(path[k])];
    out = copy_blocks(nodes_now + begin, nodes_now + from, out);
    out = copy_blocks(nodes_now + to, nodes_now + end, out);
    from = begin;
    to = end;
  }
  int low, high, begin;  // the range of `order` that changes, and where the piece goes
  const int after = position[at(above)], end = after + size[at(above)];
  if (after < old_begin) {
    begin = low = end <= old_begin ? end : after + 1;
    high = old_begin + count;
    if (old_begin > low)
      std::memmove(nodes_now + low + count, nodes_now + low, at(old_begin - low) * sizeof(std::int32_t));
  } else {
    low = old_begin;
    high = after + 1;
    begin = high - count;
    if (begin > low) std::memmove(nodes_now + low, nodes_now + low + count, at(begin - low) * sizeof(std::int32_t));
  }
  std::memcpy(nodes_now + begin, piece_.data(), at(count) * sizeof(std::int32_t));
  for (int k = low; k < high; ++k) position[at(nodes_now[k])] = k;
  return begin;
}

// Parents along the path turn round; each arc's flow goes to the node that is now below it.
inline void Tree::reverse_path(const std::int32_t* path, int last, int above, Mass mass, int count) {
  int below = 0;  // the old size of the path's node before this one
  for (int k = 0; k <= last; ++k) {
    const int node = path[k], old_size = size[at(node)];
    parent[at(node)] = above;
    size[at(node)] = count - below;
    std::swap(flow[at(node)], mass);
    below = old_size;
    above = node;
  }
}

}  // namespace wordferry
