#include "runtime/report/report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char *text(const json_t *object, const char *key) {
  const char *value = json_string_value(json_object_get(object, key));
  return value ? value : "-";
}
static long long whole(const json_t *object, const char *key) {
  return json_integer_value(json_object_get(object, key));
}
static double number(const json_t *object, const char *key) {
  return json_number_value(json_object_get(object, key));
}

/* 1234.5 -> "1.23 k": three digits and a prefix, 999.7 -> "1 k": what rounds to the next prefix has that. */
static const char *scaled(char buffer[32], double value, const char *unit) {
  static const struct {
    double factor;
    const char *prefix;
  } prefixes[] = {{1e12, "T"}, {1e9, "G"},  {1e6, "M"},  {1e3, "k"},
                  {1, ""},     {1e-3, "m"}, {1e-6, "u"}, {1e-9, "n"}};
  size_t last = sizeof prefixes / sizeof *prefixes - 1, i = 0;
  while (i < last && fabs(value) < 0.9995 * prefixes[i].factor) i++;
  if (value == 0) i = 4;
  snprintf(buffer, 32, "%.3g %s%s", value / prefixes[i].factor, prefixes[i].prefix, unit);
  return buffer;
}

static void row(FILE *out, const char *label, const char *value) {
  fprintf(out, "  %-14s %s\n", label, value);
}

/* How far from what any way of computing the same would take, and what that is bound by. */
static void print_bound(const json_t *report, FILE *out) {
  char a[32], line[160];
  double peak = number(json_object_get(report, "dram_bytes_per_cycle"), "peak"),
         bytes = number(report, "compulsory_bytes");
  long long least = whole(report, "bound_cycles");
  int length =
      snprintf(line, sizeof line, "%.1f %%: %lld cycles at least, for ", 100 * number(report, "sol"), least);
  if (ceil(bytes / peak) < (double)least)
    snprintf(line + length, sizeof line - (size_t)length, "the multiply-adds");
  else
    snprintf(line + length, sizeof line - (size_t)length, "%s to and from DRAM", scaled(a, bytes, "B"));
  row(out, "speed of light", line);
}

static void print_dram(const json_t *report, FILE *out) {
  char a[32], b[32], c[32], d[32], line[200];
  const json_t *bytes = json_object_get(report, "dram_bytes"),
               *rate = json_object_get(report, "dram_bytes_per_cycle");
  int length = snprintf(line, sizeof line, "%s read, %s written", scaled(a, number(bytes, "read"), "B"),
                        scaled(b, number(bytes, "write"), "B"));
  if (json_is_real(json_object_get(rate, "achieved")))
    snprintf(line + length, sizeof line - (size_t)length, ": %s of %s, %.1f of %.4g B a cycle",
             scaled(c, number(rate, "achieved") * number(report, "clock_hz"), "B/s"),
             scaled(d, number(rate, "peak") * number(report, "clock_hz"), "B/s"), number(rate, "achieved"),
             number(rate, "peak"));
  row(out, "DRAM", line);
}

/* What a sample costs, and what for: shares of 1 % and more, in the order of the report's kinds. */
static void print_energy(const json_t *report, FILE *out) {
  char a[32], b[32], c[32], line[240];
  const json_t *energy = json_object_get(report, "energy");
  double joules = number(energy, "joules");
  if (!json_is_object(energy)) return;
  snprintf(line, sizeof line, "%s, %s a sample, %s on average; prices %.60s", scaled(a, joules, "J"),
           scaled(b, number(energy, "joules_per_sample"), "J"), scaled(c, number(energy, "watts"), "W"),
           text(energy, "prices"));
  row(out, "energy", line);
  size_t used = 0;
  const char *kind;
  json_t *value;
  json_object_foreach(json_object_get(energy, "by_kind"), kind, value) {
    double share = joules > 0 ? 100 * json_number_value(value) / joules : 0;
    if (share < 1 || used > sizeof line - 40) continue;
    used += (size_t)snprintf(line + used, sizeof line - used, "%s%s %.0f %%", used ? ", " : "", kind, share);
  }
  if (used) row(out, "", line);
}

static void print_device(const json_t *report, FILE *out) {
  char a[32], line[200];
  const json_t *arch = json_object_get(report, "arch");
  snprintf(line, sizeof line, "%s: %lld x %lld tiles, P = %lld, %lld MHz", text(arch, "name"),
           whole(arch, "rows"), whole(arch, "cols"), whole(arch, "p"), whole(arch, "clock_mhz"));
  row(out, "array", line);
  const json_t *precision = json_object_get(report, "precision");
  snprintf(line, sizeof line, "%s, accumulation across K tiles %s",
           text(precision, json_is_string(json_object_get(precision, "policy")) ? "policy" : "preset"),
           text(precision, "tiling_accum"));
  row(out, "precision", line);
  row(out, "engine", text(report, "engine"));
  if (json_is_integer(json_object_get(report, "cycles"))) {
    snprintf(line, sizeof line, "%lld = %s", whole(report, "cycles"),
             scaled(a, number(report, "seconds"), "s"));
    row(out, "cycles", line);
    snprintf(line, sizeof line, "%s (%lld in a run)",
             scaled(a, number(report, "samples_per_second"), "samples/s"), whole(report, "samples"));
    row(out, "throughput", line);
    snprintf(line, sizeof line, "%.1f %% of peak, %s", 100 * number(report, "mac_utilization"),
             scaled(a, number(report, "macs"), "MAC"));
    row(out, "matrix units", line);
    print_bound(report, out);
  }
  print_dram(report, out);
  const json_t *cause = json_object_get(report, "first_cause");
  if (json_is_object(cause)) row(out, "stalls", text(cause, "text"));
  const json_t *dram = json_object_get(report, "dram");
  if (json_is_object(dram)) {
    double hits = number(dram, "row_hits"),
           accesses = hits + number(dram, "row_misses") + number(dram, "row_conflicts");
    snprintf(line, sizeof line,
             "%.80s: %.1f %% of its peak, %.1f %% row hits, %lld turnarounds, %lld refreshes",
             text(arch, "dram"), 100 * number(dram, "share_of_peak"),
             accesses > 0 ? 100 * hits / accesses : 0, whole(dram, "turnarounds"), whole(dram, "refreshes"));
    row(out, "memory device", line);
  }
  print_energy(report, out);
  const json_t *sums = json_object_get(report, "reduction");
  if (!whole(sums, "tensors") || json_object_get(report, "training")) return; /* a step's account says more */
  snprintf(line, sizeof line, "%lld sums of partial products, %s over lanes", whole(sums, "tensors"),
           scaled(a, number(sums, "lane_bytes"), "B"));
  row(out, "reduction", line);
}

static void print_host(const json_t *report, FILE *out) {
  char a[32], b[32], line[160];
  const json_t *cpu = json_object_get(report, "cpu_reference"), *host = json_object_get(report, "host");
  if (json_is_object(cpu)) {
    snprintf(line, sizeof line, "%s with %s %s, %s, %lld thread%s (%s)",
             scaled(a, number(cpu, "samples_per_second"), "samples/s"), text(cpu, "library"),
             text(cpu, "version"), text(cpu, "dtype"), whole(cpu, "threads"),
             whole(cpu, "threads") == 1 ? "" : "s", scaled(b, number(cpu, "seconds"), "s"));
    row(out, "this CPU", line);
    if (json_is_real(json_object_get(report, "speedup_vs_cpu"))) {
      double seconds = number(report, "seconds");
      snprintf(line, sizeof line, "%.3g x this CPU (%.3g to %.3g over its runs)",
               number(report, "speedup_vs_cpu"), number(cpu, "seconds_low") / seconds,
               number(cpu, "seconds_high") / seconds);
      row(out, "the array", line);
    }
  }
  const json_t *after = json_object_get(host, "after_array");
  if (after) {
    bool ran = json_is_real(json_object_get(after, "seconds"));
    snprintf(line, sizeof line, "%lld node%s from %.90s on, %s%s", whole(after, "nodes"),
             whole(after, "nodes") == 1 ? "" : "s", text(after, "first"), ran ? "in " : "not run",
             ran ? scaled(a, number(after, "seconds"), "s") : "");
    row(out, "on the host", line);
  }
  snprintf(line, sizeof line, "%s, compiled in %s", scaled(a, number(host, "simulation_seconds"), "s"),
           scaled(b, number(host, "compile_seconds"), "s"));
  row(out, "simulated in", line);
}

static void print_errors(const json_t *report, const char *key, const char *title, FILE *out) {
  json_t *errors = json_object_get(report, key);
  const char *name;
  json_t *e;
  if (json_object_size(errors))
    fprintf(out, "  %-24s %10s %10s %10s %10s\n", title, "max abs", "max rel", "rms", "cosine");
  json_object_foreach(errors, name, e) {
    fprintf(out, "    %-22.60s %10.3g %10.3g %10.3g %10.7f\n", name, number(e, "max_abs"),
            number(e, "max_rel"), number(e, "rms"), number(e, "cosine"));
  }
}

enum { SHOWN_SECTIONS = 12 };

static void print_sections(const json_t *report, bool verbose, FILE *out) {
  json_t *sections = json_object_get(report, "sections"), *s;
  size_t i, count = json_array_size(sections);
  if (count)
    fprintf(out, "  %12s %12s %12s %6s  %-8s %s\n", "begin", "cycles", "estimated", "sol", "bound by",
            "section");
  json_array_foreach(sections, i, s) {
    if (!verbose && i == SHOWN_SECTIONS) {
      fprintf(out, "  ... %zu more (-v lists them)\n", count - i);
      return;
    }
    char estimate[32] = "-";
    if (whole(s, "estimated_cycles"))
      snprintf(estimate, sizeof estimate, "%lld", whole(s, "estimated_cycles"));
    fprintf(out, "  %12lld %12lld %12s %4.0f %%  %-8s %s\n", whole(s, "begin"), whole(s, "cycles"), estimate,
            100 * number(s, "sol"), text(s, "bound_by"), text(s, "name"));
  }
}

static void print_advice(const json_t *report, FILE *out) {
  size_t i;
  json_t *one, *advice = json_object_get(report, "advice");
  if (!advice) return;
  fputs("  what would gain most, each simulated:\n", out);
  json_array_foreach(advice, i, one) fprintf(out, "    %s.\n", text(one, "text"));
  if (!json_array_size(advice)) fputs("    nothing that was tried gains 1 %.\n", out);
}

void tg_report_print(const json_t *report, bool verbose, FILE *out) {
  const json_t *model = json_object_get(report, "model");
  fprintf(out, "%s (%s)\n", text(model, "name"), text(model, "file"));
  print_device(report, out);
  print_host(report, out);
  print_errors(report, "error_vs_fp32", "error against FP32", out);
  print_errors(report, "error_vs_golden", "error against golden", out);
  print_sections(report, verbose, out);
  print_advice(report, out);
}
