// cuDNN's functions over graph_run. They refuse descriptions that are not whole or whose extents do not go together,
// and operands that are not in a GPU's memory.
#include "tests/emulated/machine/graph_library.hpp"

#include <algorithm>
#include <set>

#include "tests/emulated/machine/graph_run.hpp"
#include "tests/emulated/machine/machine.hpp"
#include "tests/emulated/machine/memory.hpp"

namespace orrery::emulated {

GraphLibrary& graph_library() {
    static GraphLibrary library;
    return library;
}

namespace {

using namespace cudnn;

constexpr Status success = 0, bad_value = 2001, not_supported = 3000, failed = 5000;
/// That are offered for a graph.
constexpr std::int64_t engines = 2;

std::size_t size_of(Element element) {
    switch (element) {
        case Element::boolean: return sizeof(bool);
        case Element::data_type:
        case Element::heuristics_mode:
        case Element::pointwise_mode:
        case Element::reduction_operator: return sizeof(int);
        case Element::handle:
        case Element::int64:
        case Element::pointer:
        case Element::descriptor: return 8;
    }
    return 0;
}

Object& object(Descriptor descriptor) { return *static_cast<Object*>(descriptor); }

Status create(Class what, Descriptor* descriptor) {
    *descriptor = new Object{what};
    return success;
}

Status destroy(Descriptor descriptor) {
    delete static_cast<Object*>(descriptor);
    return success;
}

Status set(Descriptor descriptor, Name name, Element element, std::int64_t count, const void* elements) {
    Object& o = object(descriptor);
    if (o.finished || count <= 0 || elements == nullptr) return bad_value;
    if (element == Element::descriptor)
        for (std::int64_t i = 0; i < count; ++i)
            if (!static_cast<const Object* const*>(elements)[i]->finished) return bad_value;
    const auto* const begin = static_cast<const std::byte*>(elements);
    o.attributes[name] = {element, {begin, begin + static_cast<std::size_t>(count) * size_of(element)}};
    return success;
}

std::vector<Name> wanted(Class what) {
    using enum Name;
    switch (what) {
        case Class::tensor: return {tensor_type, tensor_extents, tensor_strides, tensor_number, tensor_alignment};
        case Class::pointwise: return {pointwise_mode, pointwise_math};
        case Class::matmul: return {matmul_math};
        case Class::reduction: return {reduction_math, reduction_operator};
        case Class::pointwise_operation: return {pointwise_descriptor, pointwise_x, pointwise_y};
        case Class::matmul_operation: return {matmul_descriptor, matmul_a, matmul_b, matmul_c};
        case Class::reduction_operation: return {reduction_descriptor, reduction_x, reduction_y};
        case Class::reshape_operation: return {reshape_x, reshape_y};
        case Class::graph: return {graph_operations, graph_handle};
        case Class::heuristics: return {heuristics_graph, heuristics_mode};
        case Class::plan: return {plan_handle, plan_config};
        case Class::operands: return {operand_numbers, operand_pointers, operand_workspace};
        case Class::engine_config: break;
    }
    return {};
}

/// Each tensor that passes is written once, before it is read; numbers are told apart.
bool is_in_order(const Object& graph) {
    std::set<std::int64_t> written;
    std::map<std::int64_t, const Object*> named;
    for (const Object* const o : graph.all<const Object*>(Name::graph_operations)) {
        const Operation operation{o};
        for (const Name name : operation.reads()) {
            const Object& t = o->part(name);
            const auto number = t.one<std::int64_t>(Name::tensor_number);
            if (named.emplace(number, &t).first->second != &t) return false;
            if (t.is(Name::tensor_is_virtual) && !written.contains(number)) return false;
        }
        if (!written.insert(o->part(operation.writes()).one<std::int64_t>(Name::tensor_number)).second) return false;
    }
    return true;
}

Status finalize(Descriptor descriptor) {
    Object& o = object(descriptor);
    if (o.finished || !std::ranges::all_of(wanted(o.what), [&](Name name) { return o.has(name); })) return bad_value;
    if (o.what == Class::pointwise_operation || o.what == Class::matmul_operation ||
        o.what == Class::reduction_operation || o.what == Class::reshape_operation)
        if (!Operation{&o}.fits()) return bad_value;
    if (o.what == Class::matmul_operation && !graph_library().takes_products) return not_supported;
    if (o.what == Class::graph && !is_in_order(o)) return bad_value;
    // The first engine that is offered cannot be built: some need more shared memory than a GPU has.
    if (o.what == Class::plan && o.part(Name::plan_config).is_unbuildable) return not_supported;
    o.finished = true;
    return success;
}

Status get(Descriptor descriptor, Name name, Element, std::int64_t room, std::int64_t* count, void* elements) {
    const Object& o = object(descriptor);
    if (!o.finished) return bad_value;
    if (name == Name::plan_workspace) {
        *count = 1;
        std::memcpy(elements, &workspace_bytes, sizeof workspace_bytes);
        return success;
    }
    if (name != Name::heuristics_results) return bad_value;
    *count = graph_library().offers_engines ? engines : 0;
    for (std::int64_t i = 0; i < std::min(room, *count); ++i) {
        Object& config = *static_cast<Object**>(elements)[i];
        config.attributes[Name::heuristics_graph] = o.attributes.at(Name::heuristics_graph);
        config.is_unbuildable = i == 0;
        config.finished = true;
    }
    return success;
}

struct Library {
    cudaStream_t stream = nullptr;
};

/// Fills a run by the pack; false: an operand is missing or not where it must be.
bool give_operands(TensorRun& run, const Object& pack) {
    const auto numbers = pack.all<std::int64_t>(Name::operand_numbers);
    const auto pointers = pack.all<void*>(Name::operand_pointers);
    std::map<std::int64_t, void*> given;
    for (std::size_t i = 0; i < numbers.size(); ++i) given[numbers[i]] = pointers.at(i);
    for (const Operation& operation : run.operations) {
        std::vector<Name> names = operation.reads();
        names.push_back(operation.writes());
        for (const Name name : names) {
            const Object& o = operation.object->part(name);
            const Tensor t(o);
            if (o.is(Name::tensor_is_virtual)) continue;
            const auto there = given.find(t.number);
            if (there == given.end()) return false;
            if (o.is(Name::tensor_is_by_value)) {
                run.values[t.number] = {*static_cast<const float*>(there->second)};
                continue;
            }
            const auto alignment = static_cast<std::uintptr_t>(o.one<std::int64_t>(Name::tensor_alignment));
            if (reinterpret_cast<std::uintptr_t>(there->second) % alignment != 0 ||
                !holds(there->second, t.bytes(), Kind::device))
                return false;
            run.memory[t.number] = there->second;
        }
    }
    return true;
}

Status execute(Handle handle, Descriptor plan, Descriptor pack) {
    Machine& machine = Machine::get();
    const auto lock = machine.lock();
    const Object& graph = object(plan).part(Name::plan_config).part(Name::heuristics_graph);
    TensorRun run;
    for (const Object* const o : graph.all<const Object*>(Name::graph_operations)) run.operations.push_back({o});
    auto* const workspace = object(pack).one<std::byte*>(Name::operand_workspace);
    if (!give_operands(run, object(pack)) || !holds(workspace, workspace_bytes, Kind::device)) {
        machine.fail("misuse: a graph of cuDNN's whose operands are not whole in a GPU's memory");
        return failed;
    }
    graph_library().runs.push_back(static_cast<std::size_t>(std::ranges::count_if(
        run.operations, [](const Operation& o) { return o.object->what == Class::matmul_operation; })));
    run.workspace = workspace;
    // A copy for each time: what was recorded runs again.
    machine.queue(static_cast<Library*>(handle)->stream, {"graph", [run] { TensorRun(run).run(); }});
    return success;
}

}  // namespace

}  // namespace orrery::emulated

namespace orrery::kernels::cuda::cudnn {

const Api* load(std::string_view) {
    static const Api api{
        .cudnnGetVersion = [] { return emulated::graph_library().version; },
        .cudnnGetErrorString = [](Status) { return "refused"; },
        .cudnnGetLastErrorString = [](char* text, std::size_t room) { std::strncpy(text, "an emulated cuDNN", room); },
        .cudnnCreate =
            [](Handle* handle) {
                *handle = new emulated::Library;
                return emulated::success;
            },
        .cudnnDestroy =
            [](Handle handle) {
                delete static_cast<emulated::Library*>(handle);
                return emulated::success;
            },
        .cudnnSetStream =
            [](Handle handle, cudaStream_t stream) {
                static_cast<emulated::Library*>(handle)->stream = stream;
                return emulated::success;
            },
        .cudnnBackendCreateDescriptor = emulated::create,
        .cudnnBackendDestroyDescriptor = emulated::destroy,
        .cudnnBackendFinalize = emulated::finalize,
        .cudnnBackendSetAttribute = emulated::set,
        .cudnnBackendGetAttribute = emulated::get,
        .cudnnBackendExecute = emulated::execute,
    };
    return &api;
}

}  // namespace orrery::kernels::cuda::cudnn
