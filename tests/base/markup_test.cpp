#include "base/markup.hpp"

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(Markup, NothingOfATextIsMarkup) {
    EXPECT_EQ(escaped_markup("a < b && \"c\" > d"), "a &lt; b &amp;&amp; &quot;c&quot; &gt; d");
    EXPECT_EQ(escaped_markup("<script>alert('x')</script>"), "&lt;script&gt;alert('x')&lt;/script&gt;");
}

TEST(Markup, ControlCharactersAreBlanksAndOtherTextIsKept) {
    EXPECT_EQ(escaped_markup(std::string_view("one\ntwo\0three\x1b", 14)), "one two three ");
    EXPECT_EQ(escaped_markup("\xe8\xae\xad\xe7\xbb\x83"), "\xe8\xae\xad\xe7\xbb\x83");
    EXPECT_EQ(escaped_markup(""), "");
}

}  // namespace
}  // namespace orrery
