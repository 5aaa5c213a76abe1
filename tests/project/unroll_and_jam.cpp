// The ten lines of `minima_of` are compiled wrongly by GCC 12.2 at -O3: `g++ -O3 unroll_and_jam.cpp && ./a.out` prints 32,
// the number of wrong minima. The pass at fault is -floop-unroll-and-jam followed by the vectoriser: it prints 0 at -O2,
// with -fno-loop-unroll-and-jam (which our builds use), with -fno-tree-loop-vectorize, and with Clang. Nothing here is
// undefined: -fsanitize=undefined,address says nothing, and the result is then right. We know of no number for it in
// GCC's list of bugs.
#include <cstdio>
#include <cstring>

struct Lanes {
  float value[16];
};

inline void keep_lower(Lanes& a, const Lanes& b) {
  for (int i = 0; i < 16; ++i) a.value[i] = b.value[i] < a.value[i] ? b.value[i] : a.value[i];
}

inline void minima_of(const int* words, long count, const Lanes* rows, long width, long first, Lanes* result) {
  Lanes best[8];
  for (Lanes& lanes : best) {
    for (float& x : lanes.value) x = 1e30f;
  }
  for (long k = 0; k < count; ++k) {
    const Lanes* row = rows + words[k] * width + first;
    for (int v = 0; v < 8; ++v) keep_lower(best[v], row[v]);
  }
  std::memcpy(result, best, sizeof best);
}

__attribute__((noinline)) void minima(const int* words, long count, const Lanes* rows, long width, Lanes* result) {
  minima_of(words, count, rows, width, 0, result);
}

int main() {
  static Lanes rows[8 * 20], result[8];
  unsigned state = 1;
  for (auto& row : rows) {
    for (float& x : row.value) x = static_cast<float>((state = state * 1664525u + 1013904223u) >> 8);
  }
  volatile long count = 5, width = 8;  // so that nothing is computed before the program runs
  const int words[] = {3, 7, 1, 19, 4};
  minima(words, count, rows, width, result);
  int wrong = 0;
  for (int v = 0; v < 8; ++v) {
    for (int i = 0; i < 16; ++i) {
      volatile float least = 1e30f;
      for (int k : words) {
        if (rows[k * 8 + v].value[i] < least) least = rows[k * 8 + v].value[i];
      }
      wrong += least != result[v].value[i];
    }
  }
  std::printf("%d\n", wrong);
}
