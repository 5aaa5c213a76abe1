#include "bind.hpp"
#include "dense.hpp"
#include "pairs.hpp"
#include "panel.hpp"
#include "report.hpp"

namespace wordferry {
