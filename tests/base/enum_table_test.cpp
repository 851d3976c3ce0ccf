// Tables by enumeration: counted by the compiler, indexed within bounds.
#include "base/enum_table.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <type_traits>

namespace orrery {
namespace {

enum class Colour : std::uint8_t { red, green, blue };
enum class Single : std::uint8_t { only };
struct Nested {
    enum class Kind : std::uint8_t { a, b };
};

static_assert(enumerators<Colour> == 3);
static_assert(enumerators<Single> == 1);
static_assert(enumerators<Nested::Kind> == 2);

constexpr EnumNames<Colour> names{"red", "green", "blue"};

TEST(EnumTable, HoldsOneValueForEachEnumerator) {
    EXPECT_EQ(names[Colour::red], "red");
    EXPECT_EQ(names[Colour::blue], "blue");
    EXPECT_EQ(names.size(), 3U);
    EXPECT_EQ(names.find("green"), Colour::green);
    EXPECT_EQ(names.find("mauve"), std::nullopt);
}

TEST(EnumTable, RefusesWhatIsNoEnumerator) {
    EXPECT_THROW((void)names[static_cast<Colour>(3)], std::out_of_range);
    EXPECT_THROW((void)names[static_cast<Colour>(255)], std::out_of_range);
}

TEST(EnumTable, HoldsOtherThingsThanNames) {
    struct Row {
        int a, b;
    };
    constexpr EnumTable<Nested::Kind, Row> rows{Row{1, 2}, Row{3, 4}};
    EXPECT_EQ(rows[Nested::Kind::b].a, 3);
}

}  // namespace
}  // namespace orrery
