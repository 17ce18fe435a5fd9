#include "internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* Many short strings share one. */
enum { BLOCK = 32768 };
typedef struct img_block {
    struct img_block *next;
    size_t used, room;
    char bytes[];
} img_block;

void *img_make_room(img_loading *loading, void *items, size_t count, size_t *room, size_t item_size)
{
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

/* Bytes that live as long as the image, aligned for pointers. */
static char *keep(img_loading *loading, size_t size)
{
    img_block *block = loading->strings;
    size = (size + sizeof(char *) - 1) / sizeof(char *) * sizeof(char *);
    if (!block || block->room - block->used < size) {
        size_t room = size < BLOCK ? BLOCK : size;
        block = malloc(sizeof *block + room);
        if (!block) {
            loading->out_of_memory = true;
            return NULL;
        }
        *block = (img_block){.next = loading->strings, .room = room};
        loading->strings = block;
    }
    block->used += size;
    return block->bytes + block->used - size;
}

const char **img_names(img_loading *loading, size_t count)
{
    return (const char **)(void *)keep(loading, count * sizeof(char *));
}

char *img_string(img_loading *loading, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *text = length < 0 ? NULL : keep(loading, (size_t)length + 1);
    if (text) vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

void img_free_strings(img_loading *loading)
{
    for (img_block *block = loading->strings, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    loading->strings = NULL;
}
