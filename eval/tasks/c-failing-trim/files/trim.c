#include "trim.h"
#include <string.h>

void trim(char *text) {
    size_t start = 0, end = strlen(text);
    while (text[start] == ' ') {
        start++;
    }
    while (end > start && text[end] == ' ') {
        end--;
    }
    memmove(text, text + start, end - start);
    text[end - start] = 0;
}
