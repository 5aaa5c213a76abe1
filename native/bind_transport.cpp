#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <vector>

#include "bind.hpp"
#include "simplex.hpp"
#include "watch.hpp"

namespace wordferry {

void bind_transport(nb::module_& m) {
  m.def(
      "transport_many",
      [](In<std::int64_t, 2> supply, In<std::int64_t, 2> demand, In<double, 3> costs, Out<double> cost,
         Out<std::int64_t> pivots, Out<std::int32_t> proof, int threads) {
        run_native([&](const Poll& poll) {
          Watch watch(poll);
          std::vector<Simplex> work(static_cast<std::size_t>(std::max(threads, 1)));
          const auto rows = static_cast<int>(supply.shape(1)), columns = static_cast<int>(demand.shape(1));
          watch.run(static_cast<std::int64_t>(supply.shape(0)), threads, [&](std::int64_t k, int worker) {
            Simplex& simplex = work[static_cast<std::size_t>(worker)];
            simplex.prepare(rows, columns);
            std::copy_n(supply.data() + k * rows, rows, simplex.supply());
            std::copy_n(demand.data() + k * columns, columns, simplex.demand());
            for (int i = 0; i < rows; ++i) {
              std::copy_n(costs.data() + (k * rows + i) * columns, columns, simplex.cost_row(i));
            }
            proof.data()[k] = static_cast<std::int32_t>(simplex.solve(watch.asked()));
            cost.data()[k] = simplex.cost();
            pivots.data()[k] = simplex.pivots();
          });
        });
      },
      nb::arg("supply").noconvert(), nb::arg("demand").noconvert(), nb::arg("costs").noconvert(),
      nb::arg("cost").noconvert(), nb::arg("pivots").noconvert(), nb::arg("proof").noconvert(), nb::arg("threads"),
      "Solve problems of one shape: total cost, pivots and kind of proof of each.");
}

}  // namespace wordferry
