#ifndef TEGULA_RUNTIME_JSON_TEXT_H
#define TEGULA_RUNTIME_JSON_TEXT_H

#include <jansson.h>

/* A JSON string of any bytes: where they are not UTF-8, those above ASCII become '?'. A new reference. */
json_t *tg_json_text(const char *bytes);

/* From now on jansson, which leaves out what it finds no memory for, ends in tg_die instead; unless the program that
 * uses the library has given jansson functions of its own. */
void tg_json_needs_memory(void);

#endif
