#include "planning/journal.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/error.hpp"
#include "base/read_file.hpp"
#include "base/temporary_folder.hpp"

namespace orrery::planning {
namespace {

const Question question{"sweep", "00ff", 100};

Answer answer_of(std::uint64_t point) {
    Answer answer;
    answer.outcome = {.gpus = 8,
                      .step_s = 1.0 / static_cast<double>(point + 3),
                      .tokens_per_s = 1e7 / 3,
                      .memory_needed = (std::uint64_t{1} << 53U) + point,
                      .fits = point % 2 == 0,
                      .bottleneck = "GEMM \"68%\", comma"};
    if (point % 5 == 4) answer = {{}, "/strategy/tensor: no"};
    return answer;
}

std::string file_of(const TemporaryFolder& folder) { return (folder.path() / "log").string(); }

void write(const std::string& file, const std::string& text) { std::ofstream(file, std::ios::binary) << text; }

TEST(Journal, ALineGivesBackItsAnswerToTheBit) {
    for (std::uint64_t point = 0; point < 10; ++point)
        EXPECT_EQ(from_line(to_line(point, answer_of(point))), std::pair(point, answer_of(point)));
}

TEST(Journal, GoesOnFromWhereverItWasCut) {
    const TemporaryFolder folder("journal");
    const std::string file = file_of(folder);
    {
        Journal journal(file, question, Journal::Start::go_on);
        EXPECT_TRUE(journal.found().empty());
        for (std::uint64_t point = 0; point < 10; ++point) journal.append(point, answer_of(point));
    }
    const std::string whole = read_file(file);
    std::size_t fewest = 10;
    constexpr std::size_t stride = 29;  // meets ends of lines and what lies between them
    for (std::size_t length = whole.size() / stride * stride + stride; length > 0;) {
        length -= stride;
        write(file, whole.substr(0, length));
        {
            Journal journal(file, question, Journal::Start::go_on);
            EXPECT_LE(journal.found().size(), fewest) << length;
            fewest = journal.found().size();
            for (const auto& [point, answer] : journal.found()) EXPECT_EQ(answer, answer_of(point));
            for (std::uint64_t point = 0; point < 10; ++point)
                if (!journal.found().contains(point)) journal.append(point, answer_of(point));
        }
        EXPECT_EQ(read_file(file), whole) << length;
    }
    EXPECT_EQ(fewest, 0U);
}

TEST(Journal, WhatIsDamagedIsAskedAgain) {
    const TemporaryFolder folder("journal");
    const std::string file = file_of(folder);
    {
        Journal journal(file, question, Journal::Start::go_on);
        for (std::uint64_t point = 0; point < 10; ++point) journal.append(point, answer_of(point));
    }
    std::string text = read_file(file);
    text.replace(text.find("\"point\":6"), 9, std::string(9, '\0'));  // as a machine that died leaves it
    write(file, text);
    const Journal journal(file, question, Journal::Start::go_on);
    EXPECT_EQ(journal.found().size(), 6U);
}

TEST(Journal, OtherFilesAndOtherQuestionsAreRefused) {
    const TemporaryFolder folder("journal");
    const std::string file = file_of(folder);
    const auto refused = [&](const Question& asked, Journal::Start start) {
        try {
            const Journal journal(file, asked, start);
            return std::string();
        } catch (const Error& error) {
            EXPECT_EQ(error.file(), file);
            EXPECT_NE(error.hint(), "");
            return error.message();
        }
    };
    write(file, "my thesis\n");
    for (const auto start : {Journal::Start::go_on, Journal::Start::afresh})
        EXPECT_EQ(refused(question, start), "is no log of a sweep and is not overwritten");
    EXPECT_EQ(read_file(file), "my thesis\n");
    std::filesystem::remove(file);
    { Journal(file, question, Journal::Start::go_on).append(3, answer_of(3)); }
    EXPECT_NE(refused({"sweep", "00fe", 100}, Journal::Start::go_on), "");
    EXPECT_EQ(refused({"sweep", "00fe", 100}, Journal::Start::afresh), "");
    const Journal first(file, {"sweep", "00fe", 100}, Journal::Start::go_on);
    EXPECT_EQ(refused({"sweep", "00fe", 100}, Journal::Start::go_on), "is being written by another sweep");
}

}  // namespace
}  // namespace orrery::planning
