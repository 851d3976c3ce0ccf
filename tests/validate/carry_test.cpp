#include "validate/carry.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "tests/validate/sample.hpp"
#include "validate/output.hpp"

namespace orrery::validate {

using nlohmann::json;

namespace {

json file_of(const std::vector<json>& rows) {
    return {{"source", "lab"}, {"meta", {{"what", "a lab"}}}, {"rows", rows}};
}

json described() {
    json row = test::megatron();
    row["certainty"] = "read twice";
    row["notes"] = "long remarks";
    row["model"]["dims_source"] = "a script";
    row["model"]["experts"] = nullptr;
    row["measured"]["breakdown_ms"] = {{"forward", 1.0}};
    row["measured"]["step_time_p95"] = 5;
    row["measured"]["tokens_per_s"] = 8000;
    row["switches"]["section"] = "page 3";
    return row;
}

std::string read(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

}  // namespace

TEST(Carry, DropsWhatIsNotRead) {
    const std::string text = carried(parse_rows(file_of({described()}).dump(), "lab.json"));
    for (const char* gone :
         {"certainty", "notes", "dims_source", "experts", "breakdown_ms", "p95", "tokens_per_s", "section"})
        EXPECT_EQ(text.find(gone), std::string::npos) << gone;
    for (const char* kept : {"\"source\": \"lab\"", "a lab", "arxiv.org", "step_time_s", "Megatron-LM", "8x HDR"})
        EXPECT_NE(text.find(kept), std::string::npos) << kept;
}

TEST(Carry, KeepsTheRemarkThatIsRead) {
    json row = described();
    row["notes"] = "DDP=torch (overlapped) for small models";
    const std::string text = carried(parse_rows(file_of({row}).dump(), "lab.json"));
    EXPECT_EQ(text.find("DDP=torch"), std::string::npos) << "the remark becomes a field";
    EXPECT_NE(text.find("\"overlap\":true"), std::string::npos) << text;
    row["pp"] = 2;
    EXPECT_NE(carried(parse_rows(file_of({row}).dump(), "lab.json")).find("\"overlap\":false"), std::string::npos);
}

TEST(Carry, SharedFieldsAreDefaults) {
    json second = described();
    second["id"] = "sample/2";
    second["model"]["layers"] = 8;
    const std::string text = carried(parse_rows(file_of({described(), second}).dump(), "lab.json"));
    const json document = json::parse(text);
    EXPECT_EQ(document["defaults"]["model"]["hidden"], 1024);
    EXPECT_FALSE(document["defaults"]["model"].contains("layers"));
    EXPECT_EQ(document["rows"][0], (json{{"id", "sample/1"}, {"model", {{"layers", 4}}}}));
}

TEST(Carry, CarriedRowsPredictTheSame) {
    json second = described(), third = described();
    second["pp"] = 2, second["tp"] = 1;
    third["sharding"] = "ZeRO-3";
    const test::Folder full, compact, again;
    full.write("lab.json", file_of({described(), second, third}).dump(1));
    carry(full.path(), compact.path() / "new");
    carry(compact.path() / "new", again.path());
    EXPECT_EQ(read(compact.path() / "new" / "lab.json"), read(again.path() / "lab.json"));
    const auto report = [](const test::Folder& folder) {
        return to_json(validate_files({folder.path() / "lab.json"}, test::constant(3))).dump();
    };
    EXPECT_EQ(report(full), report(again));
}

TEST(Carry, RefusesFoldersWithoutRows) {
    const test::Folder empty, broken;
    broken.write("lab.json", "[]");
    EXPECT_THROW(carry(empty.path(), empty.path()), Error);
    EXPECT_THROW(carry("no/such/folder", empty.path()), Error);
    EXPECT_THROW(carry(broken.path(), empty.path()), Error);
    EXPECT_TRUE(std::filesystem::is_empty(empty.path()));
}

TEST(Carry, OverwritesOnlyWhatItWrote) {
    json second = described();
    second["pp"] = 2, second["tp"] = 1;
    const test::Folder full, into;
    full.write("a.json", file_of({described()}).dump(1));
    full.write("lab.json", file_of({described(), second}).dump(1));
    carry(full.path(), into.path());
    EXPECT_NO_THROW(carry(full.path(), into.path())) << "it made them";
    EXPECT_THROW(carry(full.path(), full.path()), Error) << "the full files would be lost";
    into.write("lab.json", "notes of mine");
    std::filesystem::remove(into.path() / "a.json");
    EXPECT_THROW(carry(full.path(), into.path()), Error);
    EXPECT_EQ(read(into.path() / "lab.json"), "notes of mine");
    EXPECT_FALSE(std::filesystem::exists(into.path() / "a.json")) << "nothing is written beside it";
}

}  // namespace orrery::validate
