// Rows of networks over images: which of the catalog's, their batch where it is not printed, and how frameworks ran
// what stands between the convolutions.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "base/text.hpp"
#include "models/catalog.hpp"
#include "validate/map_row.hpp"

namespace orrery::validate {

namespace {

/// Whether a text of the row names NVIDIA's DeepLearningExamples (DLPerf calls them NGC, after their containers).
bool is_nvidia_example(const Row& row, const std::string& framework) {
    const nlohmann::json* source = row.find("source");
    return contains(framework, "ngc") ||
           (source != nullptr && contains(lower(source->dump().substr(0, 400)), "deeplearningexamples"));
}

}  // namespace

bool is_image_model(const Row& row) { return begins_word(row.words("model.name"), "resnet"); }

models::ModelSpec map_image_model(const Row& row) {
    static const std::regex named(R"(resnet[-_ ]?(50|101|152)(?![0-9]))");
    const std::string name = row.words("model.name");
    std::smatch depth;
    if (!std::regex_search(name, depth, named)) throw Skip("model family not supported: resnet of another depth");
    // A classifier of another width is printed in words ("FC 100K classes") that say neither how it is divided.
    if (contains(name, "classes") || contains(name, "fc split"))
        throw Skip("model family not supported: resnet with another classifier");
    if (contains(name, "hardware-aware")) throw Skip("unequal batches are not supported");
    return models::find("resnet-" + depth[1].str());
}

std::uint32_t usual_image_batch(const Row& row, kernels::Dtype compute) {
    const std::string framework = row.words("switches.framework"), node = row.words("node");
    if (!contains(framework, "torch") || !is_nvidia_example(row, framework)) return 0;
    const bool dgx_1 = contains(node, "dgx-1");
    return compute == kernels::Dtype::fp32 && dgx_1 ? 112 : 256;
}

strategies::KernelFusion image_kernel_fusion(const Row& row, kernels::Dtype compute) {
    using strategies::KernelFusion;
    const std::string framework = row.words("switches.framework");
    const bool half = kernels::size_of(compute) == 2, nvidia = is_nvidia_example(row, framework);
    if (contains(framework, "tensorflow")) {
        const bool xla = contains(framework, "xla") || (nvidia && !contains(framework, "ngc"));
        return xla || half ? KernelFusion::full : KernelFusion::operators;
    }
    const bool fuses =
        contains(framework, "oneflow") || contains(framework, "paddle") || (contains(framework, "mxnet") && nvidia);
    return half && fuses ? KernelFusion::full : KernelFusion::operators;
}

/// Channels come first unless code says otherwise. NVIDIA's examples of PyTorch say so in 16 bits (configs.yml:
/// memory_format nhwc), but not by DLPerf's scripts; gluon-cv's resnetv1b.py cannot. TensorFlow's layout optimizer
/// moves them last where convolutions are in 16 bits, and first where they are not (generic_layout_optimizer.cc,
/// GetSrcAndDstDataFormats), whatever a script says; DLPerf's scripts of PaddlePaddle and NVIDIA's MXNet have them last
/// in 16 bits. Convolutions in fp32 do not care.
strategies::MemoryFormat image_memory_format(const Row& row, kernels::Dtype compute) {
    const std::string framework = row.words("switches.framework");
    const bool nvidia = is_nvidia_example(row, framework);
    const bool gluon = contains(framework, "mxnet") && !nvidia;
    const bool torch_as_it_is = contains(framework, "torch") && (!nvidia || contains(framework, "ngc"));
    return gluon || torch_as_it_is || kernels::size_of(compute) != 2 ? strategies::MemoryFormat::channels_first
                                                                     : strategies::MemoryFormat::channels_last;
}

}  // namespace orrery::validate
