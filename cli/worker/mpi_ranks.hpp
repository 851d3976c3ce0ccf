// The ranks of an MPI job as the processes that share one command's work.
#pragma once

#include <memory>

#include "cli/ranks.hpp"
#include "cli/worker/leader.hpp"
#include "cli/worker/letter.hpp"

namespace orrery::worker {

class MpiRanks final : public cli::Ranks {
public:
    /// office: must outlive it.
    explicit MpiRanks(kernels::PostOffice& office);
    /// The leader sends the others home; one of the others that never served says so.
    ~MpiRanks() override;

    [[nodiscard]] bool lead() const override { return office_.rank() == 0; }
    /// One: mpirun starts a rank a core.
    [[nodiscard]] unsigned usual_threads() const override { return 1; }
    [[nodiscard]] planning::Crew crew(unsigned threads) override;
    void serve(const planning::Simulate& simulate, unsigned threads) override;

private:
    kernels::PostOffice& office_;
    std::unique_ptr<Leader> leader_;  ///< of rank 0
    bool served_ = false;
};

}  // namespace orrery::worker
