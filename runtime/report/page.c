#include "runtime/report/page.h"

extern const char tg_page_css[], tg_page_tools_js[], tg_page_uplot_js[], tg_page_uplot_css[],
    tg_page_uplot_license[];

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

void tg_page_write(FILE *out, const char *title, const char *id, const json_t *data, const char *script) {
  fputs("<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
        out);
  escaped(out, title);
  fprintf(out, "</title>\n<style>%s\n%s</style>\n", tg_page_uplot_css, tg_page_css);
  fprintf(out,
          "<main><noscript><p>This page draws its charts and tables with JavaScript, which is off; what it "
          "shows is the JSON in this file.</p></noscript></main>\n"
          "<script type=\"application/json\" id=\"%s\">",
          id);
  (void)json_dump_callback(data, without_tags, out, 0);
  fprintf(out, "</script>\n<!-- uPlot, which follows:\n%s-->\n<script>%s</script>\n", tg_page_uplot_license,
          tg_page_uplot_js);
  fprintf(out, "<script>%s</script>\n<script>%s</script>\n</html>\n", tg_page_tools_js, script);
}
