// The table of GPUs: every row complete, every name found.
#include "hardware/gpu.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "base/enum_table.hpp"

namespace orrery::hardware {
namespace {

TEST(GpuTable, FindsEveryNameWhateverItsCase) {
    for (const std::string_view each : names()) {
        ASSERT_NE(find(each), nullptr) << each;
        std::string upper(each);
        std::ranges::transform(upper, upper.begin(),
                               [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
        EXPECT_EQ(find(upper), find(each));
    }
    EXPECT_EQ(find(""), nullptr);
    EXPECT_EQ(find("A101"), nullptr);
}

TEST(GpuTable, SaysOfNvidiaBoardsWhatNcclAsksFor) {
    for (const Gpu& gpu : gpus()) {
        SCOPED_TRACE(gpu.name);
        EXPECT_FALSE(gpu.datasheet.empty());
        const Vendor of = vendor(gpu.socket);
        EXPECT_EQ(gpu.compute_capability > 0, of == Vendor::nvidia);
        EXPECT_EQ(gpu.host != HostProcessor::none, of == Vendor::nvidia || of == Vendor::amd);
    }
    EXPECT_EQ(find("B300")->compute_capability, 103);
    EXPECT_EQ(find("CPU-core")->compute_capability, 0);
}

TEST(GpuTable, NamesEverySocket) {
    std::set<std::string_view> seen;
    for (std::size_t i = 0; i < enumerators<Socket>; ++i) EXPECT_TRUE(seen.insert(name(static_cast<Socket>(i))).second);
}

}  // namespace
}  // namespace orrery::hardware
