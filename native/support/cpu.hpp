// Function multiversioning: one source, compiled for several x86-64 levels, chosen when the module is loaded.
#pragma once

#if defined(WORDFERRY_MULTIVERSION)
#define WF_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define WF_CLONES
#endif

namespace wordferry {

// The variant that WF_CLONES functions run as: "x86-64-v4", "x86-64-v3", "x86-64", or "plain" without clones.
const char* cpu_variant();

}  // namespace wordferry
