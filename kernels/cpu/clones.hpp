// Loops compiled for each generation of vectors; the program picks when it starts.
#pragma once

/// Before a function whose loops g++ is to vectorise for SSE2, AVX2 and AVX-512. Under a sanitizer there is one
/// version: the choice runs before the sanitizer does; and clang 14 exports it, so that two files could not each have a
/// function of that name.
#if defined(__clang__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ORRERY_CLONED
#else
#define ORRERY_CLONED [[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]]
#endif
