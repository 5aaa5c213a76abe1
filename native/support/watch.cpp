#include "support/watch.hpp"

namespace wordferry {

void Pace::look() {
  left_ = units_between_looks;
  watch_->check();
}

}  // namespace wordferry
