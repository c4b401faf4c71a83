#ifndef TEGULA_RUNTIME_JSON_TEXT_H
#define TEGULA_RUNTIME_JSON_TEXT_H

#include <jansson.h>

/* A JSON string of any bytes: where they are not UTF-8, those above ASCII become '?'. A new reference. */
json_t *tg_json_text(const char *bytes);

#endif
