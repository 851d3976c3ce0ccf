#include "cli/worker/server.hpp"

#include <optional>
#include <thread>

#include "cli/worker/answer_text.hpp"

namespace orrery::worker {

void Server::run(unsigned threads) {
    std::vector<std::thread> workers;
    for (unsigned i = 0; i < threads; ++i) workers.emplace_back([this] { work(); });
    send(office_, 0, Letter::ready, std::to_string(threads));
    carry();
    close();
    for (std::thread& worker : workers) worker.join();
}

void Server::carry() {
    for (kernels::Patience patience;; patience.wait()) {
        std::vector<std::string> letters;
        {
            const std::lock_guard lock(mutex_);
            letters.swap(outbox_);
        }
        for (const std::string& letter : letters) send(office_, 0, Letter::answer, letter);
        if (!letters.empty()) patience.reset();
        while (std::optional<kernels::Mail> mail = office_.receive()) {
            if (letter_of(*mail) == Letter::finished) return;
            const std::lock_guard lock(mutex_);
            inbox_.push_back(std::move(mail->text));
            came_.notify_one();
            patience.reset();
        }
    }
}

void Server::work() {
    for (;;) {
        std::string asked;
        {
            std::unique_lock lock(mutex_);
            came_.wait(lock, [this] { return closed_ || !inbox_.empty(); });
            if (closed_) return;
            asked = std::move(inbox_.front());
            inbox_.pop_front();
        }
        const auto [number, text] = take_number(asked);
        std::string answer = numbered(number, answer_text(simulate_, text));
        const std::lock_guard lock(mutex_);
        outbox_.push_back(std::move(answer));
    }
}

void Server::close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    came_.notify_all();
}

}  // namespace orrery::worker
