#include "base/text.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

namespace orrery {

namespace {

std::string folded(std::string_view name) {
    std::string text(name);
    for (char& c : text) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        if (c == '_' || c == ' ') c = '-';
    }
    return text;
}

/// Smaller is likelier: 0 begins with, 1 contains, 2 resembles; then the distance.
std::pair<int, std::size_t> unlikeness(const std::string& wanted, const std::string& name) {
    const bool something = !wanted.empty();
    const int kind = something && name.starts_with(wanted) ? 0 : something && name.find(wanted) != name.npos ? 1 : 2;
    return {kind, edit_distance(wanted, name)};
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
    for (std::size_t i = 0; i <= a.size(); ++i) {
        for (std::size_t j = 0; j <= b.size(); ++j) {
            if (i == 0 || j == 0) {
                cost[i][j] = i + j;
                continue;
            }
            const std::size_t replaced = cost[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
            cost[i][j] = std::min({replaced, cost[i - 1][j] + 1, cost[i][j - 1] + 1});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
        }
    }
    return cost[a.size()][b.size()];
}

std::vector<std::string> nearest(std::string_view wanted, std::span<const std::string_view> names, std::size_t count) {
    const std::string key = folded(wanted);
    std::vector<std::tuple<int, std::size_t, std::size_t>> ranked;  // kind, distance, place in the list
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto [kind, distance] = unlikeness(key, folded(names[i]));
        ranked.emplace_back(kind, distance, i);
    }
    std::sort(ranked.begin(), ranked.end());
    std::vector<std::string> best;
    for (const auto& entry : ranked) {
        if (best.size() == count) break;
        best.emplace_back(names[std::get<2>(entry)]);
    }
    return best;
}

std::string lower(std::string_view text) {
    std::string result(text);
    for (char& c : result)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    return result;
}

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view blanks = " \t\r";
    const std::size_t first = text.find_first_not_of(blanks);
    if (first == text.npos) return {};
    return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string shell_word(std::string_view word) {
    constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./=:,+@%";
    if (!word.empty() && word.find_first_not_of(plain) == std::string_view::npos) return std::string(word);
    std::string text = "'";
    for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return text + "'";
}

}  // namespace orrery
