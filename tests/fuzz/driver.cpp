// The targets under libFuzzer: one program, which is the target that it is called by the name of.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "tests/fuzz/mutate.hpp"
#include "tests/fuzz/target.hpp"

namespace {

using namespace orrery;

const fuzz::Target* target = nullptr;

std::string text(const std::uint8_t* data, std::size_t size) { return {reinterpret_cast<const char*>(data), size}; }

std::size_t put(const std::string& bytes, std::uint8_t* data, std::size_t most) {
    const std::size_t size = std::min(bytes.size(), most);
    std::memcpy(data, bytes.data(), size);
    return size;
}

}  // namespace

extern "C" {

std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

int LLVMFuzzerInitialize(int*, char*** arguments) {
    const std::string name = std::filesystem::path(**arguments).filename().string();
    target = fuzz::find_target(name);
    if (target != nullptr) return 0;
    std::fprintf(stderr, "%s is no target; call the program by the name of one:", name.c_str());
    for (const fuzz::Target& known : fuzz::targets()) std::fprintf(stderr, " %s", std::string(known.name).c_str());
    std::fputc('\n', stderr);
    std::exit(2);
}

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    (void)target->run(text(data, size));
    return 0;
}

std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
    fuzz::Random random(seed);
    if (random() % 8 == 0) return LLVMFuzzerMutate(data, size, most);
    return put(fuzz::mutated(target->form, text(data, size), random), data, most);
}

std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* one, std::size_t one_size, const std::uint8_t* other,
                                      std::size_t other_size, std::uint8_t* out, std::size_t most, unsigned seed) {
    fuzz::Random random(seed);
    return put(fuzz::spliced(target->form, text(one, one_size), text(other, other_size), random), out, most);
}

}  // extern "C"
