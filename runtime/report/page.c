#include "runtime/report/page.h"

/* Made of page/ by embed.cmake; each ends with a zero. */
extern const char tg_page_css[], tg_page_tools_js[], tg_page_floor_js[], tg_page_graph_js[],
    tg_page_compare_js[], tg_page_report_js[], tg_page_suite_js[], tg_page_uplot_js[], tg_page_uplot_css[],
    tg_page_uplot_license[], tg_page_dagre_js[], tg_page_dagre_license[];

/* A library that others made comes with its licence. */
typedef struct script {
  const char *text, *license; /* NULL: our own */
} script;
enum { MOST_SCRIPTS = 8 };
static const struct {
  const char *id; /* of the element that has the data */
  script scripts[MOST_SCRIPTS];
} pages[] = {
    [TG_PAGE_REPORT] = {"report",
                        {{tg_page_uplot_js, tg_page_uplot_license},
                         {tg_page_dagre_js, tg_page_dagre_license},
                         {tg_page_tools_js, NULL},
                         {tg_page_floor_js, NULL},
                         {tg_page_graph_js, NULL},
                         {tg_page_compare_js, NULL},
                         {tg_page_report_js, NULL}}},
    [TG_PAGE_SUITE] = {"suite",
                       {{tg_page_uplot_js, tg_page_uplot_license},
                        {tg_page_tools_js, NULL},
                        {tg_page_suite_js, NULL}}},
};

static void escaped(FILE *out, const char *text) {
  for (; *text; text++) switch (*text) {
    case '<': fputs("&lt;", out); break;
    case '>': fputs("&gt;", out); break;
    case '&': fputs("&amp;", out); break;
    case '"': fputs("&quot;", out); break;
    default: fputc(*text, out);
    }
}

/* Inside a script element nothing may look like its end: JSON's strings have other spellings of '<'. */
static int without_tags(const char *buffer, size_t size, void *user) {
  FILE *out = user;
  for (size_t i = 0; i < size; i++)
    if (buffer[i] == '<')
      fputs("\\u003c", out);
    else
      fputc(buffer[i], out);
  return 0;
}

void tg_page_write(FILE *out, tg_page page, const char *title, const json_t *data) {
  fputs("<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
        out);
  escaped(out, title);
  fprintf(out, "</title>\n<style>%s\n%s</style>\n", tg_page_uplot_css, tg_page_css);
  fprintf(out,
          "<main><noscript><p>This page draws its charts and tables with JavaScript, which is off; what it "
          "shows is the JSON in this file.</p></noscript></main>\n"
          "<script type=\"application/json\" id=\"%s\">",
          pages[page].id);
  (void)json_dump_callback(data, without_tags, out, 0);
  fputs("</script>\n", out);
  for (const script *s = pages[page].scripts; s->text; s++) {
    if (s->license) fprintf(out, "<!--\n%s-->\n", s->license);
    fprintf(out, "<script>%s</script>\n", s->text);
  }
  fputs("</html>\n", out);
}
