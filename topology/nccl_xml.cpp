#include "topology/nccl_xml.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/read_file.hpp"
#include "hardware/datasheets.hpp"
#include "topology/xml_file.hpp"

namespace orrery::topology {

using namespace hardware;

namespace {

using Xml = pugi::xml_node;

constexpr std::size_t most_bytes = 16U << 20;
constexpr std::uint32_t most_devices = 1024;
constexpr const char* nvswitch_class = "0x068000";

/// NVLink generation by compute capability; NVIDIA's datasheets.
double nvlink_rate(int sm) {
    if (sm >= 100) return nvlink5_bytes_per_second;
    if (sm >= 90) return nvlink4_bytes_per_second;
    if (sm >= 80) return nvlink3_bytes_per_second;
    return sm >= 70 ? nvlink2_bytes_per_second : nvlink1_bytes_per_second;
}

/// xGMI generation by the GPU's architecture, which RCCL writes as a number or by name; AMD's datasheets. 0: not known.
double xgmi_rate(std::string_view gcn) {
    if (gcn == "910" || gcn.starts_with("gfx90a")) return xgmi2_bytes_per_second;
    if (gcn == "940" || gcn.starts_with("gfx94")) return xgmi3_bytes_per_second;
    return gcn.starts_with("gfx95") ? xgmi4_bytes_per_second : 0;
}

/// PCIe as NCCL writes it: 10^9 transfers a second of each lane, of which generations 1 and 2 (to 5 GT/s) use 8 bits of
/// 10, later ones 128 of 130.
struct PcieLanes {
    static constexpr double slowest = 0.1, fastest = 1000, older = 5;
    double speed;  ///< GT/s
    double lanes;

    [[nodiscard]] double bytes_per_second() const {
        return speed * 1e9 / 8 * lanes * (speed <= older ? 8.0 / 10 : 128.0 / 130);
    }
};

/// Lanes of that rate: 16, or as many fewer as make it one; what a single one at the least speed is too fast for, that.
PcieLanes lanes_of(double bytes_per_second) {
    for (const double lanes : {16.0, 8.0, 4.0, 2.0, 1.0}) {
        const double bits = bytes_per_second * 8e-9 / lanes;
        if (const double later = bits * 130 / 128; later > PcieLanes::older) return {later, lanes};
        if (const double early = bits * 10 / 8; early >= PcieLanes::slowest && early <= PcieLanes::older)
            return {early, lanes};
    }
    return {PcieLanes::slowest, 1};
}

class Loader {
public:
    Loader(const std::string& text, const std::string& file) : xml_(text, file) {}

    NcclNode load() {
        const Xml system = xml_.child("system");
        if (!system) xml_.fail("there is no <system> element", "name a file that NCCL_TOPO_DUMP_FILE wrote");
        for (const Xml cpu : system.children("cpu")) collect(cpu, add_device(VertexKind::cpu, cpu));
        if (gpus_.empty()) xml_.fail("there is no <gpu> element", "dump the topology on a node with GPUs");
        if (nics_.empty()) {
            xml_.fail("there is no <net> element",
                      "add one below its <pci>: <nic><net dev=\"0\" speed=\"200000\"/></nic>");
        }
        return build();
    }

private:
    struct Device {
        VertexKind kind;
        Xml element;
        std::uint32_t vertex = 0;
    };
    struct Wire {
        std::size_t a, b;  ///< devices
        Link link;
    };

    std::size_t add_device(VertexKind kind, const Xml& element) {
        if (devices_.size() == most_devices) {
            xml_.fail(element, fmt::format("more than {} devices", most_devices), "dump a single node");
        }
        devices_.push_back({kind, element});
        return devices_.size() - 1;
    }

    /// "16.0 GT/s PCIe" and "16" lanes.
    Link pcie(const Xml& pci) const {
        const char* const hint = "NCCL writes link_speed like \"16.0 GT/s PCIe\" and link_width like \"16\"";
        const std::string_view speed = pci.attribute("link_speed").value(), width = pci.attribute("link_width").value();
        const bool no_speed = speed.empty() || speed.starts_with("Unknown"), no_width = width.empty() || width == "0";
        const PcieLanes link{
            no_speed ? 8 : xml_.number(pci, "link_speed", PcieLanes::slowest, PcieLanes::fastest, hint),
            no_width ? 16 : xml_.number(pci, "link_width", 1, 64, hint)};
        return {LinkKind::pcie, link.bytes_per_second(), pcie_link_seconds, 1, 0};
    }

    double net_rate(const Xml& net) const {
        return xml_.number(net, "speed", 1, 1e8, "speed is in Mb/s: \"200000\"") * 1e6 / 8;
    }

    /// Devices below a CPU or PCIe switch.
    void collect(const Xml& parent, std::size_t above) {
        for (const Xml net : parent.child("nic").children("net")) {
            nics_.push_back(add_device(VertexKind::nic, net));
            wires_.push_back({nics_.back(), above, {LinkKind::pcie, net_rate(net), pcie_link_seconds, 1, 0}});
        }
        for (const Xml pci : parent.children("pci")) {
            if (const Xml gpu = pci.child("gpu")) {
                by_busid_[pci.attribute("busid").value()] = devices_.size();
                gpus_.push_back(add_device(VertexKind::gpu, gpu));
                wires_.push_back({gpus_.back(), above, pcie(pci)});
            } else if (const Xml nic = pci.child("nic")) {
                for (const Xml net : nic.children("net")) {
                    nics_.push_back(add_device(VertexKind::nic, net));
                    wires_.push_back({nics_.back(), above, pcie(pci)});
                }
            } else {
                const std::size_t bridge = add_device(VertexKind::pcie_switch, pci);
                wires_.push_back({bridge, above, pcie(pci)});
                collect(pci, bridge);
            }
        }
    }

    std::uint32_t count_of(const Xml& links) const {
        return static_cast<std::uint32_t>(xml_.number(links, "count", 1, 64, "write the number of links"));
    }

    /// A GPU lists its links; those to another GPU stand at both ends and are taken at the first.
    void join(std::size_t gpu, const Xml& links, const Link& link) {
        const auto target = by_busid_.find(links.attribute("target").value());
        if (target == by_busid_.end()) xml_.fail_attribute(links, "target", "name the busid of a <pci> with a <gpu>");
        if (target->second > gpu) wires_.push_back({gpu, target->second, link});
    }

    void xgmi_links(std::size_t gpu) {
        const Xml element = devices_[gpu].element;
        const double rate = xgmi_rate(element.attribute("gcn").value());
        for (const Xml xgmi : element.children("xgmi")) {
            if (rate == 0) xml_.fail_attribute(element, "gcn", "xGMI of 910 (gfx90a), gfx942 and gfx950 is known");
            const std::uint32_t count = count_of(xgmi);
            join(gpu, xgmi, {LinkKind::xgmi, rate * count, nvlink_step_seconds, count, 0});
        }
    }

    void nvlinks(std::size_t gpu) {
        const int sm = static_cast<int>(
            xml_.number(devices_[gpu].element, "sm", 10, 999, "sm is the compute capability, 80 for 8.0"));
        for (const Xml nvlink : devices_[gpu].element.children("nvlink")) {
            const std::uint32_t count = count_of(nvlink);
            Link link{LinkKind::nvlink, nvlink_rate(sm) * count, nvlink_step_seconds, count, 0};
            if (std::string_view(nvlink.attribute("tclass").value()) == nvswitch_class) {
                if (nvswitch_ == 0) nvswitch_ = add_device(VertexKind::nvswitch, nvlink);
                link.latency_seconds /= 2;
                wires_.push_back({gpu, nvswitch_, link});
                continue;
            }
            join(gpu, nvlink, link);
        }
    }

    void in_order(std::vector<std::size_t>& devices) const {
        std::ranges::stable_sort(devices, {},
                                 [&](std::size_t d) { return devices_[d].element.attribute("dev").as_int(); });
    }

    NcclNode build() {
        for (const std::size_t gpu : gpus_) {
            if (devices_[gpu].element.attribute("gcn"))
                xgmi_links(gpu);
            else
                nvlinks(gpu);
        }
        in_order(gpus_);
        in_order(nics_);
        if (gpus_.size() % nics_.size() != 0) {
            xml_.fail(fmt::format("{} NICs cannot be shared evenly by {} GPUs", nics_.size(), gpus_.size()),
                      "leave out <net> elements that training does not use (storage, management)");
        }
        NodePlan plan(static_cast<std::uint32_t>(gpus_.size()), static_cast<std::uint32_t>(nics_.size()));
        std::uint32_t vertex = 0;
        for (const auto* kind : {&gpus_, &nics_}) {
            for (const std::size_t d : *kind) devices_[d].vertex = vertex++;
        }
        std::vector<std::uint32_t> cpus;
        for (Device& device : devices_) {
            if (device.kind == VertexKind::gpu || device.kind == VertexKind::nic) continue;
            device.vertex = plan.add(device.kind);
            if (device.kind == VertexKind::cpu) cpus.push_back(device.vertex);
        }
        for (std::size_t a = 0; a < cpus.size(); ++a) {
            for (std::size_t b = a + 1; b < cpus.size(); ++b) {
                plan.connect(cpus[a], cpus[b], {LinkKind::pcie, socket_bytes_per_second, pcie_link_seconds, 1, 0});
            }
        }
        for (const Wire& wire : wires_) plan.connect(devices_[wire.a].vertex, devices_[wire.b].vertex, wire.link);
        plan.finish();
        double slowest = 0;
        for (const std::size_t nic : nics_) {
            const double rate = net_rate(devices_[nic].element);
            slowest = slowest == 0 ? rate : std::min(slowest, rate);
        }
        return {std::move(plan), slowest};
    }

    XmlFile xml_;
    std::vector<Device> devices_;
    std::vector<std::size_t> gpus_, nics_;
    std::vector<Wire> wires_;
    std::map<std::string, std::size_t> by_busid_;
    std::size_t nvswitch_ = 0;  // device 0 is a CPU
};

/// Writes a node as a tree: sockets, PCIe switches, GPUs and NICs; a device hangs below the first PCIe link to it.
class Writer {
public:
    Writer(const NodePlan& node, double nic_bytes_per_second, int sm)
        : node_(node), nic_bytes_per_second_(nic_bytes_per_second), sm_(sm), written_(node.vertices().size(), false) {}

    std::string text() {
        out_ = "<system version=\"1\">\n";
        std::uint32_t numa = 0;
        for (std::uint32_t v = 0; v < node_.vertices().size(); ++v) {
            if (node_.vertices()[v] != VertexKind::cpu) continue;
            out_ += fmt::format("  <cpu numaid=\"{}\">\n", numa++);
            below(v, 4);
            out_ += "  </cpu>\n";
        }
        return out_ + "</system>\n";
    }

private:
    static std::string busid(std::uint32_t vertex) { return fmt::format("0000:{:02x}:00.0", vertex + 1); }

    void below(std::uint32_t parent, std::size_t indent) {
        written_[parent] = true;
        for (const auto& [from, to, link] : node_.links()) {
            const VertexKind kind = node_.vertices()[to];
            if (from != parent || link.kind != LinkKind::pcie || kind == VertexKind::cpu || written_[to]) continue;
            written_[to] = true;
            const char* const pci_class = kind == VertexKind::gpu   ? "0x030200"
                                          : kind == VertexKind::nic ? "0x020000"
                                                                    : "0x060400";
            const PcieLanes pcie = lanes_of(link.bytes_per_second);
            out_ +=
                fmt::format("{:{}}<pci busid=\"{}\" class=\"{}\" link_speed=\"{:.9g} GT/s PCIe\" link_width=\"{}\">\n",
                            "", indent, busid(to), pci_class, pcie.speed, pcie.lanes);
            if (kind == VertexKind::gpu) {
                gpu(to, indent + 2);
            } else if (kind == VertexKind::nic) {
                out_ +=
                    fmt::format("{:{}}<nic>\n{:{}}<net dev=\"{}\" speed=\"{:.0f}\"/>\n{:{}}</nic>\n", "", indent + 2,
                                "", indent + 4, to - node_.gpus(), nic_bytes_per_second_ * 8e-6, "", indent + 2);
            } else {
                below(to, indent + 2);
            }
            out_ += fmt::format("{:{}}</pci>\n", "", indent);
        }
    }

    void gpu(std::uint32_t vertex, std::size_t indent) {
        out_ += fmt::format("{:{}}<gpu dev=\"{}\" sm=\"{}\" rank=\"{}\">\n", "", indent, vertex, sm_, vertex);
        for (const auto& [from, to, link] : node_.links()) {
            if (from != vertex || link.kind != LinkKind::nvlink) continue;
            const bool to_gpu = node_.vertices()[to] == VertexKind::gpu;
            out_ += fmt::format("{:{}}<nvlink target=\"{}\" count=\"{}\" tclass=\"{}\"/>\n", "", indent + 2, busid(to),
                                link.cables, to_gpu ? "0x030200" : nvswitch_class);
        }
        out_ += fmt::format("{:{}}</gpu>\n", "", indent);
    }

    const NodePlan& node_;
    double nic_bytes_per_second_;
    int sm_;
    std::vector<bool> written_;
    std::string out_;
};

}  // namespace

std::string to_nccl_xml(const NodePlan& node, double nic_bytes_per_second, int sm) {
    return Writer(node, nic_bytes_per_second, sm).text();
}

NcclNode parse_nccl_xml(const std::string& text, const std::string& file) { return Loader(text, file).load(); }

NcclNode read_nccl_xml(const std::string& file) {
    return parse_nccl_xml(read_file(file, "name a file that NCCL_TOPO_DUMP_FILE wrote for a single node", most_bytes),
                          file);
}

}  // namespace orrery::topology
