#include "topology/usual_nodes.hpp"

#include <algorithm>
#include <array>

#include "hardware/gpu.hpp"

namespace orrery::topology {

namespace {

struct Usual {
    std::string_view gpu, preset;
};
constexpr std::array usual{Usual{"A100-SXM4-80GB", "dgx-a100"}, Usual{"A100-SXM4-40GB", "dgx-a100"},
                           Usual{"A800-SXM4-80GB", "dgx-a100"}, Usual{"H100-SXM5-80GB", "dgx-h100"},
                           Usual{"H100-SXM5-96GB", "dgx-h100"}, Usual{"H800-SXM5-80GB", "dgx-h100"},
                           Usual{"H200-SXM-141GB", "hgx-h200"}, Usual{"GH200-96GB", "gh200-4"},
                           Usual{"B200", "hgx-b200"},           Usual{"GB200", "gb200-nvl72"},
                           Usual{"GB300", "gb300-nvl72"},       Usual{"V100-SXM2-16GB", "dgx-1v"},
                           Usual{"V100-SXM2-32GB", "dgx-1v"},   Usual{"V100-SXM3-32GB", "dgx-2"},
                           Usual{"MI250X", "frontier"},         Usual{"MI300X", "mi300x"},
                           Usual{"MI325X", "mi325x"},           Usual{"MI355X", "mi355x"},
                           Usual{"L40S", "pcie-l40s"},          Usual{"RTX-PRO-6000", "pcie-rtx-pro-6000"},
                           Usual{"H20-SXM-96GB", "hgx-h100"}};

}  // namespace

std::string_view usual_nodes(std::string_view gpu) {
    const hardware::Gpu* const known = gpu.empty() ? nullptr : hardware::find(gpu);
    const auto row = known == nullptr ? usual.end() : std::ranges::find(usual, known->name, &Usual::gpu);
    return row == usual.end() ? std::string_view() : row->preset;
}

}  // namespace orrery::topology
