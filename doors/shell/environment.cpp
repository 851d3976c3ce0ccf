#include "doors/shell/environment.hpp"

#include "base/error.hpp"

namespace orrery::doors::shell {

namespace {

constexpr std::size_t most_characters = 8U << 20U;  // hundreds of times what the longest launch scripts make

}  // namespace

const Variable* Environment::find(std::string_view name) const {
    const auto found = variables_.find(name);
    return found == variables_.end() ? nullptr : &found->second;
}

void Environment::spend(std::size_t characters) const {
    spent_ += characters;
    if (spent_ > most_characters)
        throw Error("", "", "the script's variables grow beyond any launch", "give the arguments themselves, after --");
}

}  // namespace orrery::doors::shell
