// One visitor made of several functions, for std::visit.
#pragma once

namespace orrery {

template <class... Fs>
struct Overloaded : Fs... {
    using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;  // clang before 17 does not deduce it for aggregates

}  // namespace orrery
