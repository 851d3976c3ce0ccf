#include "cli/worker/leader.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "cli/worker/answer_text.hpp"

namespace orrery::worker {

Leader::~Leader() {
    if (carrier_.joinable()) {
        {
            const std::lock_guard lock(mutex_);
            closing_ = true;
        }
        carrier_.join();
    }
    for (std::uint32_t rank = 1; rank < office_.ranks(); ++rank) send(office_, rank, Letter::finished);
}

planning::Crew Leader::crew(unsigned threads) {
    wake();
    carrier_ = std::thread([this] { carry(); });
    return [this, threads](const planning::Simulate& here) {
        std::vector<planning::Simulate> hands(threads, here);
        for (std::uint32_t rank = 1; rank < threads_.size(); ++rank)
            for (unsigned thread = 0; thread < threads_[rank]; ++thread)
                hands.emplace_back([this, rank](const planning::Work& work) { return ask(rank, work); });
        return hands;
    };
}

void Leader::wake() {
    threads_.assign(office_.ranks(), 0);
    for (std::uint32_t rank = 1; rank < office_.ranks(); ++rank) send(office_, rank, Letter::begin);
    for (std::uint32_t ready = 1; ready < office_.ranks(); ++ready) {
        const kernels::Mail mail = office_.wait();
        if (letter_of(mail) != Letter::ready) throw std::runtime_error(mail.text);
        threads_[mail.from] = static_cast<unsigned>(std::stoul(mail.text));
    }
}

planning::Answer Leader::ask(std::uint32_t rank, const planning::Work& work) {
    std::future<std::string> answer;
    {
        const std::lock_guard lock(mutex_);
        if (!failed_.empty()) throw std::runtime_error(failed_);
        const std::uint64_t number = next_++;
        answer = waiting_[number].get_future();
        outbox_.push_back({number, rank, planning::to_line(work)});
    }
    return answer_of(answer.get(), fmt::format("rank {}", rank));
}

void Leader::carry() {
    try {
        for (kernels::Patience patience;; patience.wait()) {
            bool moved = send_all();
            while (const std::optional<kernels::Mail> mail = office_.receive()) {
                deliver(*mail);
                moved = true;
            }
            if (moved) patience.reset();
            const std::lock_guard lock(mutex_);
            if (closing_) return;
        }
    } catch (const std::exception& failure) {
        fail_all(failure.what());
    }
}

bool Leader::send_all() {
    std::vector<Asked> letters;
    {
        const std::lock_guard lock(mutex_);
        letters.swap(outbox_);
    }
    for (const Asked& letter : letters) send(office_, letter.rank, Letter::work, numbered(letter.number, letter.work));
    return !letters.empty();
}

void Leader::deliver(const kernels::Mail& mail) {
    if (letter_of(mail) != Letter::answer) return fail_all(mail.text);
    auto [number, text] = take_number(mail.text);
    const std::lock_guard lock(mutex_);
    const auto asked = waiting_.find(number);
    if (asked == waiting_.end()) return;
    asked->second.set_value(std::move(text));
    waiting_.erase(asked);
}

void Leader::fail_all(const std::string& why) {
    const std::lock_guard lock(mutex_);
    failed_ = why;
    for (auto& [number, asked] : waiting_) asked.set_exception(std::make_exception_ptr(std::runtime_error(why)));
    waiting_.clear();
}

}  // namespace orrery::worker
