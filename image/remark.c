#include "internal.h"

#include <stdarg.h>
#include <stdio.h>

static const char *const texts[] = {
#define IMG_REMARK(name, text) text,
#include "remarks.def"
#undef IMG_REMARK
};

/* Names in a damaged file may hold anything; a remark must be fit for a terminal. */
static void make_printable(char *text)
{
    for (; *text; text++) {
        if (*text < ' ' || *text > '~') *text = '?';
    }
}

void img_remark_add(img_loading *loading, img_remark_kind kind, const char *format, ...)
{
    xs_remark *remark = &loading->remarks[kind];
    if (remark->count++ > 0) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(remark->first, sizeof remark->first, format, arguments);
    va_end(arguments);
    make_printable(remark->first);
}

/* The image shows the remarks that were made, side by side, in the order of remarks.def. */
void img_publish_remarks(img_loading *loading)
{
    size_t count = 0;
    for (int kind = 0; kind < IMG_REMARK_COUNT; kind++) {
        if (!loading->remarks[kind].count) continue;
        loading->remarks[count] = loading->remarks[kind];
        loading->remarks[count++].text = texts[kind];
    }
    loading->image.remarks = loading->remarks;
    loading->image.remark_count = count;
}

void img_say(char *why, size_t size, const char *format, ...)
{
    if (!why || !size) return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(why, size, format, arguments);
    va_end(arguments);
}
