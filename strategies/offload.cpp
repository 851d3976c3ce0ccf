#include "strategies/offload.hpp"

#include "strategies/stage_split.hpp"

namespace orrery::strategies {

Offload::Offload(const Plan& plan, const Stage& stage, Builder& builder, Intern& intern)
    : stage_(stage), builder_(builder), intern_(intern), layers_(plan.strategy.cpu_offloading_num_layers) {
    const PipelineShape shape = plan.pipeline_shape();
    const std::uint32_t all = plan.model.two_stacks() ? chunk_sizes(plan).first : plan.model.layers;
    for (std::uint32_t c = 0; c < shape.chunks; ++c)
        of_.push_back(layers_of(plan, all, shape.virtual_stage(c, stage.index)).count);
}

/// Calls that run beside the copy of a chunk's layer number k, before one waits for it: at least one.
std::uint32_t Offload::calls_ahead(std::uint32_t chunk, std::uint32_t k) const {
    if (layers_ == of_[chunk]) return 1;
    const std::uint64_t spread = (std::uint64_t{k + 1} * of_[chunk] + layers_ - 1) / layers_;
    return static_cast<std::uint32_t>(spread) - k - 1;
}

bool Offload::offloaded(std::uint32_t chunk, std::size_t position) const {
    return position >= first(chunk) && position < first(chunk) + layers_;
}

void Offload::before(const Slot& slot, std::size_t position, const Slot* next, std::vector<BufferId>& reads,
                     std::vector<BufferId>& writes) {
    if (layers_ == 0) return;
    const std::size_t size = stage_.chunks[slot.chunk].size();
    const bool forward = slot.work == SlotWork::forward;
    const bool first_call = position == (forward ? 0 : size - 1);
    const bool last_call = position == (forward ? size - 1 : 0);
    if (!forward && first_call) reload_beside(slot, size);  // unless it could begin with the call before
    if (!forward) reload_beside(slot, position);
    if (last_call && next != nullptr && next->hands_gradient_on())
        reload_beside(*next, stage_.chunks[next->chunk].size());
    for (auto copy = copying_.begin(); copy != copying_.end();) {
        const bool ended = copy->until <= calls_;
        reads.push_back(ended ? copy->copied : copy->saved);
        copy = ended ? copying_.erase(copy) : copy + 1;
    }
    done_ = {builder_.buffer(0, Keep::scratch)};
    writes.push_back(done_.front());
    ++calls_;
}

void Offload::behind(const Slot& slot, std::size_t position, const Slot* next, BufferId saved) {
    if (layers_ == 0 || !offloaded(slot.chunk, position)) return;
    const PlacedLayer& placed = stage_.chunks[slot.chunk][position];
    const std::uint64_t bytes = placed.blocks->saved_bytes - placed.blocks->stays_bytes;
    const BufferId host = builder_.buffer(bytes, Keep::activation, Where::host);
    const BufferId copied = builder_.buffer(0, Keep::scratch);
    builder_.emit(Lane::offload,
                  intern_.label("offload", Phase::forward, static_cast<std::int32_t>(slot.micro_batch), placed.layer),
                  Copy{Copy::To::host, bytes}, {saved}, {host, copied});
    const auto k = static_cast<std::uint32_t>(position - first(slot.chunk));
    copying_.push_back({saved, copied, host, calls_ + calls_ahead(slot.chunk, k)});
    on_host_[layer(slot, position)] = host;
    const std::size_t size = stage_.chunks[slot.chunk].size();
    if (position + 1 == size && next != nullptr && next->hands_gradient_on()) reload_beside(*next, size);
}

BufferId Offload::back(const Slot& slot, std::size_t position, BufferId saved) {
    const auto found = reloaded_.extract(layer(slot, position));
    return found.empty() ? saved : found.mapped();
}

/// The copy back that is to begin with the backward of the layer at `position`, if there is one: of layer k where
/// position = k + calls_ahead(k).
void Offload::reload_beside(const Slot& slot, std::size_t position) {
    if (position <= first(slot.chunk)) return;
    const std::uint64_t of = of_[slot.chunk], next = position - first(slot.chunk) + (layers_ == of ? 0 : 1);
    const std::uint64_t begun = (next - 1) * layers_ / of, due = next * layers_ / of;
    if (due == begun || due > layers_) return;
    const std::size_t at = first(slot.chunk) + due - 1;
    if (on_host_.contains(layer(slot, at))) reload(slot, at);
}

/// Waits for the copy to the host, behind which the device's memory is given back at the latest, and for the last call,
/// whose memory it may take.
void Offload::reload(const Slot& slot, std::size_t position) {
    const PlacedLayer& placed = stage_.chunks[slot.chunk][position];
    const std::uint64_t bytes = placed.blocks->saved_bytes - placed.blocks->stays_bytes;
    std::vector<BufferId> reads = done_;
    reads.push_back(on_host_.at(layer(slot, position)));
    on_host_.erase(layer(slot, position));
    std::erase_if(copying_, [&](const Copying& copy) { return copy.host == reads.back(); });
    const BufferId saved = reloaded_[layer(slot, position)] = builder_.buffer(bytes, Keep::activation);
    builder_.emit(Lane::reload,
                  intern_.label("reload", Phase::backward, static_cast<std::int32_t>(slot.micro_batch), placed.layer),
                  Copy{Copy::To::device, bytes}, reads, std::span(&saved, 1));
}

}  // namespace orrery::strategies
