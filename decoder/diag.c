/* Findings in a .decode file. */
#include <stdarg.h>
#include <stdio.h>

#include "internal.h"

void xs_report(xs_diag *diags, size_t max, size_t *count, unsigned line, unsigned column, const char *code,
               const char *format, ...)
{
    if (*count < max) {
        xs_diag *d = &diags[*count];
        d->line = line;
        d->column = column;
        d->code = code;
        va_list args;
        va_start(args, format);
        vsnprintf(d->message, sizeof d->message, format, args);
        va_end(args);
    }
    ++*count;
}
