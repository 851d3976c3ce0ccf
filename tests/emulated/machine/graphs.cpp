#include "tests/emulated/machine/graphs.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "tests/emulated/machine/runtime.hpp"

namespace orrery::emulated {

struct RecordedGraph {
    std::shared_ptr<const std::vector<Node>> nodes;
};

struct ExecutableGraph {
    std::shared_ptr<const std::vector<Node>> nodes;
    std::shared_ptr<const GraphRun> last;  ///< launch
};

namespace {

std::vector<std::shared_ptr<Capture>>& captures() {
    static std::vector<std::shared_ptr<Capture>> all;
    return all;
}

std::set<const void*>& graphs() {
    static std::set<const void*> all;
    return all;
}

void unite(std::vector<std::size_t>& nodes, const std::vector<std::size_t>& others) {
    nodes.insert(nodes.end(), others.begin(), others.end());
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
}

/// The streams go on as if nothing had been recorded.
void end(const std::shared_ptr<Capture>& capture) {
    for (Stream* const stream : capture->streams) {
        stream->capture = nullptr;
        stream->tail.clear();
    }
    capture->ended = true;
    std::erase(captures(), capture);
}

}  // namespace

void Capture::add(Stream& stream, Work work) {
    nodes.push_back({std::move(work), std::exchange(stream.tail, {nodes.size()})});
}

void Capture::join(Stream& stream, const std::vector<std::size_t>& behind) {
    if (std::ranges::find(streams, &stream) == streams.end()) streams.push_back(&stream);
    unite(stream.tail, behind);
}

bool Capture::joined() const {
    std::vector<bool> before(nodes.size(), false);
    std::vector<std::size_t> open = origin->tail;
    while (!open.empty()) {
        const std::size_t node = open.back();
        open.pop_back();
        if (before[node]) continue;
        before[node] = true;
        open.insert(open.end(), nodes[node].after.begin(), nodes[node].after.end());
    }
    return std::ranges::all_of(streams, [&](const Stream* stream) {
        return std::ranges::all_of(stream->tail, [&](std::size_t node) { return before[node]; });
    });
}

GraphRun::GraphRun(std::shared_ptr<const std::vector<Node>> nodes, std::shared_ptr<const GraphRun> before)
    : nodes_(std::move(nodes)), before_(std::move(before)), behind_(nodes_->size()), left_(nodes_->size()) {
    for (std::size_t node = 0; node < nodes_->size(); ++node) {
        const std::vector<std::size_t>& after = (*nodes_)[node].after;
        missing_.push_back(after.size());
        for (const std::size_t other : after) behind_[other].push_back(node);
        if (after.empty()) ready_.push_back(node);
    }
}

void GraphRun::finish(std::size_t node) {
    std::erase(ready_, node);
    for (const std::size_t other : behind_[node])
        if (--missing_[other] == 0) ready_.push_back(other);
    if (--left_ == 0) before_ = nullptr;
}

bool records(const Stream* stream) {
    if (stream != nullptr && stream->capture != nullptr) return true;
    return std::ranges::any_of(captures(), [](const auto& c) { return c->thread == std::this_thread::get_id(); });
}

std::size_t living_graphs() { return graphs().size(); }

}  // namespace orrery::emulated

namespace emulated = orrery::emulated;
using emulated::Machine;

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
    Machine& machine = Machine::get();
    const auto lock = machine.lock();
    if (!machine.knows(stream)) return emulated::misuse(cudaErrorInvalidResourceHandle, "records on no stream");
    if (mode != cudaStreamCaptureModeThreadLocal)
        return emulated::misuse(cudaErrorInvalidValue, "records in a mode that other threads' calls end or escape");
    if (stream->capture != nullptr) return emulated::misuse(cudaErrorInvalidValue, "records within a recording");
    auto capture = std::make_shared<emulated::Capture>();
    capture->origin = stream;
    capture->thread = std::this_thread::get_id();
    capture->streams = {stream};
    stream->capture = capture;
    emulated::captures().push_back(std::move(capture));
    return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
    Machine& machine = Machine::get();
    const auto lock = machine.lock();
    *graph = nullptr;
    if (!machine.knows(stream))
        return emulated::misuse(cudaErrorInvalidResourceHandle, "ends a recording of no stream");
    const std::shared_ptr<emulated::Capture> capture = stream->capture;
    if (capture == nullptr || capture->origin != stream)
        return emulated::misuse(cudaErrorStreamCaptureUnmatched, "ends a recording on a stream that began none");
    if (capture->thread != std::this_thread::get_id())
        return emulated::misuse(cudaErrorStreamCaptureWrongThread, "ends another thread's recording");
    const bool joined = capture->joined();
    emulated::end(capture);
    if (machine.failure()) return emulated::told(cudaErrorStreamCaptureInvalidated);
    if (!joined)
        return emulated::misuse(cudaErrorStreamCaptureUnjoined,
                                "ends a recording that some stream has not come back to");
    *graph =
        new emulated::RecordedGraph{std::make_shared<const std::vector<emulated::Node>>(std::move(capture->nodes))};
    emulated::graphs().insert(*graph);
    return cudaSuccess;
}

cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
    const auto lock = Machine::get().lock();
    if (!emulated::graphs().contains(graph)) return emulated::misuse(cudaErrorInvalidValue, "a graph that is none");
    *executable = new emulated::ExecutableGraph{graph->nodes, nullptr};
    emulated::graphs().insert(*executable);
    return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
    Machine& machine = Machine::get();
    const auto lock = machine.lock();
    if (!machine.knows(stream)) return emulated::told(cudaErrorInvalidResourceHandle);
    if (!emulated::graphs().contains(executable))
        return emulated::misuse(cudaErrorInvalidValue, "launches a graph that was destroyed");
    if (stream->capture != nullptr)
        return emulated::misuse(cudaErrorStreamCaptureUnsupported, "launches a graph within a recording");
    const auto run = std::make_shared<emulated::GraphRun>(executable->nodes, executable->last);
    executable->last = run;
    for (const emulated::Node& node : *executable->nodes)
        if (node.work.launched) node.work.launched();
    emulated::Work work{"graph", [] {}, [run] { return run->finished(); }};
    work.graph = run;
    machine.queue(stream, std::move(work));
    return emulated::told(machine.failure() ? cudaErrorLaunchFailure : cudaSuccess);
}

/// What is executable of it has its own nodes.
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
    const auto lock = Machine::get().lock();
    if (emulated::graphs().erase(graph) == 0)
        return emulated::misuse(cudaErrorInvalidValue, "destroys a graph once more");
    delete graph;
    return cudaSuccess;
}

/// A launch that is under way goes on.
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
    const auto lock = Machine::get().lock();
    if (emulated::graphs().erase(executable) == 0)
        return emulated::misuse(cudaErrorInvalidValue, "destroys a graph once more");
    delete executable;
    return cudaSuccess;
}
