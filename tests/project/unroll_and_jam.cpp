// A loop of minima that GCC 12.2 compiles wrongly at -O3: `g++ -O3 unroll_and_jam.cpp && ./a.out` prints 32, the number of
// wrong minima. It prints 0 at -O2, with -fno-loop-unroll-and-jam (which our builds use), with -fno-tree-loop-vectorize,
// and with Clang. Nothing here is undefined: -fsanitize=undefined,address says nothing and the result is then right.
#include <cstdio>

struct Lanes {
  float value[16];
};

inline void keep_lower(Lanes& a, const Lanes& b) {
  for (unsigned long i = 0; i < 16; ++i) a.value[i] = b.value[i] < a.value[i] ? b.value[i] : a.value[i];
}

template <int Wide>
inline void minima_of(const int* words, long count, const Lanes* rows, long width, long first, Lanes* result) {
  Lanes best[Wide];
  for (int v = 0; v < Wide; ++v) {
    for (auto& x : best[v].value) x = 1e30f;
  }
  for (long k = 0; k < count; ++k) {
    const Lanes* row = rows + words[k] * width + first;
    for (int v = 0; v < Wide; ++v) keep_lower(best[v], row[v]);
  }
  for (int v = 0; v < Wide; ++v) result[v] = best[v];
}

__attribute__((noinline)) void minima(const int* words, long count, const Lanes* rows, long width, Lanes* result) {
  minima_of<8>(words, count, rows, width, 0, result);
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
