// Memory that grows and is never cleared: a vector would fill hundreds of megabytes with zeros in one go.
#pragma once

#include <cstddef>
#include <memory>

namespace wordferry {

template <class T>
class Buffer {
 public:
  // Room for at least `size`; what was there may be gone.
  void reserve(std::size_t size) {
    if (size <= size_) return;
    items_.reset();
    size_ = 0;
    items_ = std::unique_ptr<T[]>(new T[size]);
    size_ = size;
  }
  T* data() { return items_.get(); }
  const T* data() const { return items_.get(); }

 private:
  std::unique_ptr<T[]> items_;
  std::size_t size_ = 0;
};

}  // namespace wordferry
