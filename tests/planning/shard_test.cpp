// Parts of a sweep: which points each has, and that only all parts of one sweep make a whole.
#include "planning/sweep/shard.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "base/file_replacement.hpp"
#include "base/read_file.hpp"
#include "base/temporary_folder.hpp"

namespace orrery::planning {
namespace {

const Points points("small", {{"strategy.tensor", {"1", "2", "4"}}, {"gpus", {"8", "16", "32", "64"}}});

Answer answer_of(std::uint64_t point) {
    if (point % 5 == 3) return {{}, "/strategy: \"no\""};
    Outcome outcome;
    outcome.step_s = 1.0 / static_cast<double>(point + 3);
    outcome.gpus = static_cast<std::uint32_t>(point);
    outcome.bottleneck = "bubble";
    return {outcome, {}};
}

std::string part(std::uint64_t number, std::uint64_t of, const std::string& fingerprint = "f") {
    const Shard shard{number, of};
    std::vector<Answer> answers;
    for (std::uint64_t i = 0; i < shard.points(points.points()); ++i) answers.push_back(answer_of(shard.point(i)));
    return shard_json(points, shard, fingerprint, answers);
}

class Parts : public testing::Test {
protected:
    std::string file(const std::string& name, const std::string& text) {
        const std::string path = (folder_.path() / name).string();
        replace_file(path, text);
        return path;
    }
    /// The message of the refusal.
    static std::string refused(const std::vector<std::string>& files) {
        try {
            (void)merge(files);
        } catch (const Error& error) {
            EXPECT_FALSE(error.hint().empty()) << error.what();
            return error.what();
        }
        return "nothing was refused";
    }
    static bool says(const std::string& text, const std::string& words) { return text.find(words) != text.npos; }

private:
    TemporaryFolder folder_{"shards"};
};

TEST_F(Parts, InAnyOrderMakeTheWhole) {
    for (const std::uint64_t of : {1U, 2U, 5U, 12U, 13U}) {
        std::vector<std::string> files;
        for (std::uint64_t number = of; number > 0; --number)
            files.push_back(file(std::to_string(number), part(number, of)));
        const Merged merged = merge(files);
        EXPECT_EQ(merged.points.axes(), points.axes());
        EXPECT_EQ(merged.points.name(), "small");
        ASSERT_EQ(merged.answers.size(), points.points());
        for (std::uint64_t point = 0; point < merged.answers.size(); ++point)
            EXPECT_EQ(merged.answers[point], answer_of(point)) << of << ' ' << point;
    }
}

TEST_F(Parts, ThatDoNotBelongTogetherAreRefusedByName) {
    const std::string one = file("one", part(1, 3)), two = file("two", part(2, 3)), three = file("three", part(3, 3));
    EXPECT_TRUE(says(refused({one, three}), "2/3"));
    EXPECT_TRUE(says(refused({one, two, two, three}), "two: is part 2/3, as"));
    EXPECT_TRUE(says(refused({one, two, file("b", part(3, 3, "g"))}), "b: is a part of another sweep"));
    EXPECT_TRUE(says(refused({one, two, file("c", part(3, 4))}), "c: is one of 4 parts"));
    EXPECT_TRUE(says(refused({one, two, file("d", "{}")}), "/d:"));
    EXPECT_TRUE(says(refused({one, two, file("e", part(3, 3).substr(0, 300))}), "/e:"));
    EXPECT_TRUE(says(refused({one, two, "no-such-file"}), "no-such-file"));
    std::string other = part(3, 3);
    other.replace(other.find("\"point\":5"), 9, "\"point\":6");
    EXPECT_TRUE(says(refused({one, two, file("f", other)}), "/points/1/point"));
}

TEST(Shard, IsANumberOfParts) {
    EXPECT_EQ(parse_shard("3/16").text(), "3/16");
    for (const char* text : {"", "3", "/", "3/", "0/4", "5/4", "-1/4", "1/4x", "1/0", "1/999999999"})
        EXPECT_THROW((void)parse_shard(text), Error) << text;
}

TEST(Shard, HasEveryPointOnce) {
    for (const std::uint64_t of : {1U, 3U, 7U, 20U}) {
        std::vector<int> seen(points.points());
        for (std::uint64_t number = 1; number <= of; ++number) {
            const Shard shard{number, of};
            for (std::uint64_t i = 0; i < shard.points(points.points()); ++i) ++seen.at(shard.point(i));
        }
        EXPECT_EQ(seen, std::vector<int>(points.points(), 1)) << of;
    }
}

}  // namespace
}  // namespace orrery::planning
