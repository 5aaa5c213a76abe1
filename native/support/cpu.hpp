// Instruction sets: on x86-64 the module is built for several levels, and the first one loads that of the processor.
#pragma once

namespace wordferry {

// The level that this module was compiled for: "x86-64-v4", "x86-64-v3" or "x86-64"; "plain" where there is one build.
const char* cpu_variant();

// The highest of these levels (4, 3 or 1) that the processor and the system have; WORDFERRY_CPU_LEVEL may lower it.
int cpu_level();

}  // namespace wordferry
