#include "strategies/block_writer.hpp"

#include <variant>

namespace orrery::strategies {

namespace {

bool nobody_waits(const std::vector<Work>& works, std::size_t i) {
    for (std::size_t j = i + 1; j < works.size(); ++j)
        if ((works[j].needs & works[i].raises) != 0) return false;
    return true;
}

}  // namespace

void BlockWriter::piece(const std::vector<Work>& works, Phase phase, std::vector<BufferId> begins,
                        std::vector<BufferId> ends, bool last_piece) {
    for (std::size_t i = 0; i < works.size(); ++i) {
        const bool first = i == 0, last = i + 1 == works.size();
        std::vector<BufferId> reads, writes;
        if (first) writes = begins;
        if (last) reads = ends;
        const bool beside = works[i].raises != 0 && !ops_.empty() && !last && !(last_piece && nobody_waits(works, i));
        const std::uint8_t joins = first ? std::uint8_t{0xFF} : works[i].needs;
        work(works[i], phase, beside, joins, std::move(reads), std::move(writes));
    }
}

void BlockWriter::work(const Work& work, Phase phase, bool beside, std::uint8_t joins, std::vector<BufferId> reads,
                       std::vector<BufferId> writes) {
    for (auto running = running_.begin(); running != running_.end();) {
        if ((running->first & joins) == 0) {
            ++running;
            continue;
        }
        reads.push_back(running->second);
        running = running_.erase(running);
    }
    const BufferId result = scratch(0);
    writes.push_back(result);
    if (beside) reads.push_back(last_result_);
    What what;
    if (const auto* kernel = std::get_if<kernels::Kernel>(&work.what)) {
        what = intern_.kernel(*kernel);
    } else {
        const auto& collective = std::get<LayerCollective>(work.what);
        what = Collective{collective.kind, collective.group, collective.bytes, intern_.exchange(collective.once)};
    }
    Label label = intern_.label(work.name, phase);
    label.routed = work.routed;
    label.plain = work.plain;
    label.single = work.single;
    label.looped = work.looped;
    ops_.push_back(
        {beside ? Lane::tensor : Lane::compute, label, what, std::move(reads), std::move(writes), work.detail});
    if (beside)
        running_[work.raises] = result;
    else
        last_result_ = result;
}

}  // namespace orrery::strategies
