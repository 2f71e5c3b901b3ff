#include "cupti.h"

#include <string.h>

/* A set is its predecessor and more, so the tables are written once. Counters
 * are chosen so that the hardware's registers hold them: adding one to SEARCH
 * costs a second pass on every chip, adding one to LEAN a third on some.
 *
 * What a pass costs is the programming of the units it counts in. Measured on
 * an H200: those of the second-level cache 11 ms, of DRAM 5 ms, those inside an
 * SM 2 ms, and 7 ms for the end of any pass. So the second pass of LEAN stays
 * inside the SMs, 4 ms; its L2 hit rate is that of tags, of the first pass,
 * and the one of sectors, which would make the second pass 22 ms, is in FULL. */
#define SEARCH                                                              \
    { "time_ns", "gpu__time_duration.sum" },                                \
    { "cycles", "sm__cycles_elapsed.max" },                                 \
    { "dram_bytes", "dram__bytes.sum" },                                    \
    { "dram_pct", "dram__throughput.avg.pct_of_peak_sustained_elapsed" },   \
    { "l2_pct", "lts__t_sectors.avg.pct_of_peak_sustained_elapsed" },       \
    { "l2_sectors", "lts__t_sectors.sum" },                                 \
    { "l2_requests", "lts__t_requests.sum" },                               \
    { "l2_tags", "lts__t_tag_requests.sum" },                               \
    { "l2_tag_misses", "lts__t_tag_requests_miss.sum" },                    \
    { "occupancy_pct",                                                      \
      "sm__warps_active.avg.pct_of_peak_sustained_active" },                \
    { "instructions", "smsp__inst_executed.sum" },                          \
    { "issue_pct",                                                          \
      "smsp__inst_executed.avg.pct_of_peak_sustained_elapsed" },            \
    { "issue_active_pct",                                                   \
      "smsp__inst_executed.avg.pct_of_peak_sustained_active" },             \
    { "threads_per_instruction",                                            \
      "smsp__thread_inst_executed_per_inst_executed.ratio" },               \
    { "tensor_pct",                                                         \
      "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed" },  \
    { "shared_conflicts",                                                   \
      "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum" },               \
    { "shared_wavefronts",                                                  \
      "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum" }

#define LEAN SEARCH,                                                        \
    { "l1_hit_pct", "l1tex__t_sector_hit_rate.pct" },                       \
    { "issue_slots_pct",                                                    \
      "smsp__issue_active.avg.pct_of_peak_sustained_active" },              \
    { "tensor_instructions", "sm__inst_executed_pipe_tensor.sum" }

#define SASS(key, op)                                                       \
    { key, "smsp__sass_thread_inst_executed_op_" op "_pred_on.sum" }

#define STALL(reason)                                                       \
    { "stall_" reason, "smsp__warps_issue_stalled_" reason ".sum" }

#define BUSIEST(key, unit)                                                  \
    { key, unit "_throughput.avg.pct_of_peak_sustained_elapsed" }

static const struct kb_cupti_metric search[] = { SEARCH };
static const struct kb_cupti_metric lean[] = { LEAN };
static const struct kb_cupti_metric full[] = {
    LEAN,
    { "l2_hit_pct", "lts__t_sector_hit_rate.pct" },
    { "load_sector_pct",
      "smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct" },
    { "store_sector_pct",
      "smsp__sass_average_data_bytes_per_sector_mem_global_op_st.pct" },
    { "spill_loads", "smsp__sass_inst_executed_op_local_ld.sum" },
    { "spill_stores", "smsp__sass_inst_executed_op_local_st.sum" },
    SASS("f32_add", "fadd"), SASS("f32_mul", "fmul"), SASS("f32_fma", "ffma"),
    SASS("f16_add", "hadd"), SASS("f16_mul", "hmul"), SASS("f16_fma", "hfma"),
    SASS("f64_add", "dadd"), SASS("f64_mul", "dmul"), SASS("f64_fma", "dfma"),
    STALL("long_scoreboard"), STALL("short_scoreboard"), STALL("barrier"),
    STALL("math_pipe_throttle"), STALL("mio_throttle"),
    STALL("lg_throttle"), STALL("wait"), STALL("not_selected"),
    STALL("no_instruction"),
    BUSIEST("sm_throughput_pct", "sm_"),
    BUSIEST("l1_throughput_pct", "l1tex_"),
    BUSIEST("l2_throughput_pct", "lts_"),
    BUSIEST("memory_throughput_pct", "gpu__compute_memory")
};

#define SET(table, most)                                                    \
    { #table, table, sizeof table / sizeof table[0], most }
const struct kb_cupti_set kb_cupti_search = SET(search, 1);
const struct kb_cupti_set kb_cupti_lean = SET(lean, 2);
const struct kb_cupti_set kb_cupti_full = SET(full, 14);

const struct kb_cupti_set *kb_cupti_set(const char *name)
{
    return strcmp(name, "search") == 0 ? &kb_cupti_search
         : strcmp(name, "lean") == 0 ? &kb_cupti_lean
         : strcmp(name, "full") == 0 ? &kb_cupti_full : NULL;
}
