/* A page that needs nothing else: data as JSON in it, and scripts of page/ that draw it with uPlot. */
#ifndef TEGULA_RUNTIME_REPORT_PAGE_H
#define TEGULA_RUNTIME_REPORT_PAGE_H

#include <jansson.h>
#include <stdio.h>

/* Made of page/ by embed.cmake; each ends with a zero. */
extern const char tg_page_report_js[], tg_page_suite_js[];

/* `script` finds the data in the element `id`. */
void tg_page_write(FILE *out, const char *title, const char *id, const json_t *data, const char *script);

#endif
