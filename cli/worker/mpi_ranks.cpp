#include "cli/worker/mpi_ranks.hpp"

#include <fmt/format.h>

#include "base/host_name.hpp"
#include "cli/worker/server.hpp"

namespace orrery::worker {

MpiRanks::MpiRanks(kernels::PostOffice& office) : office_(office) {
    if (lead()) leader_ = std::make_unique<Leader>(office);
}

MpiRanks::~MpiRanks() {
    if (lead() || served_) return;
    send(office_, 0, Letter::failed,
         fmt::format("rank {} on {} cannot do its part: it says above why", office_.rank(), host_name()));
}

planning::Crew MpiRanks::crew(unsigned threads) { return leader_->crew(threads); }

void MpiRanks::serve(const planning::Simulate& simulate, unsigned threads) {
    served_ = true;
    Server(office_, simulate).run(threads);
}

}  // namespace orrery::worker
