// orrery import torch-trace, orrery import nsys: a measured step from a trace of torch.profiler or Nsight Systems.
#include "cli/import_trace.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/statistics.hpp"
#include "base/table.hpp"
#include "base/text.hpp"
#include "base/units.hpp"
#include "calibrate/gpu_facts.hpp"
#include "calibrate/profile_store.hpp"
#include "calibrate/traced_products.hpp"
#include "cli/options.hpp"
#include "documents/message.hpp"
#include "doors/nsys/report.hpp"
#include "doors/trace/measurement.hpp"
#include "doors/trace/steps.hpp"

namespace orrery::cli {

namespace {

using doors::trace::Measurement;

struct ImportTraceOptions {
    std::string file, step, out = "-", profile, profile_out;
};

constexpr const char* import_trace_footer =
    R"(Kernels of a step by layer (modules of with_modules=True, or annotations such as "layer 3"), phase and kind, gaps
of every stream, what was asked of NCCL; with record_shapes=True the times of products of matrices too, which --profile
adds to a copy of a profile.
Examples:
  orrery import torch-trace doors/examples/gpt2-trace.json.gz --out measured.json
)"
    "  orrery import torch-trace doors/examples/gpt2-trace.json.gz --profile a100 --profile-out mine.json "
    "--out measured.json";

constexpr const char* import_nsys_footer =
    R"(A report becomes FILE by nsys export --type sqlite --output FILE REPORT.nsys-rep. Record it with
  nsys profile --trace=cuda,nvtx --pytorch=autograd-shapes-nvtx --capture-range=cudaProfilerApi ...
and torch.cuda.nvtx.range_push(f"step {i}") around each step, "layer 3" around each layer. What comes of it is as with
torch-trace; shapes of products are known, their types by the names of kernels, and what was asked of NCCL by theirs.
Examples:
  orrery import nsys doors/examples/gpt2-nsys.sqlite --rank 0 --out measured.json
)"
    "  orrery import nsys doors/examples/gpt2-nsys.sqlite --profile a100 --profile-out mine.json --out measured.json";

calibrate::Provenance provenance(const Measurement& m) {
    return {m.device.empty() ? "not told" : m.device,
            "as in training",
            "not told",
            "PyTorch, version not told",
            fmt::format("{}, {}", m.recorder->name, std::filesystem::path(m.file).filename().string()),
            "the owner of the measurement decides"};
}

/// Writes the copy of the profile; a line about it.
std::string add_products(const Measurement& m, const ImportTraceOptions& options, const char* command) {
    if (m.products.empty())
        throw Error(m.file, m.recorder->events, "holds no product of matrices with its shapes", m.recorder->shapes);
    calibrate::ProfileStore store;
    calibrate::Profile profile = store.find(options.profile).profile();
    if (const std::string_view gpu = calibrate::gpu_in(m.device); calibrate::gpu_in(profile.device) != gpu)
        throw Error(m.file, "",
                    fmt::format("{} is not the device of profile {}, {}", m.device.empty() ? "no device" : m.device,
                                options.profile, profile.device),
                    gpu.empty() ? "--profile of the same device" : fmt::format("--profile {}", gpu));
    std::vector<calibrate::TracedProduct> products;
    for (const doors::trace::TimedProduct& p : m.products)
        products.push_back({p.gemm, p.seconds, std::min(p.spread / p.seconds, 0.99)});
    const std::size_t replaced = calibrate::put_products(profile, products, provenance(m));
    profile.name = std::filesystem::path(options.profile_out).stem().string();
    profile.made_by = fmt::format("orrery import {}", command);
    calibrate::save_profile(profile, options.profile_out);
    return fmt::format("{}: {} with {} products of the trace, {} of them in place of older times; {} left out\n",
                       options.profile_out, options.profile, products.size(), replaced, m.products_left_out);
}

std::string text_of(const Measurement& m) {
    const double step = median(m.step_seconds);
    std::string text = fmt::format(
        "step {} (+-{:.1f}%, {} of {})   {} kernels on {}\n", format_seconds(step),
        step > 0 ? 100 * half_quartile_range(m.step_seconds) / step : 0, m.step_names.size(),
        m.step_names.size() == 1 ? m.step_names.front() : m.step_names.front() + " to " + m.step_names.back(),
        format_grouped(m.kernels), m.device.empty() ? "an unnamed device" : m.device);
    double mean = 0;
    for (const double seconds : m.breakdown) mean += seconds;
    Table uses({{"device", Table::Align::left}, {"ms"}, {"of step"}});
    for (std::size_t use = 0; use < m.breakdown.size(); ++use)
        uses.row({std::string(doors::trace::Measurement::use_name(use)), fmt::format("{:.3f}", 1e3 * m.breakdown[use]),
                  fmt::format("{:.1f}%", mean > 0 ? 100 * m.breakdown[use] / mean : 0)});
    Table streams({{"stream", Table::Align::left}, {"kernels"}, {"busy ms"}, {"gaps"}, {"gaps ms"}, {"median gap us"}});
    for (const Measurement::StreamUse& s : m.streams)
        streams.row({std::to_string(s.stream), format_grouped(s.kernels), fmt::format("{:.3f}", 1e3 * s.busy),
                     format_grouped(s.gaps), fmt::format("{:.3f}", 1e3 * s.idle),
                     fmt::format("{:.1f}", 1e6 * s.median_gap)});
    return text + uses.to_text() + streams.to_text() +
           fmt::format("{:.0f}% of the time of products and attention in known layers, {} shapes of products\n",
                       100 * m.in_layers, m.products.size());
}

template <class Measure>
void import_trace(const ImportTraceOptions& options, const char* command, Measure measure) {
    if (options.profile.empty() != options.profile_out.empty())
        throw Error("--profile and --profile-out belong together",
                    "--profile names the profile to begin with, --profile-out the file to write");
    require_distinct({options.out, options.profile_out}, {options.file, options.profile});
    Output out(options.out);
    const Measurement measured = measure();
    const std::string profile = options.profile.empty() ? "" : add_products(measured, options, command);
    if (measured.step_names.front() == doors::trace::whole_trace)
        note(options.file, fmt::format("no annotation begins with \"{}\" (--step): all of it is taken for one step",
                                       documents::printable(options.step)));
    if (measured.products_left_out > 0 && !options.profile.empty())
        note(options.file,
             fmt::format("{} products whose layout or layer is not told were left out", measured.products_left_out));
    out.write(measured.json().dump(2) + '\n');
    out.finish();
    if (!out.to_stdout())
        print(text_of(measured) + profile +
              fmt::format("{}: orrery compare PREDICTED {}\n", options.out, shell_word(options.out)));
}

/// One process of a report is one rank: says which, where there were several.
Measurement measure_report(const doors::nsys::Request& request) {
    doors::nsys::Measured measured = doors::nsys::measure(request);
    if (measured.processes.size() > 1 && !request.process)
        note(request.file,
             fmt::format("{} processes ran kernels: read is {}; --process takes {}", measured.processes.size(),
                         measured.process, fmt::join(measured.processes, ", ")));
    return std::move(measured.step);
}

void add_common(CLI::App& command, ImportTraceOptions& options, const std::string& what) {
    command.add_option("FILE", options.file, what)->required();
    command.add_option("--out", options.out, "measurement to write, for compare; - for standard output, as without it")
        ->type_name("FILE");
    command.add_option("--step", options.step, "beginning of the annotation that each step lies in")
        ->type_name("NAME")
        ->capture_default_str();
    command.add_option("--profile", options.profile, "profile of this device that the times of products are added to")
        ->type_name("PROFILE");
    command.add_option("--profile-out", options.profile_out, "the profile with them")->type_name("FILE");
}

void add_torch_trace(CLI::App& import) {
    CLI::App* const command = import.add_subcommand("torch-trace", "a trace of torch.profiler (.json, .json.gz)");
    const auto options = std::make_shared<ImportTraceOptions>();
    options->step = doors::trace::Request{}.step;
    add_common(*command, *options, "the trace of one rank");
    command->footer(import_trace_footer);
    command->callback([options] {
        import_trace(*options, "torch-trace", [&] { return doors::trace::measure({options->file, options->step}); });
    });
}

void add_nsys(CLI::App& import) {
    CLI::App* const command = import.add_subcommand("nsys", "a report of Nsight Systems, exported to SQLite");
    const auto options = std::make_shared<ImportTraceOptions>();
    const auto request = std::make_shared<doors::nsys::Request>();
    options->step = request->step;
    add_common(*command, *options, "the exported report");
    command->add_option("--process", request->process, "number of the process that is read; else that of most kernels")
        ->type_name("PID");
    command->add_option("--rank", request->rank, "rank that the process was, in the predicted job")->type_name("N");
    command->footer(import_nsys_footer);
    command->callback([options, request] {
        request->file = options->file;
        request->step = options->step;
        import_trace(*options, "nsys", [&] { return measure_report(*request); });
    });
}

}  // namespace

void add_import_trace(CLI::App& import) {
    add_torch_trace(import);
    add_nsys(import);
}

}  // namespace orrery::cli
