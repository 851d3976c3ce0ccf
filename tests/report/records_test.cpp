// A table once, for people and for programs.
#include "report/records.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace orrery::report {
namespace {

using Json = nlohmann::json;

Records sample() {
    Records all({{"name"},
                 {"bytes", "memory", [](double bytes) { return std::to_string(int(bytes / 1024)) + " KiB"; }},
                 {"fits"},
                 {"note"}});
    all.row({"a, \"b\"", 4096.0, true, {}});
    all.row({"=cmd()", 0.1, false, "-1"});
    return all;
}

TEST(Records, SayTheSameToPeopleAndToPrograms) {
    EXPECT_EQ(sample().text(),
              "name    memory  fits  note\n"
              "------  ------  ----  ----\n"
              "a, \"b\"   4 KiB  yes   -\n"
              "=cmd()   0 KiB  no    -1\n");
    EXPECT_EQ(sample().csv(),
              "name,bytes,fits,note\n"
              "\"a, \"\"b\"\"\",4096,true,\n"
              "'=cmd(),0.1,false,-1\n");
    const Json json = Json::parse(sample().json());
    ASSERT_EQ(json.size(), 2U);
    EXPECT_EQ(json[0], Json({{"name", "a, \"b\""}, {"bytes", 4096}, {"fits", true}, {"note", nullptr}}));
    EXPECT_EQ(json[1]["bytes"], 0.1);
}

TEST(Records, KeepTextsFromBecomingFormulas) {
    EXPECT_EQ(csv_line({"=1+1", "+x", "-x", "@x", "\tx"}), "'=1+1,'+x,'-x,'@x,'\tx\n");
    EXPECT_EQ(csv_line({"-1", "+1e5", "-0.5", "", "a=b"}), "-1,+1e5,-0.5,,a=b\n") << "numbers are no formulas";
    EXPECT_EQ(csv_line({"a\nb", "=a,b"}), "\"a\nb\",\"'=a,b\"\n");
}

TEST(Records, TakeTheRowsOfADocument) {
    const nlohmann::ordered_json rows{{{"stage", 0}, {"seconds", {{"gemm", 1.5}, {"bubble", 0}}}},
                                      {{"stage", 1}, {"links", {1, 2}}, {"empty", nlohmann::ordered_json::object()}}};
    EXPECT_EQ(Records::of(rows).csv(),
              "stage,seconds.gemm,seconds.bubble,links,empty\n"
              "0,1.5,0,,\n"
              "1,,,\"[1,2]\",{}\n");
    EXPECT_EQ(Records::of(nlohmann::ordered_json::array()).csv(), "\n");
}

TEST(Records, HaveNoWordForNumbersThatAreNone) {
    Records all({{"x"}});
    all.row({std::numeric_limits<double>::quiet_NaN()});
    EXPECT_EQ(all.csv(), "x\n\n");
    EXPECT_THROW(all.row({1, 2}), std::invalid_argument);
}

}  // namespace
}  // namespace orrery::report
