/* The report as one HTML file: every key of the JSON object as a table, sections with bars of what was
 * busy. */
#include "runtime/report/report.h"

#include <string.h>

static const char style[] =
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em;color:#222}"
    "table{border-collapse:collapse;margin:.3em 0 1em}td,th{padding:.15em .8em .15em 0;text-align:left;"
    "vertical-align:top;border-bottom:1px solid #ddd}.n{text-align:right;font-variant-numeric:tabular-nums}"
    ".t{position:relative;background:#eee;width:14em;height:.8em;display:inline-block}"
    ".t i{position:absolute;left:0;top:0;bottom:0;background:#b4552d}h2{margin-top:1.6em}";

static void escaped(FILE *out, const char *text) {
  for (; *text; text++) switch (*text) {
    case '<': fputs("&lt;", out); break;
    case '>': fputs("&gt;", out); break;
    case '&': fputs("&amp;", out); break;
    case '"': fputs("&quot;", out); break;
    default: fputc(*text, out);
    }
}

static void value(FILE *out, const json_t *json);

static void object(FILE *out, const json_t *json) {
  const char *key;
  json_t *item;
  fputs("<table>", out);
  json_object_foreach((json_t *)(uintptr_t)json, key, item) {
    fputs("<tr><th>", out);
    escaped(out, key);
    fputs("</th><td>", out);
    value(out, item);
    fputs("</td></tr>\n", out);
  }
  fputs("</table>\n", out);
}

static void value(FILE *out, const json_t *json) {
  size_t i;
  json_t *item;
  switch (json_typeof(json)) {
  case JSON_OBJECT: object(out, json); break;
  case JSON_ARRAY:
    json_array_foreach((json_t *)(uintptr_t)json, i, item) {
      if (i) fputs(" x ", out);
      value(out, item);
    }
    break;
  case JSON_STRING: escaped(out, json_string_value(json)); break;
  case JSON_INTEGER: fprintf(out, "%lld", (long long)json_integer_value(json)); break;
  case JSON_REAL: fprintf(out, "%.6g", json_real_value(json)); break;
  case JSON_TRUE: fputs("yes", out); break;
  case JSON_FALSE: fputs("no", out); break;
  case JSON_NULL: fputs("-", out); break;
  }
}

static void bar(FILE *out, const json_t *section, const char *unit) {
  double cycles = json_number_value(json_object_get(section, "cycles"));
  double busy = json_number_value(json_object_get(json_object_get(section, "busy"), unit));
  double percent = cycles > 0 ? 100 * busy / cycles : 0;
  fprintf(out, "<td><span class=t title=\"%.1f %%\"><i style=\"width:%.1f%%\"></i></span></td>", percent,
          percent < 100 ? percent : 100);
}

static void sections(FILE *out, const json_t *list) {
  static const char *const units[] = {"mx", "vx", "dram", "lane"};
  size_t i;
  json_t *section;
  fputs("<table><tr><th>section<th class=n>begin<th class=n>cycles<th class=n>sol<th>bound "
        "by<th>mx<th>vx<th>dram<th>lane<th class=n>memory, % of its peak</tr>\n",
        out);
  json_array_foreach((json_t *)(uintptr_t)list, i, section) {
    fputs("<tr><td>", out);
    value(out, json_object_get(section, "name"));
    fputs("</td><td class=n>", out);
    value(out, json_object_get(section, "begin"));
    fputs("</td><td class=n>", out);
    value(out, json_object_get(section, "cycles"));
    fprintf(out, "</td><td class=n>%.0f %%</td><td>",
            100 * json_number_value(json_object_get(section, "sol")));
    value(out, json_object_get(section, "bound_by"));
    fputs("</td>", out);
    for (int u = 0; u < 4; u++) bar(out, section, units[u]);
    const json_t *share = json_object_get(json_object_get(section, "dram"), "share_of_peak");
    if (share)
      fprintf(out, "<td class=n>%.1f</td>", 100 * json_number_value(share));
    else
      fputs("<td class=n>-</td>", out);
    fputs("</tr>\n", out);
  }
  fputs("</table>\n", out);
}

void tg_report_html(const json_t *report, FILE *out) {
  const char *key, *name = json_string_value(json_object_get(json_object_get(report, "model"), "name"));
  json_t *item;
  fprintf(out, "<!doctype html><html lang=en><meta charset=utf-8><title>");
  escaped(out, name ? name : "");
  fprintf(out, "</title><style>%s</style><h1>", style);
  escaped(out, name ? name : "");
  fputs("</h1>\n<table>", out);
  json_object_foreach((json_t *)(uintptr_t)report, key, item) {
    if (json_is_object(item) || json_is_array(item)) continue;
    fprintf(out, "<tr><th>%s</th><td>", key);
    value(out, item);
    fputs("</td></tr>\n", out);
  }
  fputs("</table>\n", out);
  json_object_foreach((json_t *)(uintptr_t)report, key, item) {
    if (!json_is_object(item) && !json_is_array(item)) continue;
    fprintf(out, "<h2>%s</h2>\n", key);
    if (json_is_array(item))
      sections(out, item);
    else
      object(out, item);
  }
  fputs("</html>\n", out);
}
