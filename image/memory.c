#include "internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct img_block {
    struct img_block *next;
    char text[];
} img_block;

void *img_make_room(img_loading *loading, void *items, size_t count, size_t *room, size_t item_size) {
    if (count < *room) return items;
    size_t wanted = *room ? *room * 2 : 64;
    void *bigger = reallocarray(items, wanted, item_size);
    if (!bigger) {
        loading->out_of_memory = true;
        return NULL;
    }
    *room = wanted;
    return bigger;
}

char *img_string(img_loading *loading, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    img_block *block = length < 0 ? NULL : malloc(sizeof *block + (size_t)length + 1);
    if (block) {
        vsnprintf(block->text, (size_t)length + 1, format, again);
        block->next = loading->strings;
        loading->strings = block;
    } else {
        loading->out_of_memory = true;
    }
    va_end(again);
    return block ? block->text : NULL;
}

void img_free_strings(img_loading *loading) {
    for (img_block *block = loading->strings, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    loading->strings = NULL;
}
