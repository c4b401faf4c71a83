/* A page that needs nothing else: data as JSON in it, and scripts of page/ that draw it. */
#ifndef TEGULA_RUNTIME_REPORT_PAGE_H
#define TEGULA_RUNTIME_REPORT_PAGE_H

#include <jansson.h>
#include <stdio.h>

typedef enum tg_page { TG_PAGE_REPORT, TG_PAGE_SUITE } tg_page;

/* The page of a run (tg_report), or of a suite (tg_regression_page). */
void tg_page_write(FILE *out, tg_page page, const char *title, const json_t *data);

#endif
