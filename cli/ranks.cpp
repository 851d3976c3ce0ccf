#include "cli/ranks.hpp"

#include "base/parallel.hpp"

namespace orrery::cli {

unsigned Ranks::usual_threads() const { return all_cores(); }
planning::Crew Ranks::crew(unsigned threads) { return planning::crew_of(threads); }
void Ranks::serve(const planning::Simulate&, unsigned) {}

Ranks& alone() {
    static Ranks ranks;
    return ranks;
}

}  // namespace orrery::cli
